"""An FTP connection that asks for size and time itself, reads a file over one passive connection, times out, closes."""

import ftplib
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from ftplib import error_proto
from time import monotonic
from typing import Any

from fsspec.implementations.ftp import FTPFileSystem  # type: ignore[import-untyped]  # no stubs

from tasks.network import CLOSE_SECONDS, Login, Timeouts

_RECEIVED_BYTES = 256 * 1024
_MOST_LINES = 1000  # of one reply; some servers greet with their terms of use
_TIME = re.compile(r"^(\d{14})(?:\.(\d{1,6}))?")
# A server that does not know SIZE or MDTM, or does not answer for this file. RETR has the last word.
_NO_ANSWER = ("500", "501", "502", "504", "550")


@contextmanager
def open_ftp(host: str, port: int, *, login: Login, timeouts: Timeouts) -> Iterator["FtpFileSystem"]:
    """A connection to this server, closed afterwards."""
    connection = FtpFileSystem(host, port, login=login, timeouts=timeouts)
    try:
        yield connection
    finally:
        connection.disconnect()


class _Control(ftplib.FTP):
    """The control connection. `timeout`, once set, is the time for all that is asked and answered until it is set anew.

    ftplib has a socket wait that long for each packet, so that a server which sends a byte now and then is waited for
    without end.
    """

    _ends_at = 0.0
    _received = b""

    @property
    def timeout(self) -> float:
        """The seconds that are left; TimeoutError if there are none."""
        left = self._ends_at - monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    @timeout.setter
    def timeout(self, seconds: float) -> None:
        self._ends_at = monotonic() + seconds

    def reach(self, host: str, port: int) -> None:
        """Connected and greeted, at the first address that answers; a silent one leaves the others their share."""
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(one[4][0]) for one in found))
        *others, last = addresses
        for tried, address in enumerate(others):
            with suppress(OSError):
                self.sock = socket.create_connection((address, port), self.timeout / (len(addresses) - tried))
                break
        else:
            self.sock = socket.create_connection((last, port), self.timeout)
        self.af = self.sock.family
        self.welcome = self.getresp()

    def getline(self) -> str:
        """The next line, whole; bytes that are not UTF-8 in what the server says are no reason to stop."""
        while b"\n" not in self._received and len(self._received) <= self.maxline:
            if not (piece := self._received_in_time()):
                break
            self._received += piece
        if not self._received:
            raise EOFError
        line, _, self._received = self._received.partition(b"\n")
        if len(line) > self.maxline:
            message = f"more than {self.maxline} bytes"
            raise error_proto(message)  # noqa: S321 - an error, no call
        return line.decode(self.encoding, errors="replace").rstrip("\r")

    def _received_in_time(self) -> bytes:
        if self.sock is None:
            raise EOFError
        self.sock.settimeout(self.timeout)
        return self.sock.recv(self.maxline)

    def getmultiline(self) -> str:
        """A reply. ftplib takes `SSH-2.0-...` for the first of many lines, and waits for the last one for ever."""
        lines = [self.getline()]
        if not lines[0][:3].isdecimal():
            raise error_proto(lines[0])  # noqa: S321 - an error, no call
        while lines[0][3:4] == "-" and (len(lines) == 1 or lines[-1][:4] != f"{lines[0][:3]} "):
            if len(lines) == _MOST_LINES:
                message = f"more than {_MOST_LINES} lines"
                raise error_proto(message)  # noqa: S321 - an error, no call
            lines.append(self.getline())
        return "\n".join(lines)


class FtpFileSystem(FTPFileSystem):  # type: ignore[misc]  # its base has no types
    """One connection, never shared. Its own listing, which fsspec would cache, is never asked for."""

    def __init__(self, host: str, port: int, *, login: Login, timeouts: Timeouts) -> None:
        self._login = login
        self._timeouts = timeouts
        super().__init__(host, port=port)

    def _connect(self) -> None:
        self.ftp = _Control(timeout=self._timeouts.connect)
        try:
            self.ftp.reach(self.host, self.port)
            self.ftp.set_pasv(True)
            self.ftp.login(self._login.username, self._login.password or "")
            self.ftp.timeout = self._timeouts.reply
            self.ftp.voidcmd("TYPE I")  # SIZE means bytes only then
        except BaseException:
            self.ftp.close()
            raise

    def stat(self, path: str) -> dict[str, Any]:
        """Size and time as the server tells them now; None for what it does not tell."""
        return {"type": "file", "size": size_in(self._asked("SIZE", path)), "mtime": time_in(self._asked("MDTM", path))}

    def _asked(self, command: str, path: str) -> str:
        self.ftp.timeout = self._timeouts.reply
        try:
            return str(self.ftp.sendcmd(f"{command} {path}"))
        except ftplib.error_perm as error:
            if not str(error).startswith(_NO_ANSWER):
                raise
            return ""

    def _open(self, path: str, mode: str = "rb", **_: object) -> "FtpFile":
        self.ftp.timeout = self._timeouts.reply
        return FtpFile(self.ftp, self.ftp.transfercmd(f"RETR {path}"), self._timeouts.reply)

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path  # a path of ours is no address: its colons and question marks mean themselves

    def disconnect(self) -> None:
        """Say goodbye where that is still possible, and close."""
        with suppress(OSError, EOFError, ftplib.Error):
            self.ftp.timeout = CLOSE_SECONDS
            self.ftp.quit()
        self.ftp.close()


class FtpFile:
    """A file as it arrives. It ends well only if the server says that it sent all of it."""

    def __init__(self, control: _Control, data: socket.socket, reply_seconds: float) -> None:
        self._control = control
        self._data = data
        self._reply_seconds = reply_seconds
        self._is_over = False

    def read(self, size: int) -> bytes:
        """What has arrived, up to `size`; nothing at the end."""
        if self._is_over:
            return b""
        self._control.timeout = self._reply_seconds
        self._data.settimeout(self._reply_seconds)
        received = self._data.recv(min(size, _RECEIVED_BYTES))
        if not received:
            self._is_over = True
            self._data.close()
            self._control.voidresp()
        return received

    def close(self) -> None:
        self._data.close()

    def __enter__(self) -> "FtpFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def size_in(reply: str) -> int | None:
    """Of `213 12345`; None for a reply that is none."""
    told = reply[4:].strip()
    return int(told) if reply.startswith("213") and told.isdecimal() else None


def time_in(reply: str) -> datetime | None:
    """Of `213 20260301123015` or with a fraction, which FTP tells in UTC; None for a reply that is none."""
    found = _TIME.match(reply[4:].strip()) if reply.startswith("213") else None
    if not found:
        return None
    try:
        whole = datetime.strptime(found.group(1), "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    return whole + timedelta(microseconds=int((found.group(2) or "0").ljust(6, "0")))
