"""Servers that stall, drop, lie, refuse or change a file in mid-read: runs get their class and change nothing."""

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncssh
import pytest

from db.clock import Clock
from feedmill.sftp_server import LocalSftpServer, OneUser, ReadOnlyFiles
from tasks import progress, transport
from tasks.catalogue import config, registry
from tasks.network import Timeouts
from tests.fakes.ftp_server import FTPHandler, LocalFtpServer
from tests.mill import after, csv_text, deliver, row, touch

USER, PASSWORD = "feeds", "correct horse battery"
ROWS = [row(number) for number in range(1, 50)]
FULL = "530 Sorry, the maximum number of clients (2) from your host are already connected."


@dataclass
class Script:
    """What the server does wrong at present, and how often it was called."""

    mode: str = ""
    calls: int = 0


class Hearing(progress.Listener):
    def __init__(self):
        self.sentences = []

    def told(self, sentence):
        self.sentences.append(sentence)


def sftp_files(script, path):
    class Files(ReadOnlyFiles):
        def stat(self, name):
            found = super().stat(name)
            if script.mode != "lies about its size":
                return found
            return asyncssh.SFTPAttrs(size=found.st_size + 1, permissions=0o100644, atime=1, mtime=1)

        def read(self, file_obj, offset, size):
            if script.mode == "stalls":
                return self._never()
            if script.mode == "drops after some bytes" or script.mode.startswith("refuses"):
                self.connection.abort()
            if script.mode == "replaces the file in mid-read":
                touch(path)
            return super().read(file_obj, offset, size)

        async def _never(self):
            await asyncio.get_running_loop().create_future()

    return Files


def sftp_login(script):
    class Login(OneUser):
        def begin_auth(self, username):
            script.calls += 1
            if script.mode == "refuses the third connection" and script.calls == 3:
                self._connection.disconnect(asyncssh.DISC_TOO_MANY_CONNECTIONS, f"not you, {USER}")
            return True

    return Login


class ScriptedFtp(FTPHandler):
    script: Script
    path: Path

    def ftp_USER(self, line):
        self.script.calls += 1
        if self.script.mode == "refuses the third connection" and self.script.calls == 3:
            self.respond(FULL)
        else:
            super().ftp_USER(line)

    def ftp_SIZE(self, path):
        if self.script.mode == "lies about its size":
            self.respond("213 1000000")
        else:
            super().ftp_SIZE(path)

    def ftp_RETR(self, file):
        if self.script.mode.startswith("550"):
            self.respond(self.script.mode)
        elif self.script.mode == "stalls":
            self.respond("150 in a moment")
        elif self.script.mode.startswith(("drops", "refuses")):
            self.push_dtp_data(csv_text(ROWS).encode()[:100], cmd="RETR")
        else:
            if self.script.mode == "replaces the file in mid-read":
                touch(self.path)
            super().ftp_RETR(file)

    def respond(self, resp, logfun=None):
        is_short = self.script.mode.startswith(("drops", "refuses")) and resp.startswith("226")
        super().respond("426 Failure writing network stream." if is_short else resp)


@contextmanager
def sftp(folder, script):
    server = LocalSftpServer(folder, username=USER, password=PASSWORD)
    server.files, server.login = sftp_files(script, folder / "x.csv"), sftp_login(script)
    with server:
        yield server.url("x.csv"), {"host_key_fingerprint": server.host_key_fingerprint}


@contextmanager
def ftp(folder, script):
    handler = type("Handler", (ScriptedFtp,), {"script": script, "path": folder / "x.csv"})
    with LocalFtpServer(folder, username=USER, password=PASSWORD, handler=handler) as server:
        yield server.url("x.csv"), {}


