"""Plays a history on both sides and compares them after each step."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from operator import methodcaller
from typing import Any

from tests.model import history as h
from tests.model.books import RefusedError
from tests.model.compare import Database
from tests.model.driver import Driver, World, refusals
from tests.model.readers import Shelves, relations
from tests.model.reference import Reference


class Difference(AssertionError):
    """The engine and the reference disagree."""


class Machine:
    """A feed of its own for one history."""

    def __init__(self, world: World, counts: Counter[str]) -> None:
        self.engine = Driver(world)
        self.reference = Reference()
        self.shelves = Shelves()
        self.counts = counts

    def play(self, steps: list[h.Step]) -> None:
        try:
            for number, step in enumerate(steps, start=1):
                self._play(step)
                self._compare(f"after step {number}, {step}")
        finally:
            self.engine.reap()  # leave nothing behind that says it runs

    def _play(self, step: h.Step) -> None:
        self.reference.clock += timedelta(hours=step.gap)
        self.engine.hand[0] = self.reference.clock
        if isinstance(step, h.Run):
            self._prepare(step)
        refused = None
        try:
            _do(self.reference, step)
        except RefusedError as error:
            refused = str(error)
        with refusals() as found:
            _do(self.engine, step)
        self.engine.hand[0] = self.reference.clock  # a lag that only one side saw shows in the times
        self._count(step, refused)
        if refused and refused not in found:
            message = f"{step}: should be refused with {refused}, was {found or 'done'}"
            raise Difference(message)

    def _prepare(self, step: h.Run) -> None:
        """Put the file of a run in its place, for both."""
        if step.lines is not None:
            self.reference.file = self.engine.deliver(step.lines)
        if step.file == "gone":
            self.engine.lose()
            self.reference.file = None
        elif step.file == "touched" and self.reference.file is not None:
            self.reference.file = replace(self.reference.file, modified_at=self.engine.touch())

    def _compare(self, where: str) -> None:
        self.shelves.note(self.reference)
        numbers = {run_id: number for number, run_id in enumerate(self.engine.runs, start=1)}
        database = Database(self.engine.conn, self.engine.source_id, numbers)
        found = database.relations() | {"offers_at": database.shelves(self.shelves.past)}
        expected = relations(self.reference) | {"offers_at": self.shelves.past}
        for name, rows in expected.items():
            if found[name] != rows:
                message = f"{name} {where}:\n" + "\n".join(_differences(rows, found[name]))
                raise Difference(message)

    def _count(self, step: h.Step, refused: str | None) -> None:
        self.counts["steps"] += 1
        self.counts[type(step).__name__] += 1
        if refused:
            self.counts[f"{type(step).__name__}: refused, {refused}"] += 1
        elif isinstance(step, h.Run):
            self.counts[f"Run: {_outcome(self.reference)}"] += 1
        elif isinstance(step, h.Approve | h.Reject) and step.newest < len(self.reference.runs):
            self.counts[f"{type(step).__name__}: done"] += 1


def _outcome(reference: Reference) -> str:
    run = reference.runs[-1]
    if run.status == "RUNNING":
        return "process gone"
    if run.status == "FAILED":
        return "failed half-way" if run.has_batch else "failed"
    if run.skipped_reason:
        return "skipped, shown again" if run.is_promoted else "skipped"
    return "blocked" if run.blocked else "phase two failed" if run.step_failed else "promoted"


def _do(side: Any, step: h.Step) -> None:
    """The same call on either side."""
    match step:
        case h.Run():
            side.run(step)
        case h.Change(setting, value):
            side.change(setting, value)
        case h.Primary(this):
            side.set_primary(this=this)
        case h.Switch(name):
            side.switch(name)
        case h.Approve(newest) | h.Reject(newest):
            if newest < len(side.runs):
                _CALLS[type(step)](side, side.runs[-1 - newest])
        case _:
            _CALLS[type(step)](side)


_CALLS = {
    h.Reap: methodcaller("reap"),
    h.Remove: methodcaller("remove"),
    h.CleanUp: methodcaller("clean_up"),
    h.Approve: lambda side, run: side.approve(run),
    h.Reject: lambda side, run: side.reject(run),
}


def _differences(expected: Any, found: Any) -> list[str]:
    """Key by key, what is there on one side only or not the same."""
    pairs = {key: (expected.get(key, "nothing"), found.get(key, "nothing")) for key in {**expected, **found}}
    return [
        f"  {key}:\n    expected {this}\n    found    {that}" for key, (this, that) in pairs.items() if this != that
    ]
