"""The progress bar of a long fetch: there for a person at a terminal while it lasts, and for nobody else."""

import asyncio
import base64
import io
import re
import threading

import pytest

from db.clock import iso
from feedmill import cli, contract
from feedmill.sftp_server import LocalSftpServer, ReadOnlyFiles
from tasks.transport import CHUNK_BYTES
from tests.mill import after, row
from tests.plain import PlainMill

USER, PASSWORD = "feeds", "correct horse battery"
DEADLINE_SECONDS = 20  # of a server that waits for a bar which never comes
BAR = re.compile(r"fetching .*?([1-9]\d*)/(\d+)")  # not the one that is there before the first piece
ROWS = [row(number, name="Tent " + "x" * 2000) for number in range(1, 2 * CHUNK_BYTES // 1000)]


class Stream(io.StringIO):
    """Standard error: a terminal or not, and whether a bar has been seen on it."""

    def __init__(self, *, is_terminal):
        super().__init__()
        self._is_terminal = is_terminal
        self.has_bar = threading.Event()

    def isatty(self):
        return self._is_terminal

    def write(self, text):
        if BAR.search(text):
            self.has_bar.set()
        return super().write(text)


@pytest.fixture
def mill(conn, tmp_path, monkeypatch):
    monkeypatch.setenv("CREDENTIAL_ENCRYPTION_KEY_B64", base64.b64encode(bytes(range(32))).decode())
    monkeypatch.setenv("FEEDMILL_TEST_CLOCK", "1")
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)  # rich believes these more than the stream
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    mill = PlainMill(conn, tmp_path / "x.csv")
    mill.deliver(*ROWS)
    return mill


@pytest.fixture
def plan(mill, monkeypatch):
    def run(stream, *options):
        monkeypatch.setattr("sys.stderr", stream)
        assert contract.run(cli.app, ["plan", mill.key, "--at", iso(after(1)), *options]) == 0
        return stream.getvalue()

    return run


def server_waiting_for(stream, root):
    """It hands out the second half of a file once the bar of the first was seen."""

    class Waiting(ReadOnlyFiles):
        async def read(self, file_obj, offset, size):
            if offset >= 2 * CHUNK_BYTES:
                await asyncio.to_thread(stream.has_bar.wait, DEADLINE_SECONDS)
                stream.has_bar.set()  # once is enough
            return super().read(file_obj, offset, size)

    server = LocalSftpServer(root, username=USER, password=PASSWORD)
    server.files = Waiting
    return server


def test_a_long_fetch_shows_a_bar_on_a_terminal_while_it_lasts(mill, plan, capsys):
    stream = Stream(is_terminal=True)
    with server_waiting_for(stream, mill.path.parent) as server:
        key = server.host_key_fingerprint
        mill.put_on_file(server.url("x.csv"), password=PASSWORD, host_key_fingerprint=key)
        bars = [(int(done), int(total)) for done, total in BAR.findall(plan(stream))]
    size = mill.path.stat().st_size
    assert {total for _, total in bars} == {size}
    assert 0 < bars[0][0] < size
    assert "fetching" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "is_terminal, options",
    [
        pytest.param(True, ["--json"], id="a document is asked for"),
        pytest.param(False, [], id="standard error is no terminal"),
    ],
)
def test_a_long_fetch_shows_no_bar_to_anybody_else(mill, plan, is_terminal, options):
    mill.put_on_file()
    assert plan(Stream(is_terminal=is_terminal), *options) == ""
