"""Who wants to know how far a run is: nobody, or a progress bar in a terminal."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Listener:
    """Nobody: hears and does nothing."""

    def progressed(self, what: str, done: int, total: int | None) -> None:
        """So much of something that takes long is done, out of so much if that is known."""

    def told(self, sentence: str) -> None:
        """Something happened that a person who waits should know."""


_listener: ContextVar[Listener] = ContextVar("listener", default=Listener())  # noqa: B039 - it has no state


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Tell this listener what runs in the context report."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report(what: str, done: int, total: int | None) -> None:
    _listener.get().progressed(what, done, total)


def report_rows(rows: int) -> None:
    """So many rows of the file are read; how many there are is known at its end."""
    report("reading", rows, None)


def tell(sentence: str) -> None:
    _listener.get().told(sentence)
