"""Which runs a call began: the newest run of a key in the ledger may be somebody else's."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from uuid import UUID

_begun: ContextVar[list[UUID] | None] = ContextVar("begun", default=None)


@contextmanager
def runs_begun() -> Iterator[list[UUID]]:
    """The ids of the runs that begin inside the context, oldest first, however they end."""
    ids: list[UUID] = []
    token = _begun.set(ids)
    try:
        yield ids
    finally:
        _begun.reset(token)


def note(run_id: UUID) -> None:
    """Tell whoever asked for the runs of this context that one has begun."""
    ids = _begun.get()
    if ids is not None:
        ids.append(run_id)
