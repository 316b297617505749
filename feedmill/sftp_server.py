"""A local SFTP server for the demo and the tests: one user, one folder, read-only, on a free port of 127.0.0.1."""

import asyncio
import hmac
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import asyncssh
from asyncssh.saslprep import saslprep

_WRITES = asyncssh.FXF_WRITE | asyncssh.FXF_APPEND | asyncssh.FXF_CREAT | asyncssh.FXF_TRUNC


def _refuse(*_: Any, **__: Any) -> Any:
    message = "this server is read-only"
    raise asyncssh.SFTPPermissionDenied(message)


class ReadOnlyFiles(asyncssh.SFTPServer):
    """The files of one folder, as if it were the root."""

    def __init__(self, channel: asyncssh.SSHServerChannel[bytes], root: Path) -> None:
        super().__init__(channel, chroot=str(root).encode())
        self._opened: set[Any] = set()

    def open(self, path: bytes, pflags: int, attrs: asyncssh.SFTPAttrs) -> Any:
        if pflags & _WRITES:
            _refuse()
        opened = super().open(path, pflags, attrs)
        self._opened.add(opened)
        return opened

    def close(self, file_obj: Any) -> Any:
        self._opened.discard(file_obj)
        return super().close(file_obj)

    def close_all(self) -> None:
        """What asyncssh leaves open when a connection breaks off."""
        while self._opened:
            self._opened.pop().close()

    # open56 opens for later versions of the protocol, which this server does not speak.
    open56 = write = setstat = lsetstat = fsetstat = _refuse
    remove = mkdir = rmdir = rename = posix_rename = symlink = link = _refuse


class OneUser(asyncssh.SSHServer):
    """Lets one user in, by password, and keeps account of who is connected."""

    def __init__(self, username: str, password: bytes, *, connections: set[asyncssh.SSHServerConnection]) -> None:
        self._username = username
        self._password = password
        self._connections = connections

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self._connections.add(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self._connection)

    def password_auth_supported(self) -> bool:
        return True

    def validate_password(self, username: str, password: str) -> bool:
        same = hmac.compare_digest(password.encode(), self._password)
        return same and username == self._username


class LocalSftpServer:
    """Serves `root` while its block is open; its thread and its connections end with the block."""

    host = "127.0.0.1"
    files: type[ReadOnlyFiles] = ReadOnlyFiles
    login: type[OneUser] = OneUser
    algorithms: Mapping[str, Any] = {}  # asyncssh's own, unless named

    def __init__(self, root: Path, *, username: str, password: str) -> None:
        self.port = 0
        self._root = root
        self._username = username
        self._password = saslprep(password).encode()  # as asyncssh hands over what the client sent
        self._keys = self.make_keys()
        self._connections: set[asyncssh.SSHServerConnection] = set()
        self._served: list[ReadOnlyFiles] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="local-sftp-server", daemon=True)

    @property
    def host_key_fingerprint(self) -> str:
        return self._keys[0].get_fingerprint()

    def make_keys(self) -> list[asyncssh.SSHKey]:
        """The host keys, new with each server."""
        return [asyncssh.generate_private_key("ssh-ed25519")]

    def url(self, path: str) -> str:
        """The address of a file under the root, as `feedmill feeds add --url` takes it."""
        return f"sftp://{quote(self._username, safe='')}@{self.host}:{self.port}/{quote(path.lstrip('/'))}"

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self._acceptor = self._run(self._listen())
        except BaseException:
            self._end_thread()
            raise
        self.port = self._acceptor.get_port()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            self._run(self._close())
        finally:
            self._end_thread()

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _end_thread(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _listen(self) -> asyncssh.SSHAcceptor:
        return await asyncssh.listen(
            self.host,
            0,
            server_factory=lambda: self.login(self._username, self._password, connections=self._connections),
            server_host_keys=self._keys,
            sftp_factory=self._serve,
            config=None,
            allow_scp=False,
            agent_forwarding=False,
            x11_forwarding=False,
            **self.algorithms,
        )

    def _serve(self, channel: asyncssh.SSHServerChannel[bytes]) -> ReadOnlyFiles:
        self._served.append(self.files(channel, self._root))
        return self._served[-1]

    async def _close(self) -> None:
        for listening in self._acceptor.sockets:
            self._loop.remove_reader(listening)  # asyncio fails on what it accepted if the server closes first
        await _turns()
        self._acceptor.close()
        for connection in self._connections:
            connection.abort()
        await _turns()
        for task in asyncio.all_tasks():
            if task is not asyncio.current_task():
                task.cancel()
        await _turns()
        for served in self._served:
            served.close_all()
        await self._loop.shutdown_default_executor()


async def _turns() -> None:
    """Let the loop finish what is under way: an accepted connection takes four turns, a closed one two."""
    for _ in range(10):
        await asyncio.sleep(0)
