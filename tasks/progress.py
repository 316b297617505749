"""Who wants to know how far a run is: nobody, or a progress bar in a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str, int, int | None], None]  # what is being done, how much of it, out of how much


def _nobody(_what: str, _done: int, _total: int | None) -> None:
    return


_listener: ContextVar[Listener] = ContextVar("listener", default=_nobody)


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Tell this listener what runs in the context report."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report(what: str, done: int, total: int | None) -> None:
    _listener.get()(what, done, total)
