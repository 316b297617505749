"""Factors by which prices move, in bands: narrow ones around the powers of ten that the gate looks for. Pure."""

from collections.abc import Iterable, Mapping
from decimal import Decimal

from tasks.catalogue.breaker import FACTORS, NEAR

_ORDINARY = ("0.5", "1", "2")  # where the other bands are cut: halved, lower, higher, doubled


def _around(factor: str) -> tuple[Decimal, Decimal]:
    return Decimal(factor) * (1 - Decimal(NEAR)), Decimal(factor) * (1 + Decimal(NEAR))


_NEAR = {_around(factor)[0]: factor for factor in FACTORS}
EDGES = tuple(sorted({edge for factor in FACTORS for edge in _around(factor)} | set(map(Decimal, _ORDINARY))))


def band_name(band: int) -> str:
    """What a band is called: the one below the first edge is 0, and each edge begins the next."""
    if band == 0:
        return f"below x {_short(EDGES[0])}"
    low = EDGES[band - 1]
    if low in _NEAR:
        return f"near x {_NEAR[low]}"
    return f"x {_short(low)} to {_short(EDGES[band])}" if band < len(EDGES) else f"from x {_short(low)} on"


def distribution(counted: Iterable[Mapping[str, int]]) -> list[dict[str, str | int]]:
    """Rows of `band` and `count`, with the name of the band as `factor`."""
    return [{"factor": band_name(row["band"]), "count": row["count"]} for row in counted]


def _short(edge: Decimal) -> str:
    return f"{edge.normalize():f}"