# What the server does, the code of the run, its class, and how often the run tried.
COMMON = [
    ("stalls", "HOST_UNREACHABLE", "transient", 3),
    ("lies about its size", "FILE_STILL_UPLOADING", "transient", 3),
    ("replaces the file in mid-read", "FILE_STILL_UPLOADING", "transient", 3),
    ("refuses the third connection", "SERVER_BUSY", "transient", 3),
]
TABLE = {
    sftp: [*COMMON, ("drops after some bytes", "HOST_UNREACHABLE", "transient", 3)],
    ftp: [
        *COMMON,
        ("drops after some bytes", "DATA_CONNECTION_FAILED", "transient", 3),
        ("550 x.csv: No such file or directory", "FILE_NOT_FOUND", "permanent", 1),
        ("550 Access is denied.", "PERMISSION_DENIED", "permanent", 1),
        ("550 The file is being used by another process", "FILE_BUSY", "transient", 3),
    ],
}


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setenv("AFFILIATE_FEED_ALLOW_PLAIN_FTP", "true")
    options = transport.open_retriever.__wrapped__.__kwdefaults__
    monkeypatch.setitem(options, "timeouts", Timeouts(reply=0.3))


@pytest.mark.spec("002 16.2")
@pytest.mark.parametrize("serve", TABLE, ids=["SFTP", "FTP"])
def test_server_that_misbehaves_gets_its_class_and_changes_nothing(drawer, tmp_path, impatient, serve):
    script = Script()
    deliver(tmp_path / "x.csv", ROWS)
    with serve(tmp_path, script) as (url, settings):
        mill = drawer.put_on_file(url, password=PASSWORD, **settings)
        mill.run(at=after(1))
        touch(tmp_path / "x.csv")  # or the next run need not read it
        before = (mill.written(), mill.offers(after(20)))
        for hour, expected in enumerate(TABLE[serve], start=2):
            assert failed(mill, script, expected[0], at=after(hour)) == expected
            assert (mill.written(), mill.offers(after(20))) == before, expected
        script.mode = ""
        mill.run(at=after(15))
        assert mill.offers(after(20)).keys() == before[1].keys()


def failed(mill, script, mode, *, at):
    """What became of a run: mode, code, class, attempts as the server counted them."""
    script.mode, script.calls = mode, 0
    mill.conn.execute("UPDATE schedules SET consecutive_failures = 0")  # three in a row would disable it
    hearing = Hearing()
    with progress.heard_by(hearing):
        record = mill.fail(at=at)
    assert len(hearing.sentences) == script.calls - 1
    assert PASSWORD not in str(record) + "".join(hearing.sentences)
    return mode, record["error_code"], record["error_class"], script.calls


@pytest.mark.spec("002 16.2")
def test_server_that_swaps_its_host_key_is_not_tried_again(drawer, tmp_path, caplog):
    deliver(tmp_path / "x.csv", ROWS)
    with sftp(tmp_path, Script()) as (url, settings):
        mill = drawer.put_on_file(url, password=PASSWORD, **settings)
        mill.run(at=after(1))
    before = mill.written()
    script = Script()
    with sftp(tmp_path, script) as (url, others):
        actor = registry.Actor("test", Clock(after(2)))
        registry.change_feed(mill.conn, mill.key, {"address": config.parse_address(url)}, actor)
        hearing = Hearing()
        with progress.heard_by(hearing):
            record = mill.fail(at=after(3))
    assert (record["error_code"], record["error_class"]) == ("HOST_KEY_MISMATCH", "configuration")
    for fingerprint in (settings["host_key_fingerprint"], others["host_key_fingerprint"]):
        assert fingerprint in record["error_message"]
    assert (hearing.sentences, script.calls) == ([], 0)  # nobody logged in
    [skipped] = [record for record in caplog.records if record.getMessage().startswith("RETRY_SKIPPED")]
    assert skipped.levelname == "ERROR"
    assert "classification=configuration error_code=HOST_KEY_MISMATCH hint=ask" in skipped.getMessage()
    assert mill.written() == before
    assert mill.feed()["host_key_fingerprint"] == settings["host_key_fingerprint"]
