"""Fetching over a real FTP server: what arrives, what is asked of the server, and what is said of its refusals."""

import gzip
import hashlib
import os
import socket
import threading
import traceback
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from db.enums import Recovery, Transport
from tasks import errors, transport
from tasks.network import Timeouts
from tasks.transport import Remote, open_retriever
from tests.fakes.ftp_server import FTPHandler, LocalFtpServer

USER = "feed-user"
PASSWORD = "p:a ss wörd €/@"
FEED = b"sku,price\n" + b"a-1,9.99\n" * 1000
WRITTEN_AT = datetime(2026, 3, 1, 12, 30, 15, tzinfo=UTC)
LIMIT = 10_000_000


@pytest.fixture(autouse=True)
def allowed(monkeypatch):
    monkeypatch.setenv("AFFILIATE_FEED_ALLOW_PLAIN_FTP", "true")


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "root"
    (folder / "feeds").mkdir(parents=True)
    for name, content in {"catalog.csv": FEED, "catalog.csv.gz": gzip.compress(FEED)}.items():
        (folder / "feeds" / name).write_bytes(content)
        _touch(folder / "feeds" / name, WRITTEN_AT)
    return folder


def _touch(path, moment):
    os.utime(path, (moment.timestamp(), moment.timestamp()))


@pytest.fixture
def target(tmp_path):
    (tmp_path / "work").mkdir()
    return tmp_path / "work" / "feed"


def serving(root, handler=FTPHandler):
    return LocalFtpServer(root, username=USER, password=PASSWORD, handler=handler)


@pytest.fixture
def server(root):
    with serving(root) as running:
        yield running


def _remote(server, path="/feeds/catalog.csv", **over):
    return Remote(Transport.FTP, server.host, server.port, path, **{"username": USER, "password": PASSWORD} | over)


def _fetch(remote, target, *, max_bytes=LIMIT, on_progress=lambda done, total: None, timeouts=None):
    with open_retriever(remote, timeouts=timeouts or Timeouts()) as retriever:
        return retriever.download(target, max_bytes=max_bytes, on_progress=on_progress)


def _refused(kind, remote, target, **options):
    """The error; nothing is left on disk, and neither user nor password is in what the error and its causes say."""
    with pytest.raises(kind) as caught:
        _fetch(remote, target, **options)
    assert list(target.parent.iterdir()) == []
    said = "".join(traceback.format_exception(caught.value)) + repr(remote)
    assert PASSWORD not in said
    assert USER not in "".join(line for line in said.splitlines() if "Remote(" not in line)
    assert caught.value.hint or caught.value.recovery is Recovery.TRANSIENT
    return caught.value


@pytest.mark.spec("002 9.1")
def test_download_delivers_exact_bytes_and_what_the_server_says_of_them(server, target):
    got = _fetch(_remote(server), target)
    assert target.read_bytes() == FEED
    assert (got.size_bytes, got.sha256) == (len(FEED), hashlib.sha256(FEED).hexdigest())
    assert (got.stat.size, got.stat.modified_at) == (len(FEED), WRITTEN_AT)


def test_download_of_gzip_is_verified_to_its_end(server, root, target):
    _fetch(_remote(server, "/feeds/catalog.csv.gz"), target)
    (root / "feeds/catalog.csv.gz").write_bytes(gzip.compress(os.urandom(100_000))[:-4])
    target.unlink()
    _refused(errors.FileStillUploadingError, _remote(server, "/feeds/catalog.csv.gz"), target)


@pytest.mark.spec("002 9.3")
def test_connection_is_passive_and_nothing_is_listed(server, target):
    _fetch(_remote(server), target)
    assert {"EPSV", "PASV"} & set(server.commands)
    assert not {"PORT", "EPRT", "LIST", "MLSD", "NLST", "CWD"} & set(server.commands)
    assert server.commands.count("SIZE") == server.commands.count("MDTM") == 2  # before and after


def test_stat_asks_the_server_every_time(server, root):
    with open_retriever(_remote(server)) as retriever:
        first = retriever.stat()
        (root / "feeds/catalog.csv").write_bytes(FEED + b"more")
        assert retriever.stat().size == first.size + 4


def test_file_replaced_while_it_is_read_is_still_uploading(server, root, target):
    def change(done, total):
        _touch(root / "feeds/catalog.csv", WRITTEN_AT.replace(minute=31))

    _refused(errors.FileStillUploadingError, _remote(server), target, on_progress=change)


def test_path_means_itself(server, root, target):
    (root / "feeds/a b?#[1]:ü.csv").write_bytes(FEED)
    assert _fetch(_remote(server, "/feeds/a b?#[1]:ü.csv"), target).size_bytes == len(FEED)


