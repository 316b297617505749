"""A place where files are kept by the hash of their bytes: a folder here, or whatever a URL of fsspec names."""

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from db.ids import new_id
from tasks import files, network
from tasks.errors import ArchiveFailedError, ArchiveGoneError, ArchiveMisconfiguredError

_HASH = re.compile(r"[0-9a-f]{64}")
_PART = re.compile(r"[0-9a-f]{64}\.[0-9a-f-]{36}\.part")
_PASSWORD = re.compile(r"^[^:/?#]*://[^/@]*:.*@")


@dataclass(frozen=True)
class Kept:
    """A file in a store, by its name there; one that was never finished has no hash."""

    name: str
    sha256: str | None
    modified_at: datetime


class Store(Protocol):
    """Files by hash. Each appears whole under its name or not at all."""

    def url(self, sha256: str) -> str: ...

    def has(self, sha256: str, size: int | None = None) -> bool:
        """Whether it is there; if a size is given, with so many bytes."""
        ...

    def put(self, path: Path, sha256: str) -> None: ...

    def get(self, sha256: str, target: Path) -> None: ...

    def kept(self) -> Iterator[Kept]:
        """What was put here; other files are none of our business."""
        ...

    def remove(self, name: str) -> None: ...


def open_store(url: str | None, folder: Path) -> Store:
    """The store that a URL names, or this folder; refuses a URL with a password, or of a kind that nobody knows."""
    if url is None:
        return _Folder(folder)
    if _PASSWORD.match(url):
        message = "FEEDMILL_ARCHIVE_URL holds a password, which would end up in records and logs"
        raise ArchiveMisconfiguredError(message, hint="give it to the library of the store by its own environment")
    parts = urlsplit(url)
    if parts.scheme == "file" and not parts.netloc and parts.path.startswith("/"):
        return _Folder(Path(unquote(parts.path)))
    if not parts.scheme or parts.scheme == "file":
        raise ArchiveMisconfiguredError
    try:
        return _Remote(*network.open_file_system(url), scheme=parts.scheme)
    except (ValueError, ImportError) as error:
        message = f"FEEDMILL_ARCHIVE_URL cannot be used: {error}"
        raise ArchiveMisconfiguredError(message) from error


def fetch(store: Store, sha256: str, target: Path) -> int:
    """The size of the file, which is now at `target`; refuses one whose bytes are not those of its name."""
    store.get(sha256, target)
    with files.open_for_read(target) as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # files have readinto
    if found != sha256:
        message = f"the archived file {sha256} is damaged"
        raise ArchiveGoneError(message, code="ARCHIVE_DAMAGED")
    return files.stat_file(target).st_size


def place_of(sha256: str | None) -> str:
    """Where a file lies inside a store. Nothing but a hash may become part of a path."""
    if not _HASH.fullmatch(sha256 or ""):
        message = "this is not the hash of a file"
        raise ArchiveGoneError(message)
    return f"{str(sha256)[:2]}/{sha256}"


def _unfinished(sha256: str) -> str:
    return f"{place_of(sha256)}.{new_id()}.part"


def _kept(name: str, modified_at: datetime) -> Kept | None:
    last = name.rpartition("/")[2]
    if _HASH.fullmatch(last):
        return Kept(name, last, modified_at)
    return Kept(name, None, modified_at) if _PART.fullmatch(last) else None


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        message = f"the file could not be kept in the archive: {error}"
        raise ArchiveFailedError(message) from error


@contextmanager
def _reading(sha256: str) -> Iterator[None]:
    try:
        yield
    except ArchiveGoneError:
        raise
    except FileNotFoundError as error:
        message = f"the file {sha256} is not in the archive any more"
        raise ArchiveGoneError(message) from error
    except Exception as error:
        message = f"the archive cannot be read: {error}"
        raise ArchiveFailedError(message) from error


@dataclass(frozen=True)
class _Folder:
    root: Path

    def url(self, sha256: str) -> str:
        return (self.root / place_of(sha256)).as_uri()

    def has(self, sha256: str, size: int | None = None) -> bool:
        with _reading(sha256):
            found = files.size_of(self.root / place_of(sha256))
        return found is not None and size in {None, found}

    def put(self, path: Path, sha256: str) -> None:
        with _writing():
            files.copy_whole(path, self.root / place_of(sha256), part=self.root / _unfinished(sha256))

    def get(self, sha256: str, target: Path) -> None:
        with _reading(sha256):
            files.copy_file(self.root / place_of(sha256), target)

    def kept(self) -> Iterator[Kept]:
        for path, modified in files.files_below(self.root):
            found = _kept(path.relative_to(self.root).as_posix(), datetime.fromtimestamp(modified, UTC))
            if found:
                yield found

    def remove(self, name: str) -> None:
        files.discard_file(self.root / name)


@dataclass(frozen=True)
class _Remote:
    server: Any  # a file system of fsspec
    root: str
    scheme: str

    def _path(self, name: str) -> str:
        return f"{self.root.rstrip('/')}/{name}"

    def url(self, sha256: str) -> str:
        return str(self.server.unstrip_protocol(self._path(place_of(sha256))))

    def has(self, sha256: str, size: int | None = None) -> bool:
        try:
            with _reading(sha256):
                found = self.server.info(self._path(place_of(sha256)))
        except ArchiveGoneError:
            return False
        return size in {None, found["size"]}

    def put(self, path: Path, sha256: str) -> None:
        part, whole = self._path(_unfinished(sha256)), self._path(place_of(sha256))
        with _writing():
            self.server.makedirs(whole.rpartition("/")[0], exist_ok=True)
            self.server.put_file(str(path), part)
            self.server.mv(part, whole)

    def get(self, sha256: str, target: Path) -> None:
        with _reading(sha256):
            self.server.get_file(self._path(place_of(sha256)), str(target))

    def kept(self) -> Iterator[Kept]:
        prefix = f"{self.root.rstrip('/')}/"
        for path in self._listed():
            modified = self.server.modified(path)
            found = _kept(path.removeprefix(prefix), modified if modified.tzinfo else modified.replace(tzinfo=UTC))
            if found:
                yield found

    def _listed(self) -> list[str]:
        try:
            return list(self.server.find(self.root))
        except FileNotFoundError:  # nothing was ever kept here, and this kind of store has folders
            return []

    def remove(self, name: str) -> None:
        self.server.rm_file(self._path(name))
