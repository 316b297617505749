"""Random histories. What is simple comes first everywhere, so that a history that shows a difference shrinks to it."""

from dataclasses import replace
from itertools import product
from typing import Any

from hypothesis import strategies as st

from tests.model.history import (
    PRICES,
    Approve,
    Change,
    CleanUp,
    Fault,
    Line,
    Primary,
    Reap,
    Reject,
    Remove,
    Run,
    Step,
    Switch,
)

# Hours on one grid, so that expiry and heartbeats are met to the second; a clock may tie, and may step back.
GAPS = st.sampled_from([1, 0, 6, 12, 24, 36, -3])

_PLAIN = [Line(number, price, title) for title, price, number in product((1, 2), PRICES, range(1, 7))]
_ODD = [
    replace(line, **change)
    for line in _PLAIN[::5]
    for change in ({"in_stock": False}, {"by": "sku"}, {"by": "url"}, {"flaw": "title"}, {"flaw": "price"})
]
_WIDE = tuple(Line(number) for number in range(1, 15))

_small = st.lists(st.sampled_from(_PLAIN + _ODD), min_size=2, max_size=10).map(tuple)
_wide = st.sets(st.integers(0, 13), max_size=3).map(
    lambda gone: tuple(line for number, line in enumerate(_WIDE) if number not in gone)
)
_by_url = st.lists(st.sampled_from([replace(line, by="url") for line in _PLAIN]), min_size=2, max_size=5).map(tuple)


def weighted(weights: dict[st.SearchStrategy[Any], int]) -> st.SearchStrategy[Any]:
    """One of them, each as often as its weight says; the first is the simplest."""
    names = [number for number, weight in enumerate(weights.values()) for _ in range(weight)]
    chosen = list(weights)

    @st.composite
    def one(draw: st.DrawFn) -> Any:
        return draw(chosen[draw(st.sampled_from(names))])

    return one()


_files = weighted({_small: 6, _wide: 3, _by_url: 1, st.just(()): 1})

_kinds = st.sampled_from(["error", "crash", "refused", "cancel"])
_sides = st.sampled_from(["before", "after"])
_faults = weighted(
    {
        st.builds(Fault, _kinds, st.just("batch"), st.integers(1, 4), _sides): 6,
        st.builds(Fault, _kinds, st.just("fetch")): 1,
        st.builds(Fault, _kinds, st.just("figures"), when=_sides): 1,
        st.builds(Fault, _kinds, st.just("settle")): 2,
        st.just(Fault("crash", "settle", when="after")): 1,  # all that can go wrong after the last commit
    }
)
# An attempt that came far, and one after it that did not.
_farther_first = st.tuples(
    st.builds(Fault, st.just("error"), st.just("batch"), st.integers(2, 3), st.just("after")),
    st.builds(Fault, st.sampled_from(["crash", "refused", "cancel"]), st.just("batch"), st.integers(1, 2), _sides),
)
_trouble = weighted({_farther_first: 3, st.lists(_faults, min_size=1, max_size=4).map(tuple): 4, st.just(()): 3})

_batch_rows = st.sampled_from([2, 1, 3, 5, 100])
_plain_runs = st.builds(Run, GAPS, _files, batch_rows=_batch_rows)
_odd_runs = st.builds(
    Run,
    GAPS,
    weighted({st.none(): 1, _files: 2}),
    file=st.sampled_from(["there"] * 8 + ["touched"] * 2 + ["gone"]),
    batch_rows=_batch_rows,
    force=st.sampled_from([False, False, False, True]),
    lag=st.sampled_from([0, 0, 1, 7]),
    expiry_meanwhile=st.sampled_from([None, None, None, None, None, 24]),
    faults=_trouble,
)
_GATES = [
    {"spike": {"least": 2}},
    {"spike": {"share": 0.1, "least": 1}},
    {"spike": None},
    {"spike": False},
    {"url_hash": False},
    {"url_hash": {"share": 0.2}, "spike": {"most": 3}},
]
_rare = weighted(
    {
        st.builds(Change, st.just("expiry_hours"), st.sampled_from([24, 12, 48, 1, 168]), GAPS): 3,
        st.builds(Change, st.just("heartbeat_hours"), st.sampled_from([12, 0, 24]), GAPS): 2,
        st.builds(Change, st.just("unchanged_policy"), st.sampled_from(["refresh", "age"]), GAPS): 1,
        st.builds(Change, st.just("gates"), st.sampled_from(_GATES), GAPS): 2,
        st.builds(Switch, st.sampled_from(["pause", "resume", "reenable"]), GAPS): 3,
        st.builds(Primary, st.booleans(), GAPS): 2,
        st.builds(Reap, GAPS): 3,
        st.builds(CleanUp, st.sampled_from([1000, 400])): 3,
        st.builds(Remove, GAPS): 1,
    }
)
_verdicts = weighted(
    {
        st.builds(Approve, st.sampled_from([0, 1, 2]), GAPS): 3,
        st.builds(Reject, st.sampled_from([0, 1]), GAPS): 1,
    }
)
# A run that waits for a person, perhaps something else, and then a person.
_waiting = weighted(
    {
        st.tuples(st.builds(Run, GAPS, _wide), st.builds(Run, GAPS, _small, batch_rows=_batch_rows)): 3,
        st.tuples(st.builds(Run, GAPS, _by_url, batch_rows=_batch_rows)): 2,
        st.tuples(st.builds(Run, GAPS, _files, faults=st.just((Fault("refused", "settle"),)))): 2,
        st.tuples(st.builds(Run, GAPS, _files, faults=st.just((Fault("error", "settle"),) * 3))): 1,
    }
)
_half_way = st.builds(
    Fault, st.sampled_from(["refused", "crash"]), st.just("batch"), st.integers(1, 3), st.just("after")
)
_fails_half_way = st.builds(
    Run, GAPS, weighted({_small: 2, _by_url: 1}), batch_rows=st.sampled_from([1, 2]), faults=st.tuples(_half_way)
)
_meanwhile = weighted(
    {
        st.just(()): 3,
        st.tuples(_fails_half_way): 3,
        st.tuples(st.builds(Run, GAPS)): 1,
        st.tuples(_odd_runs): 1,
        st.tuples(_rare): 1,
    }
)
_decided = weighted(
    {
        st.tuples(_waiting, _meanwhile, st.lists(_verdicts, min_size=1, max_size=2)): 2,
        st.tuples(_waiting, st.tuples(_fails_half_way), st.tuples(st.builds(Approve, st.just(1), GAPS))): 1,
    }
).map(lambda parts: tuple(step for part in parts for step in part))
_parts = weighted(
    {
        st.tuples(_plain_runs): 2,
        st.tuples(_odd_runs): 5,
        st.tuples(_rare): 3,
        st.tuples(_verdicts): 1,
        _decided: 4,
        st.tuples(_fails_half_way, st.just(CleanUp(1000))): 1,
        st.tuples(st.just(Change("unchanged_policy", "refresh")), _plain_runs, st.builds(Run, GAPS)): 1,
    }
)


def histories() -> st.SearchStrategy[list[Step]]:
    """Lists of steps. The first brings a file, so that the others have something to act on."""
    parts = st.lists(_parts, min_size=2, max_size=5)
    return st.builds(lambda first, rest: [first, *(step for part in rest for step in part)], _plain_runs, parts)