@pytest.mark.parametrize(
    "path, kind",
    [
        pytest.param("/feeds/other.csv", errors.FileMissingError, id="no such file"),
        pytest.param("/feeds", errors.FileMissingError, id="a folder"),
    ],
)
def test_download_of_a_missing_file_says_so(server, target, path, kind):
    assert path in str(_refused(kind, _remote(server, path), target))


@pytest.mark.parametrize("login", [{"password": "wrong"}, {"password": None}, {"username": "somebody"}], ids=str)
def test_wrong_login_is_refused(server, target, login):
    _refused(errors.LoginRefusedError, _remote(server, **login), target)


@pytest.mark.spec("002 9.2")
@pytest.mark.parametrize("word", ["false", "", "1", "yes", "TRUE please"])
def test_without_the_switch_no_connection_is_made(server, target, monkeypatch, word):
    monkeypatch.setenv("AFFILIATE_FEED_ALLOW_PLAIN_FTP", word)
    error = _refused(errors.PlainFtpNotAllowedError, _remote(server), target)
    assert errors.classify(error) is Recovery.CONFIGURATION
    assert server.commands == []


def replying(**replies):
    """A handler that answers these commands with a fixed reply."""
    return type("Scripted", (FTPHandler,), {f"ftp_{name}": _answer(text) for name, text in replies.items()})


def _answer(text):
    def answer(self, *_):
        if text is None:
            self.close()
        else:
            self.respond(text)

    return answer


@pytest.mark.spec("002 16.2")
@pytest.mark.parametrize(
    "command, reply, kind",
    [
        pytest.param("RETR", "550 catalog.csv: No such file or directory", errors.FileMissingError, id="missing"),
        pytest.param("RETR", "550 Failed to open file.", errors.FileMissingError, id="missing, as vsftpd has it"),
        pytest.param("RETR", "550 Access is denied.", errors.FileDeniedError, id="denied, as IIS has it"),
        pytest.param("RETR", "550 The process cannot access the file because it is being used", errors.FileBusyError,
                     id="in use, as IIS has it"),
        pytest.param("RETR", "450 file busy", errors.FileBusyError, id="busy"),
        pytest.param("RETR", "451 local error", errors.DownloadFailedError, id="local error"),
        pytest.param("RETR", "452 disk full", errors.DownloadFailedError, id="no space"),
        pytest.param("RETR", "425 Can't open data connection", errors.DataConnectionError, id="no data connection"),
        pytest.param("RETR", "421 Timeout.", errors.ServerBusyError, id="goodbye"),
        pytest.param("RETR", "552 quota exceeded", errors.QuotaExceededError, id="quota"),
        pytest.param("RETR", "553 name not allowed", errors.PathRefusedError, id="bad name"),
        pytest.param("RETR", None, errors.HostUnreachableError, id="hangs up"),
        pytest.param("PASS", f"530 Sorry, the maximum number of clients for {USER} are already connected",
                     errors.ServerBusyError, id="too many"),
        pytest.param("PASS", f"530 User {USER} cannot log in.", errors.LoginRefusedError, id="wrong login"),
        pytest.param("USER", "530 Non-anonymous sessions must use encryption.", errors.TlsRequiredError, id="TLS"),
        pytest.param("USER", "421 There are too many connections", errors.ServerBusyError, id="full at the door"),
        pytest.param("USER", None, errors.HostUnreachableError, id="hangs up at the door"),
    ],
)  # fmt: skip
def test_reply_of_the_server_gets_its_class(root, target, command, reply, kind):
    with serving(root, replying(**{command: reply})) as server:
        _refused(kind, _remote(server), target)


class _Echoing(FTPHandler):
    """Repeats in its refusals what it was told, as ProFTPD does."""

    def ftp_RETR(self, file):
        self.respond(f"550 {self.fs.fs2ftp(file)}: No such file or directory")

    def ftp_PASS(self, line):
        if line == PASSWORD:
            super().ftp_PASS(line)
        else:
            self.respond(f"530 User {self.username} cannot log in.")


@pytest.mark.parametrize("path", ["/exports/locked-items.csv", "/exports/ssl/feed.csv", "/temporary/x.csv"])
def test_path_that_is_repeated_does_not_decide(root, target, path):
    with serving(root, _Echoing) as server:
        _refused(errors.FileMissingError, _remote(server, path), target)


@pytest.mark.parametrize("username", ["ssl-feeds", "temporary"])
def test_user_name_that_is_repeated_does_not_decide(root, target, username):
    with serving(root, _Echoing) as server:
        _refused(errors.LoginRefusedError, _remote(server, username=username, password="wrong"), target)


