"""Whether a file is the one that was processed last: by what the server says of it, then by its bytes."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class SkipReason(StrEnum):
    UNCHANGED_MTIME = "UNCHANGED_MTIME"
    UNCHANGED_HASH = "UNCHANGED_HASH"


@dataclass(frozen=True)
class LastFile:
    """The last processed file of a feed; all None if there is none, or if it does not count any more."""

    modified_at: datetime | None = None
    size: int | None = None
    sha256: str | None = None


def unchanged_by_stat(last: LastFile, *, modified_at: datetime | None, size: int | None) -> SkipReason | None:
    """Only if both facts are known of both files and are the same."""
    if None in {modified_at, size, last.modified_at, last.size}:
        return None
    same = modified_at == last.modified_at and size == last.size
    return SkipReason.UNCHANGED_MTIME if same else None


def unchanged_by_hash(last: LastFile, sha256: str) -> SkipReason | None:
    return SkipReason.UNCHANGED_HASH if sha256 == last.sha256 else None
