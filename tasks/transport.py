"""From a remote or local file to bytes on disk, whole and hashed; what the bytes mean is not its business."""

import hashlib
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from db.enums import Transport
from tasks import errors, files, network, plain_ftp
from tasks.errors import FileMissingError, FileStillUploadingError, FileTooLargeError
from tasks.ftp_replies import Sent
from tasks.gzip_check import starts_as_gzip, verify_gzip
from tasks.redaction import kept_secret
from tasks.transport_errors import connecting, reading
from tasks.transport_ftp import open_ftp

CHUNK_BYTES = 1024 * 1024  # hashed and written while the next ones arrive
PORTS = {Transport.SFTP: 22, Transport.FTP: 21}
INFLATED_PER_BYTE = 20  # a feed may inflate to this many times the bytes it may download
_EPOCH = datetime.fromtimestamp(0, tz=UTC)
_DEFAULT_TIMEOUTS = network.Timeouts()

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True)
class Remote:
    """Where a feed's file lies and how to get in."""

    transport: Transport
    host: str | None
    port: int | None
    path: str
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    private_key: str | None = field(default=None, repr=False)
    host_key_fingerprint: str | None = None
    legacy_algorithms: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        """For messages: host, port and path, never the user."""
        if self.host is None:
            return self.path
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.transport.lower()}://{host}:{self.port or PORTS[self.transport]}/{self.path.removeprefix('/')}"

    @property
    def sent(self) -> Sent:
        """What a server may repeat when it refuses the file."""
        return Sent(self.path, self.username or "")

    @property
    def login(self) -> network.Login:
        return network.Login(self.username or "", self.password, self.private_key)


@dataclass(frozen=True)
class RemoteStat:
    """What a server says of a file; it need not say anything."""

    size: int | None
    modified_at: datetime | None


@dataclass(frozen=True)
class Download:
    path: Path
    sha256: str
    size_bytes: int
    stat: RemoteStat


class Retriever(Protocol):
    """One remote file within reach."""

    def stat(self) -> RemoteStat: ...

    def download(self, target: Path, *, max_bytes: int, on_progress: Progress) -> Download:
        """The whole file under the name `target`, or an error and nothing there."""
        ...

    def head(self, size: int) -> bytes:
        """The first bytes of the file. Nothing can be asked of this retriever afterwards."""
        ...


@contextmanager
def open_retriever(remote: Remote, *, timeouts: network.Timeouts = _DEFAULT_TIMEOUTS) -> Iterator[Retriever]:
    """Connect, log in, and close again whatever happens; the secrets are in nothing that is logged or raised."""
    with kept_secret(remote.password, remote.private_key, users=(remote.username,)):
        if remote.transport is Transport.FILE:
            yield _Retriever(remote.address, _LocalFile(Path(remote.path)), timeouts.total, remote.sent)
            return
        with _connection(remote, timeouts) as server:
            yield _Retriever(remote.address, _RemoteFile(server, remote.path), timeouts.total, remote.sent)


class _Source(Protocol):
    """A file that can be looked at and read, whatever lies between."""

    def stat(self) -> RemoteStat: ...

    def open(self) -> AbstractContextManager[BinaryIO]: ...