def test_path_decides_nothing_before_it_was_sent(root, target):
    with serving(root, replying(USER="530 TLS required.")) as server:
        _refused(errors.TlsRequiredError, _remote(server, "/tls"), target)


def test_server_that_knows_neither_size_nor_time_is_read(root, target):
    with serving(root, replying(SIZE="502 no", MDTM="500 what?")) as server:
        got = _fetch(_remote(server), target)
    assert target.read_bytes() == FEED
    assert (got.stat.size, got.stat.modified_at) == (None, None)


def test_limit_holds_for_a_file_that_does_not_tell_its_size(root, target):
    with serving(root, replying(SIZE="502 no")) as server:
        _refused(errors.FileTooLargeError, _remote(server), target, max_bytes=len(FEED) - 1)


def test_server_that_lies_about_the_size_is_not_believed(root, target):
    with serving(root, replying(SIZE=f"213 {len(FEED) + 1}")) as server:
        _refused(errors.FileStillUploadingError, _remote(server), target)


class _Short(FTPHandler):
    """Says that it sent all, and has not."""

    def ftp_RETR(self, file):
        self.push_dtp_data(FEED[:-10], cmd="RETR")


def test_transfer_that_ends_early_is_still_uploading(root, target):
    with serving(root, _Short) as server:
        _refused(errors.FileStillUploadingError, _remote(server), target)


class _Aborting(FTPHandler):
    """Breaks off half-way and says so."""

    def ftp_RETR(self, file):
        self.push_dtp_data(FEED[:-10], cmd="RETR")

    def respond(self, text, logfun=None):
        super().respond(text.replace("226 Transfer complete.", "426 Connection closed; transfer aborted."))


def test_transfer_that_the_server_breaks_off_is_transient(root, target):
    with serving(root, _Aborting) as server:
        error = _refused(errors.DataConnectionError, _remote(server), target)
    assert errors.classify(error) is Recovery.TRANSIENT


def _speaking(greeting):
    """A server that greets, and then says nothing; its port."""
    listening = socket.create_server(("127.0.0.1", 0))

    def speak():
        accepted, _ = listening.accept()
        with accepted:
            accepted.sendall(greeting)
            while accepted.recv(1024):
                pass

    thread = threading.Thread(target=speak, daemon=True)
    thread.start()
    return listening, thread


@pytest.mark.parametrize(
    "greeting, kind",
    [
        pytest.param(b"SSH-2.0-OpenSSH_9.2\r\n", errors.ProtocolMismatchError, id="SSH"),
        pytest.param(b"HTTP/1.1 400 Bad Request\r\n\r\n", errors.ProtocolMismatchError, id="HTTP"),
        pytest.param(b"421 Too many connections\r\n", errors.ServerBusyError, id="FTP, but full"),
        pytest.param(b"220 " + b"x" * 9000 + b"\r\n", errors.ProtocolMismatchError, id="a line without end"),
        pytest.param(b"", errors.HostUnreachableError, id="nothing"),
        pytest.param(b"220 Gr\xfc\xdfe\r\n", errors.HostUnreachableError, id="a greeting in Latin-1, then nothing"),
    ],
)
def test_what_is_no_ftp_server_is_told_apart(target, greeting, kind):
    listening, thread = _speaking(greeting)
    with listening:
        remote = Remote(Transport.FTP, "127.0.0.1", listening.getsockname()[1], "/x", username=USER, password=PASSWORD)
        _refused(kind, remote, target, timeouts=Timeouts(connect=0.3))
        thread.join()


def test_refused_port_is_unreachable(server, target):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        _refused(errors.HostUnreachableError, replace(_remote(server), port=free.getsockname()[1]), target)


class _Stalling(FTPHandler):
    def ftp_RETR(self, file):
        self.respond("150 in a moment")


def test_server_that_falls_silent_is_unreachable(root, target):
    with serving(root, _Stalling) as server:
        _refused(errors.HostUnreachableError, _remote(server), target, timeouts=Timeouts(reply=0.3))


def test_total_time_is_bounded(server, root, target):
    (root / "large").write_bytes(bytes(3 * transport.CHUNK_BYTES))
    _refused(errors.DownloadTimeoutError, _remote(server, "/large"), target, timeouts=Timeouts(total=0))


def test_total_time_of_the_first_bytes_is_bounded(server):
    with (
        open_retriever(_remote(server), timeouts=Timeouts(total=0)) as retriever,
        pytest.raises(errors.DownloadTimeoutError),
    ):
        retriever.head(100)


def test_password_is_not_among_what_fsspec_keeps(server):
    with open_retriever(_remote(server)) as retriever:
        connection = retriever.source._server
        assert PASSWORD not in repr(connection.storage_options) + repr(vars(connection)) + repr(retriever)
