"""The single door from a run to the network: an SFTP connection that checks the host key, times out and closes; and
the file systems of fsspec, for the archive."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import asyncssh
from fsspec.asyn import sync  # type: ignore[import-untyped]  # no stubs
from fsspec.core import url_to_fs  # type: ignore[import-untyped]  # no stubs
from sshfs import SSHFileSystem  # type: ignore[import-untyped]  # no stubs
from sshfs.file import SSHFile  # type: ignore[import-untyped]  # no stubs
from sshfs.utils import READ_BLOCK_SIZE  # type: ignore[import-untyped]  # no stubs

from tasks.ssh_algorithms import offered

CONNECT_SECONDS = 15.0  # name look-up, TCP, handshake and login together
REPLY_SECONDS = 60.0  # one stat, open or read; the 4 MiB that are asked for at once are 70 kB a second then
TOTAL_SECONDS = 7200.0  # one whole file; 500 MB in this time is 70 kB a second
KEEPALIVE_SECONDS = 15.0  # a silent server is asked whether it lives
KEEPALIVE_COUNT = 3  # and given up after this many questions without an answer
CLOSE_SECONDS = 1.0  # for a goodbye; somebody who pressed Ctrl-C waits for it
# Of a file, so that what follows arrives while a piece is written; asked for one by one, 500 MB take 1.7 times as long.
AHEAD_BYTES = 4 * 1024 * 1024
AHEAD_REQUESTS = 64  # of a server that gives little at once; OpenSSH's own client has as many under way

# A connection depends on the feed's settings alone: all that asyncssh would take from ~/.ssh, an agent or the
# environment is named here.
_SETTINGS: dict[str, Any] = {
    "client_keys": None,
    "agent_path": None,
    "gss_kex": False,
    "gss_auth": False,
    "config": None,
    "x509_trusted_certs": None,
    "known_hosts": lambda *_: ([], [], []),  # None would trust every key, and an empty value read ~/.ssh
    "compression_algs": ["none"],  # feeds are compressed already
    "keepalive_interval": KEEPALIVE_SECONDS,
    "keepalive_count_max": KEEPALIVE_COUNT,
}


@dataclass(frozen=True)
class Timeouts:
    connect: float = CONNECT_SECONDS
    reply: float = REPLY_SECONDS
    total: float = TOTAL_SECONDS


@dataclass(frozen=True)
class Login:
    """Who comes, and with what; a private key is text without a passphrase."""

    username: str
    password: str | None = field(default=None, repr=False)
    private_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Trust:
    """What is accepted of a server: one host key, and beside modern algorithms the old ones that are named."""

    pinned: str | None = None
    legacy_algorithms: tuple[str, ...] = ()


class HostKeyRefusedError(Exception):
    """The server showed these keys, and none of them is pinned."""

    def __init__(self, shown: tuple[str, ...]) -> None:
        super().__init__(", ".join(shown))
        self.shown = shown


def open_file_system(url: str) -> tuple[Any, str]:
    """The file system of a URL and the path in it; ValueError or ImportError for one that nobody here knows."""
    system, path = url_to_fs(url)
    return system, str(path)


@contextmanager
def open_sftp(host: str, port: int, *, login: Login, trust: Trust, timeouts: Timeouts) -> Iterator["SftpFileSystem"]:
    """A connection to this server, closed afterwards; HostKeyRefusedError unless it has the pinned key."""
    connection = _connect(host, port, login=login, trust=trust, timeouts=timeouts)
    try:
        yield connection
    finally:
        connection.disconnect()


def _connect(host: str, port: int, *, login: Login, trust: Trust, timeouts: Timeouts) -> "SftpFileSystem":
    """A server has a key of each kind and shows the first that both sides like, so ask for the other kinds too."""
    shown: dict[str, asyncssh.SSHKey] = {}
    algorithms = offered(trust.legacy_algorithms)
    while algorithms["server_host_key_algs"]:
        try:
            return SftpFileSystem(
                host,
                port=port,
                username=login.username,
                password=lambda: login.password,  # fsspec keeps its arguments: hand it none that shows a secret
                client_factory=lambda: _PinnedKeyClient(trust.pinned, shown, private_key=login.private_key),
                preferred_auth=["publickey"] if login.private_key else ["password", "keyboard-interactive"],
                connect_timeout=timeouts.connect,
                reply_seconds=timeouts.reply,
                **algorithms,
                **_SETTINGS,
            )
        except (asyncssh.Error, OSError):
            if not shown or trust.pinned in shown:
                raise
            # Its key is another, or it has none of the kinds asked for and may have hung up before saying so. Whatever
            # else goes wrong from now on, a key that nobody trusts was shown, and that is not for a retry to forget.
            untried = _untried(algorithms["server_host_key_algs"], shown)
            if trust.pinned is None or untried == algorithms["server_host_key_algs"]:
                break
            algorithms["server_host_key_algs"] = untried
    raise HostKeyRefusedError(tuple(shown))


def _untried(algorithms: list[str], shown: dict[str, asyncssh.SSHKey]) -> list[str]:
    refused = {name.decode() for key in shown.values() for name in key.sig_algorithms}
    return [name for name in algorithms if name not in refused]


class _PinnedKeyClient(asyncssh.SSHClient):
    """Trusts one host key, notes each that it was shown, and has one private key at most."""

    def __init__(self, pinned: str | None, shown: dict[str, asyncssh.SSHKey], *, private_key: str | None) -> None:
        self._pinned = pinned
        self._shown = shown
        self._private_key = private_key

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        fingerprint = key.get_fingerprint()
        self._shown[fingerprint] = key
        return fingerprint == self._pinned

    def public_key_auth_requested(self) -> asyncssh.SSHKey | None:
        """The key, once: a server that asks again has refused it."""
        text, self._private_key = self._private_key, None
        return asyncssh.import_private_key(text) if text else None


class SftpFileSystem(SSHFileSystem):  # type: ignore[misc]  # its base has no types
    """One connection, never shared: fsspec would hand an open one to whoever asks with the same arguments."""

    cachable = False

    def __init__(self, host: str, *, reply_seconds: float, **settings: object) -> None:
        self.reply_seconds = reply_seconds
        super().__init__(host, **settings)

    def stat(self, path: str) -> dict[str, Any]:
        return dict(sync(self.loop, self.answered, self._info(path)))

    async def answered(self, request: Awaitable[Any]) -> Any:
        """The answer, or TimeoutError and the line cut: a read merely cancelled leaves its parallel requests behind."""
        asked = asyncio.ensure_future(request)
        answers, _ = await asyncio.wait([asked], timeout=self.reply_seconds)
        if not answers:
            self.client.abort()
            await asyncio.wait([asked], timeout=CLOSE_SECONDS)
            raise TimeoutError from asked.exception() if asked.done() else None
        return await asked

    def disconnect(self) -> None:
        """Close for certain: sshfs itself closes when it is collected, and gives up after 0.1 s."""
        sync(self.loop, self._disconnect)

    async def _disconnect(self) -> None:
        self.client.close()  # says goodbye and drops the line, without waiting for an answer
        with suppress(TimeoutError):
            await asyncio.wait_for(self.client.wait_closed(), CLOSE_SECONDS)

    def _open(self, path: str, mode: str = "rb", **_: object) -> "_SftpFile":
        return _SftpFile(self, path, mode)

    def _decode_attributes(self, attributes: asyncssh.SFTPAttrs) -> dict[str, Any]:
        if attributes.permissions is None:  # a server need not send them, and sshfs calculates with them
            attributes.permissions = 0
        return dict(super()._decode_attributes(attributes))


class _SftpFile(SSHFile):  # type: ignore[misc]  # its base has no types
    """A remote file whose every operation ends: with an answer, or with a time-out."""

    _closed = True  # until it is open, so that a failed open leaves nothing to close

    def __init__(self, fs: SftpFileSystem, path: str, mode: str) -> None:
        self._position = self._size = 0
        self._goes_on = False  # whoever reads a single piece gets no more than that
        self._ahead: deque[asyncio.Future[bytes]] = deque()
        super().__init__(fs, path, mode)

    async def _open_file(self) -> object:
        return await self.fs.answered(super()._open_file())

    def _determine_block_size(self, channel: asyncssh.SFTPClient) -> int:
        """As much as the server gives at once, 255 KiB of OpenSSH; with the 48 of sshfs a file takes far longer."""
        self._most = max(int(channel.limits.max_read_len), int(READ_BLOCK_SIZE))
        return self._most

    def read(self, size: int) -> bytes:
        """The bytes that follow, `size` at most; none at the end."""
        return bytes(sync(self.loop, self._next, size))

    async def _next(self, size: int) -> bytes:
        """Once a piece was whole, what follows it is asked for in advance.

        One request each, and the first short answer is the end: asyncssh would fill a gap between two with zeros.
        """
        if size != self._size:
            await self.fs.answered(self._forget_ahead())
            self._size = size
        length = min(size, self._most)
        count = size // length
        under_way = max(count, min(AHEAD_REQUESTS, AHEAD_BYTES // length)) if self._goes_on else count
        while len(self._ahead) < under_way:
            start = self._position + length * len(self._ahead)
            self._ahead.append(asyncio.ensure_future(self._file.read(length, start)))
        return b"".join(await self.fs.answered(self._taken(count, length)))

    async def _taken(self, count: int, length: int) -> list[bytes]:
        taken: list[bytes] = []
        self._goes_on = True
        while self._goes_on and len(taken) < count:
            taken.append(await self._ahead.popleft())
            self._position += len(taken[-1])
            self._goes_on = len(taken[-1]) == length
        if not self._goes_on:
            await self._forget_ahead()
        return taken

    async def _forget_ahead(self) -> None:
        asked, self._ahead = self._ahead, deque()
        await asyncio.gather(*asked, return_exceptions=True)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            with suppress(asyncssh.Error, OSError):  # it was only read
                sync(self.loop, self._leave, timeout=CLOSE_SECONDS)

    async def _leave(self) -> None:
        """Whoever gives up half-way waits for nothing: the line is cut, and what was asked for ends with it."""
        if self._ahead:
            self.fs.client.abort()
            await self._forget_ahead()
        else:
            await self._file.close()