class _LocalFile:
    def __init__(self, path: Path) -> None:
        self._path = path

    def stat(self) -> RemoteStat:
        found = files.stat_file(self._path)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError
        if not stat.S_ISREG(found.st_mode):
            message = f"not a regular file: {self._path}"  # a pipe would have no end
            raise FileMissingError(message)
        return RemoteStat(found.st_size, _EPOCH + timedelta(microseconds=found.st_mtime_ns // 1000))

    def open(self) -> BinaryIO:
        return files.open_for_read(self._path)


class _Server(Protocol):
    """A connection to a server, as fsspec has it."""

    def stat(self, path: str) -> dict[str, Any]: ...

    def open(self, path: str, mode: str) -> Any: ...


class _RemoteFile:
    def __init__(self, server: _Server, path: str) -> None:
        self._server = server
        self._path = path

    def stat(self) -> RemoteStat:
        found = self._server.stat(self._path)
        if found["type"] == "directory":
            raise IsADirectoryError
        return RemoteStat(found["size"], found["mtime"])

    def open(self) -> Any:
        return self._server.open(self._path, "rb")


@contextmanager
def _connection(remote: Remote, timeouts: network.Timeouts) -> Iterator[_Server]:
    host, port = remote.host or "", remote.port or PORTS[remote.transport]
    trust = network.Trust(remote.host_key_fingerprint, remote.legacy_algorithms)
    sent = replace(remote.sent, path="")  # not yet
    with ExitStack() as stack:
        with connecting(remote.address, pinned=trust.pinned, sent=sent):
            if remote.transport is Transport.FTP:
                _refuse_plain_ftp()
                opened = open_ftp(host, port, login=remote.login, timeouts=timeouts)
            else:
                opened = network.open_sftp(host, port, login=remote.login, trust=trust, timeouts=timeouts)
            server = stack.enter_context(opened)
        yield server


def _refuse_plain_ftp() -> None:
    """Asked where the connection is made, so that no stored feed slips through once it is switched off."""
    if not plain_ftp.is_allowed():
        raise errors.PlainFtpNotAllowedError


@dataclass(frozen=True)
class _Retriever:
    address: str
    source: _Source
    total_seconds: float
    sent: Sent

    def stat(self) -> RemoteStat:
        with reading(self.address, self.sent):
            return self.source.stat()

    def download(self, target: Path, *, max_bytes: int, on_progress: Progress) -> Download:
        before = self.stat()
        self._refuse_more_than(max_bytes, before.size or 0)
        part = target.with_name(f"{target.name}.part")
        try:
            size, sha256 = self._copy(part, max_bytes=max_bytes, total=before.size, on_progress=on_progress)
            self._refuse_moved(before, size=size)
            if starts_as_gzip(part):
                verify_gzip(part, address=self.address, max_bytes=max_bytes * INFLATED_PER_BYTE)
            files.replace_file(part, target)
        finally:
            files.discard_file(part)
        return Download(target, sha256, size_bytes=size, stat=before)

    def head(self, size: int) -> bytes:
        found, deadline = b"", time.monotonic() + self.total_seconds
        with reading(self.address, self.sent), self.source.open() as remote_file:
            while len(found) < size and (chunk := remote_file.read(size - len(found))):
                found += chunk
                self._refuse_after(deadline)
        return found

    def _copy(self, part: Path, *, max_bytes: int, total: int | None, on_progress: Progress) -> tuple[int, str]:
        """Size and hash of what was delivered. Only the reading is translated: a full disk here is not the server's."""
        digest = hashlib.sha256()
        size, deadline = 0, time.monotonic() + self.total_seconds
        with reading(self.address, self.sent):
            opened = self.source.open()
        with opened as remote_file, files.open_for_write(part) as file:
            while chunk := self._read(remote_file):
                size += len(chunk)
                self._refuse_more_than(max_bytes, size)
                digest.update(chunk)
                files.write_in_pieces(file, chunk)
                on_progress(size, total)
                self._refuse_after(deadline)
        return size, digest.hexdigest()

    def _read(self, remote_file: BinaryIO) -> bytes:
        with reading(self.address, self.sent):
            return remote_file.read(CHUNK_BYTES)

    def _refuse_more_than(self, max_bytes: int, size: int) -> None:
        if size > max_bytes:
            message = f"{self.address} has more than the {max_bytes} bytes that this feed allows"
            raise FileTooLargeError(message)

    def _refuse_after(self, deadline: float) -> None:
        if time.monotonic() > deadline:
            message = f"{self.address} was not here whole after {self.total_seconds:.0f} s"
            raise errors.DownloadTimeoutError(message)

    def _refuse_moved(self, before: RemoteStat, *, size: int) -> None:
        if self.stat() != before:
            message = f"{self.address} changed while it was read"
            raise FileStillUploadingError(message)
        if before.size is not None and size != before.size:
            message = f"{self.address} gave {size} bytes instead of the {before.size} it announced"
            raise FileStillUploadingError(message)
