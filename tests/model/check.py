"""Random histories against the engine: as many as asked for, the same ones for the same seed."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded

from tests.model.driver import World
from tests.model.machine import Machine
from tests.model.strategies import histories as random_histories


@contextmanager
def opened_world(url: str, folder: Path, monkeypatch: Any) -> Iterator[World]:
    world = World(url, folder, monkeypatch)
    try:
        yield world
    finally:
        world.close()


def check(world: World, *, histories: int, seed: int, counts: Counter[str], shrinks: bool = True) -> None:
    """Refuses (`Difference`) if one of the histories shows a difference; then the smallest that was found."""

    @seeded(seed)
    @settings(
        max_examples=histories,
        phases=[Phase.generate, Phase.shrink] if shrinks else [Phase.generate],
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(random_histories())
    def agree(steps: list[Any]) -> None:
        Machine(world, counts).play(steps)
        counts["histories"] += 1

    agree()
