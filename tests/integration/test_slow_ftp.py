"""Waiting for an FTP server that never falls silent: it ends all the same, and each operation has its own time."""

import socket
from dataclasses import replace

import pytest

from db.enums import Transport
from tasks import errors, transport_ftp
from tasks.network import Timeouts
from tasks.transport import CHUNK_BYTES, Remote, open_retriever
from tests.fakes.ftp_server import DrippingFtpServer, LocalFtpServer

LIMIT = 10_000_000


@pytest.fixture(autouse=True)
def allowed(monkeypatch):
    monkeypatch.setenv("AFFILIATE_FEED_ALLOW_PLAIN_FTP", "true")


def _remote(server):
    return Remote(Transport.FTP, server.host, server.port, "/x.csv", username="feeds", password="secret-word")


def _fetch(server, target, *, timeouts=None, on_progress=lambda done, total: None):
    with open_retriever(_remote(server), timeouts=timeouts or Timeouts()) as retriever:
        return retriever.download(target, max_bytes=LIMIT, on_progress=on_progress)


def test_slow_server_is_waited_for_within_the_time(tmp_path):
    with DrippingFtpServer("greeting", "SIZE", "RETR", moments=1) as server:
        assert _fetch(server, tmp_path / "feed").size_bytes == len(server.content)


@pytest.mark.parametrize(
    "slow, timeouts",
    [
        pytest.param("greeting", Timeouts(connect=0.3), id="greeting"),
        pytest.param("USER", Timeouts(connect=0.3), id="user"),
        pytest.param("PASS", Timeouts(connect=0.3), id="password"),
        pytest.param("TYPE", Timeouts(reply=0.3), id="type"),
        pytest.param("SIZE", Timeouts(reply=0.3), id="size"),
        pytest.param("PASV", Timeouts(reply=0.3), id="data connection"),
        pytest.param("RETR", Timeouts(reply=0.3), id="start of the file"),
        pytest.param("end", Timeouts(reply=0.3), id="end of the file"),
    ],
)
def test_reply_that_drips_line_by_line_is_not_waited_for_without_end(tmp_path, slow, timeouts):
    with (
        DrippingFtpServer(slow) as server,
        pytest.raises(errors.HostUnreachableError, match="no answer in time"),
    ):
        _fetch(server, tmp_path / "feed", timeouts=timeouts)


def test_reply_that_drips_byte_by_byte_is_not_waited_for_without_end(tmp_path):
    with (
        DrippingFtpServer("greeting", is_one_line=True) as server,
        pytest.raises(errors.HostUnreachableError, match="no answer in time"),
    ):
        _fetch(server, tmp_path / "feed", timeouts=Timeouts(connect=0.3))


@pytest.mark.parametrize(
    "slow, timeouts",
    [
        pytest.param(("greeting", "USER", "PASS"), Timeouts(connect=0.5), id="connecting"),
        pytest.param(("PASV", "RETR"), Timeouts(reply=0.5), id="opening the file"),
    ],
)
def test_replies_that_are_each_in_time_are_bounded_together(tmp_path, slow, timeouts):
    with (
        DrippingFtpServer(*slow, moments=6) as server,
        pytest.raises(errors.HostUnreachableError, match="no answer in time"),
    ):
        _fetch(server, tmp_path / "feed", timeouts=timeouts)


@pytest.fixture
def pass_time(monkeypatch):
    """The clock of the FTP connection stands still but for what this adds to it."""
    now = [0.0]
    monkeypatch.setattr(transport_ftp, "monotonic", lambda: now[0])

    def add(seconds):
        now[0] += seconds

    return add


def test_address_that_is_silent_leaves_the_next_one_its_time(tmp_path, monkeypatch, pass_time):
    (tmp_path / "x.csv").write_bytes(b"sku,price\n")
    connect, resolve = socket.socket.connect, socket.getaddrinfo

    def connect_or_wait(self, address):
        if address[0] == "127.0.0.2":
            pass_time(self.gettimeout())
            raise TimeoutError
        connect(self, address)

    def two(host, *args, **options):
        addresses = ("127.0.0.2", "127.0.0.1") if host == "two.example" else (host,)
        return [found for address in addresses for found in resolve(address, *args, **options)]

    monkeypatch.setattr(socket.socket, "connect", connect_or_wait)
    monkeypatch.setattr(socket, "getaddrinfo", two)
    with (
        LocalFtpServer(tmp_path, username="feeds", password="secret-word") as server,
        open_retriever(replace(_remote(server), host="two.example")) as retriever,
    ):
        assert retriever.stat().size == 10


def test_each_operation_has_its_own_time(tmp_path, pass_time):
    (tmp_path / "x.csv").write_bytes(bytes(3 * CHUNK_BYTES))

    def wait(*_):
        pass_time(1000)

    with (
        LocalFtpServer(tmp_path, username="feeds", password="secret-word") as server,
        open_retriever(_remote(server), timeouts=Timeouts(connect=20, reply=20)) as retriever,
    ):
        wait()
        retriever.stat()
        wait()
        got = retriever.download(tmp_path / "feed", max_bytes=LIMIT, on_progress=wait)
    assert got.size_bytes == 3 * CHUNK_BYTES


def test_opening_has_its_own_time(tmp_path, pass_time):
    (tmp_path / "x.csv").write_bytes(b"sku,price\n")
    with (
        LocalFtpServer(tmp_path, username="feeds", password="secret-word") as server,
        open_retriever(_remote(server)) as retriever,
    ):
        pass_time(1000)
        assert retriever.head(3) == b"sku"


def test_piece_of_the_file_has_its_own_time():
    ours, theirs = socket.socketpair()
    ours.settimeout(0)  # what was left when the file was opened
    with ours, theirs, pytest.raises(TimeoutError):
        transport_ftp.FtpFile(transport_ftp._Control(timeout=1), ours, 0.05).read(10)
