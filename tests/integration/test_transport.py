"""Fetching over a real SFTP server and from a local path: what arrives, what is refused, and what is said of it."""

import asyncio
import errno
import gc
import gzip
import hashlib
import os
import socket
import threading
import traceback
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime

import asyncssh
import pytest

from db.enums import Transport
from feedmill.sftp_server import LocalSftpServer, OneUser, ReadOnlyFiles
from tasks import errors, files, transport
from tasks.gzip_check import verify_gzip
from tasks.network import AHEAD_BYTES, Timeouts
from tasks.transport import Remote, open_retriever

USER = "feed-user"
PASSWORD = "p:a ss wörd €/@"
FEED = b"sku,price\n" + b"a-1,9.99\n" * 1000
WRITTEN_AT = datetime(2026, 3, 1, 12, 30, 15, tzinfo=UTC)
LIMIT = 10_000_000
PATIENT = Timeouts()


@pytest.fixture
def root(tmp_path):
    """The folder that the server shows: one feed, plain and gzipped."""
    folder = tmp_path / "root"
    (folder / "feeds").mkdir(parents=True)
    for name, content in {"catalog.csv": FEED, "catalog.csv.gz": gzip.compress(FEED)}.items():
        (folder / "feeds" / name).write_bytes(content)
        _touch(folder / "feeds" / name, WRITTEN_AT)
    return folder


@pytest.fixture
def server(root):
    with LocalSftpServer(root, username=USER, password=PASSWORD) as running:
        yield running


@pytest.fixture
def remote(server):
    return _remote(server)


def _remote(server, path="/feeds/catalog.csv", **over):
    login = {"username": USER, "password": PASSWORD, "host_key_fingerprint": server.host_key_fingerprint}
    return Remote(Transport.SFTP, server.host, server.port, path, **login | over)


def _touch(path, moment):
    os.utime(path, (moment.timestamp(), moment.timestamp()))


def _fetch(remote, target, *, max_bytes=LIMIT, on_progress=lambda done, total: None, timeouts=PATIENT):
    with open_retriever(remote, timeouts=timeouts) as retriever:
        return retriever.download(target, max_bytes=max_bytes, on_progress=on_progress)


def _refused(kind, remote, target, **options):
    """The error; nothing is left on disk, and the password appears nowhere in what the error and its causes say."""
    with pytest.raises(kind) as caught:
        _fetch(remote, target, **options)
    assert list(target.parent.iterdir()) == []
    error = caught.value
    said = "".join(traceback.format_exception(error)) + repr(remote) + str(remote)
    while error:
        said += repr(error) + str(error)
        error = error.__cause__ or error.__context__
    assert PASSWORD not in said
    assert USER not in str(caught.value)
    return caught.value


@pytest.fixture
def target(tmp_path):
    (tmp_path / "work").mkdir()
    return tmp_path / "work" / "feed"


@pytest.fixture(params=["over SFTP", "from a local path"])
def either(request, root):
    """The same feed by both ways; `either(path)` is the Remote of a path under the root."""
    if request.param == "from a local path":
        yield lambda path: Remote(Transport.FILE, None, None, str(root / path.lstrip("/")))
        return
    server = request.getfixturevalue("server")
    yield lambda path: _remote(server, path)


def test_download_delivers_exact_bytes_and_their_hash(either, target):
    progress = []
    got = _fetch(either("/feeds/catalog.csv"), target, on_progress=lambda *step: progress.append(step))
    assert target.read_bytes() == FEED
    assert (got.path, got.size_bytes, got.sha256) == (target, len(FEED), hashlib.sha256(FEED).hexdigest())
    assert (got.stat.size, got.stat.modified_at) == (len(FEED), WRITTEN_AT)
    assert progress == [(len(FEED), len(FEED))]
    assert list(target.parent.iterdir()) == [target]


def test_download_of_gzip_keeps_and_hashes_the_bytes_as_delivered(either, root, target):
    delivered = (root / "feeds/catalog.csv.gz").read_bytes()
    got = _fetch(either("/feeds/catalog.csv.gz"), target)
    assert target.read_bytes() == delivered
    assert got.sha256 == hashlib.sha256(delivered).hexdigest()


@pytest.fixture(params=[16 * 1024, 255 * 1024, 4 * 1024 * 1024], ids=["16 KiB", "255 KiB", "4 MiB"])
def most_at_once(request, monkeypatch):
    """How much the server gives for one request: the least that there is, as OpenSSH has it, and of its own accord."""
    monkeypatch.setattr("asyncssh.sftp.MAX_SFTP_READ_LEN", request.param)
    return request.param


@pytest.mark.parametrize(
    "size",
    [
        pytest.param(1, id="one byte"),
        pytest.param(255 * 1024, id="one request"),
        pytest.param(transport.CHUNK_BYTES, id="one piece"),
        pytest.param(3 * 255 * 1024, id="three requests"),
        pytest.param(AHEAD_BYTES, id="as much as is asked for at once"),
        pytest.param(2 * AHEAD_BYTES + transport.CHUNK_BYTES, id="more than that"),
    ],
)
@pytest.mark.parametrize("more", [-1, 0, 1], ids=["less one", "exactly", "and one"])
def test_download_of_any_size_is_exact(root, target, most_at_once, size, more):
    content = os.urandom(size + more)
    (root / "large").write_bytes(content)
    with _server(root) as server:
        assert _fetch(_remote(server, "/large"), target).sha256 == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("at", range(0, 7 * 255, 255), ids=lambda at: f"at {at} KiB")
def test_end_that_is_told_in_the_middle_of_a_file_leaves_no_gap(root, target, monkeypatch, at):
    monkeypatch.setattr("asyncssh.sftp.MAX_SFTP_READ_LEN", 255 * 1024)

    class Forgetful(ReadOnlyFiles):
        """Says once that the file ends, as one that is cut and written again does."""

        told = False

        def read(self, file_obj, offset, size):
            if offset == at * 1024 and not self.told:
                self.told = True
                return b""
            return super().read(file_obj, offset, size)

    content = os.urandom(7 * 255 * 1024)
    (root / "large").write_bytes(content)
    with _server(root, Forgetful) as server:
        try:
            arrived = _fetch(_remote(server, "/large"), target).sha256
        except errors.FileStillUploadingError:
            arrived = None
    assert arrived in {None, hashlib.sha256(content).hexdigest()}


def test_download_in_many_chunks_reports_each(either, root, target):
    content = os.urandom(3 * transport.CHUNK_BYTES + 17)
    (root / "large").write_bytes(content)
    progress = []
    got = _fetch(either("/large"), target, on_progress=lambda *step: progress.append(step))
    assert got.sha256 == hashlib.sha256(content).hexdigest()
    done = [step[0] for step in progress]
    assert done == sorted(done)
    assert done[-1] == len(content)
    assert {step[1] for step in progress} == {len(content)}


def test_download_of_an_empty_file_is_empty(either, root, target):
    (root / "empty").touch()
    assert _fetch(either("/empty"), target).size_bytes == 0


def test_download_replaces_what_an_earlier_attempt_left(remote, target):
    target.write_bytes(b"old")
    target.with_name("feed.part").write_bytes(b"half")
    _fetch(remote, target)
    assert target.read_bytes() == FEED
    assert list(target.parent.iterdir()) == [target]


def test_stat_tells_size_and_time_in_utc(either):
    with open_retriever(either("/feeds/catalog.csv")) as retriever:
        found = retriever.stat()
    assert (found.size, found.modified_at) == (len(FEED), WRITTEN_AT)
    assert found.modified_at.tzinfo is UTC


@pytest.mark.parametrize(
    "path, said",
    [
        pytest.param("/feeds/other.csv", "no file at", id="no such file"),
        pytest.param("/nowhere/catalog.csv", "no file at", id="no such folder"),
        pytest.param("/feeds/catalog.csv/x", "", id="below a file"),
        pytest.param("/feeds", "a folder", id="a folder"),
    ],
)
def test_download_of_a_missing_file_says_so(either, target, path, said):
    error = _refused(errors.FileMissingError, either(path), target)
    assert said in str(error)
    assert path in str(error)


def test_download_of_a_forbidden_local_file_says_so(root, target, monkeypatch):
    def forbidden(path):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(files, "open_for_read", forbidden)  # root may read every file
    _refused(errors.FileDeniedError, Remote(Transport.FILE, None, None, str(root / "feeds/catalog.csv")), target)


def test_download_of_a_pipe_is_refused_before_it_blocks(root, target):
    os.mkfifo(root / "pipe")
    _refused(errors.FileMissingError, Remote(Transport.FILE, None, None, str(root / "pipe")), target)


def test_download_of_a_file_that_the_server_forbids_says_so(root, target):
    class Forbidding(ReadOnlyFiles):
        def open(self, path, pflags, attrs):
            raise asyncssh.SFTPPermissionDenied(PASSWORD.upper())

    with _server(root, Forbidding) as server:
        _refused(errors.FileDeniedError, _remote(server), target)


@pytest.mark.parametrize(
    "password",
    [
        pytest.param("wrong", id="another password"),
        pytest.param(None, id="no password"),
        pytest.param("", id="empty password"),
        pytest.param(PASSWORD.partition(":")[0], id="only up to the colon"),
    ],
)
def test_login_with_a_wrong_password_is_refused(remote, target, password):
    error = _refused(errors.LoginRefusedError, replace(remote, password=password), target)
    assert f"sftp://127.0.0.1:{remote.port}/feeds/catalog.csv" in str(error)


def test_login_as_another_user_is_refused(remote, target):
    with pytest.raises(errors.LoginRefusedError):
        _fetch(replace(remote, username="somebody"), target)


def test_unknown_host_is_unreachable(remote, target):
    _refused(errors.HostUnreachableError, replace(remote, host="no-such-host.invalid"), target)


def test_refused_port_is_unreachable(remote, target):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        error = _refused(errors.HostUnreachableError, replace(remote, port=free.getsockname()[1]), target)
    assert "nothing listens" in str(error)


def test_silent_server_is_unreachable(remote, target):
    with socket.create_server(("127.0.0.1", 0)) as silent:  # the kernel accepts; nobody ever answers
        stalled = replace(remote, port=silent.getsockname()[1])
        error = _refused(errors.HostUnreachableError, stalled, target, timeouts=Timeouts(connect=0.2))
    assert "no answer in time" in str(error)


def test_server_of_another_protocol_is_told_apart(remote, target):
    with socket.create_server(("127.0.0.1", 0)) as other:
        thread = threading.Thread(target=_answer_once, args=(other, b"SSH-1.5-ancient\r\n"))
        thread.start()
        _refused(errors.ProtocolMismatchError, replace(remote, port=other.getsockname()[1]), target)
        thread.join()


def _answer_once(listening, greeting):
    accepted, _ = listening.accept()
    with accepted:
        accepted.sendall(greeting)
        while accepted.recv(1024):
            pass


class _Stalling(ReadOnlyFiles):
    """Answers everything but what is named in `silent_on`."""

    silent_on = ""

    async def _never(self):
        await asyncio.get_running_loop().create_future()

    def open(self, path, pflags, attrs):
        return self._never() if self.silent_on == "open" else super().open(path, pflags, attrs)

    def read(self, file_obj, offset, size):
        return self._never() if self.silent_on == "read" else super().read(file_obj, offset, size)

    def stat(self, path):
        return self._never() if self.silent_on == "stat" else super().stat(path)


def _server(root, files=ReadOnlyFiles, login=OneUser):
    server = LocalSftpServer(root, username=USER, password=PASSWORD)
    server.files, server.login = files, login
    return server


def _complaints(caplog):
    """What asyncio says, but not of the server here that goes on talking to whoever hung up."""
    said = [record.getMessage() for record in caplog.records if record.name == "asyncio"]
    return [message for message in said if message != "socket.send() raised exception."]


@pytest.mark.parametrize("silent_on", ["stat", "open", "read"])
def test_server_that_falls_silent_is_unreachable(root, target, silent_on, caplog):
    served = type("Served", (_Stalling,), {"silent_on": silent_on})
    with _server(root, served) as server:
        _refused(errors.HostUnreachableError, _remote(server), target, timeouts=Timeouts(reply=0.2))
    gc.collect()
    assert _complaints(caplog) == []  # no request left behind


def test_server_that_falls_silent_at_login_is_unreachable(root, target):
    class Slow(OneUser):
        async def validate_password(self, username, password):
            await asyncio.get_running_loop().create_future()

    with _server(root, login=Slow) as server:
        error = _refused(errors.HostUnreachableError, _remote(server), target, timeouts=Timeouts(connect=0.3))
    assert "no answer in time" in str(error)


def test_server_that_hangs_up_at_login_has_shown_the_right_key(root, target):
    class Rude(OneUser):
        def validate_password(self, username, password):
            self._connection.abort()
            return False

    with _server(root, login=Rude) as server:
        _refused(errors.HostUnreachableError, _remote(server), target)


def test_login_with_a_password_that_unicode_writes_in_two_ways(root, target):
    password = "ﬁne\u00a0print"  # the server is handed its normal form
    with LocalSftpServer(root, username=USER, password=password) as server:
        assert _fetch(_remote(server, password=password), target).size_bytes == len(FEED)


def test_connection_lost_while_reading_is_unreachable(root, target):
    class Dying(ReadOnlyFiles):
        def read(self, file_obj, offset, size):
            self.connection.abort()
            return super().read(file_obj, offset, size)

    with _server(root, Dying) as server:
        _refused(errors.HostUnreachableError, _remote(server), target)


def test_failure_of_the_server_while_reading_is_transient(root, target):
    class Failing(ReadOnlyFiles):
        def read(self, file_obj, offset, size):
            raise asyncssh.SFTPFailure(PASSWORD.upper())

    with _server(root, Failing) as server:
        error = _refused(errors.DownloadFailedError, _remote(server), target)
    assert errors.classify(error) is errors.Recovery.TRANSIENT


class _Late(ReadOnlyFiles):
    """Answers the first pieces, and then does what `later` says."""

    def read(self, file_obj, offset, size):
        return super().read(file_obj, offset, size) if offset < 2 * transport.CHUNK_BYTES else self.later()


class _LateSilence(_Late):
    async def later(self):
        await asyncio.get_running_loop().create_future()


class _LateFailure(_Late):
    def later(self):
        raise asyncssh.SFTPFailure(PASSWORD)


class _LateGoodbye(_Late):
    def later(self):
        self.connection.abort()
        return b""


@pytest.mark.parametrize(
    "files, kind",
    [
        pytest.param(_LateSilence, errors.HostUnreachableError, id="falls silent"),
        pytest.param(_LateFailure, errors.DownloadFailedError, id="fails"),
        pytest.param(_LateGoodbye, errors.HostUnreachableError, id="hangs up"),
    ],
)
def test_server_that_stops_while_several_pieces_are_asked_for(root, target, caplog, files, kind, most_at_once):
    (root / "large").write_bytes(os.urandom(2 * AHEAD_BYTES))
    with _server(root, files) as server:
        error = _refused(kind, _remote(server, "/large"), target, timeouts=Timeouts(reply=1))
    assert errors.classify(error) is errors.Recovery.TRANSIENT
    gc.collect()
    assert _complaints(caplog) == []  # no request left behind


def test_giving_up_half_way_leaves_no_request_behind(root, target, caplog, most_at_once):
    (root / "large").write_bytes(os.urandom(2 * AHEAD_BYTES))

    def give_up(done, total):
        if done > transport.CHUNK_BYTES:
            message = "enough"
            raise LookupError(message)

    with _server(root, _LateSilence) as server, pytest.raises(LookupError, match="enough"):
        _fetch(_remote(server, "/large"), target, on_progress=give_up)
    assert list(target.parent.iterdir()) == []
    gc.collect()
    assert _complaints(caplog) == []


def test_next_pieces_come_while_one_is_written(root, target):
    fourth = threading.Event()

    class Watched(ReadOnlyFiles):
        def read(self, file_obj, offset, size):
            if offset >= 3 * transport.CHUNK_BYTES:
                fourth.set()
            return super().read(file_obj, offset, size)

    def slow_disk(done, total):
        if done == 2 * transport.CHUNK_BYTES:
            assert fourth.wait(30), "nothing was asked for while the second piece was written"

    content = os.urandom(2 * AHEAD_BYTES)
    (root / "large").write_bytes(content)
    with _server(root, Watched) as server:
        got = _fetch(_remote(server, "/large"), target, on_progress=slow_disk)
    assert got.sha256 == hashlib.sha256(content).hexdigest()


def test_head_asks_for_no_more_than_it_shows(root):
    asked = []

    class Asked(ReadOnlyFiles):
        def read(self, file_obj, offset, size):
            asked.append((offset, size))
            return super().read(file_obj, offset, size)

    (root / "large").write_bytes(bytes(2 * AHEAD_BYTES))
    with _server(root, Asked) as server, open_retriever(_remote(server, "/large")) as retriever:
        assert len(retriever.head(1000)) == 1000
    assert asked == [(0, 1000)]


def test_server_that_tells_neither_size_nor_time_nor_kind_is_read(root, target):
    class Terse(ReadOnlyFiles):
        def stat(self, path):
            return asyncssh.SFTPAttrs()

    with _server(root, Terse) as server:
        got = _fetch(_remote(server), target)
    assert target.read_bytes() == FEED
    assert (got.stat.size, got.stat.modified_at) == (None, None)


def test_unpinned_host_key_is_named_and_not_trusted(server, target):
    error = _refused(errors.HostKeyUnknownError, _remote(server, host_key_fingerprint=None), target)
    assert server.host_key_fingerprint in str(error)
    assert error.fingerprint == server.host_key_fingerprint
    assert error.hint.endswith(f"--host-key {server.host_key_fingerprint}")


def test_other_host_key_names_both(server, target):
    pinned = asyncssh.generate_private_key("ssh-ed25519").get_fingerprint()
    error = _refused(errors.HostKeyMismatchError, _remote(server, host_key_fingerprint=pinned), target)
    assert server.host_key_fingerprint in str(error)
    assert pinned in str(error)


@contextmanager
def _one_connection_only(server, *, then):
    """The port of a relay to the server that lets one connection through, and refuses or ignores what comes after."""
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket() as onward:
        port = listening.getsockname()[1]

        def relay():
            with listening.accept()[0] as accepted:
                if then == "refused":
                    listening.close()
                onward.connect((server.host, server.port))
                back = threading.Thread(target=_pump, args=(onward, accepted))
                back.start()
                _pump(accepted, onward)
                back.join()

        thread = threading.Thread(target=relay)
        thread.start()
        yield port
        thread.join()


def _pump(source, target):
    with suppress(OSError):
        while some := source.recv(65536):
            target.sendall(some)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("then", ["refused", "ignored"])
def test_other_host_key_counts_even_if_the_server_cannot_be_asked_for_its_others(server, remote, target, then):
    pinned = asyncssh.generate_private_key("ssh-ed25519").get_fingerprint()
    with _one_connection_only(server, then=then) as port:
        changed = replace(remote, port=port, host_key_fingerprint=pinned)
        error = _refused(errors.HostKeyMismatchError, changed, target, timeouts=Timeouts(connect=1))
    assert errors.classify(error) is errors.Recovery.CONFIGURATION
    assert server.host_key_fingerprint in str(error)
    assert pinned in str(error)


def test_known_hosts_of_the_user_are_not_asked(server, target, tmp_path, monkeypatch):
    (tmp_path / ".ssh").mkdir()
    key = server._keys[0].export_public_key().decode()
    (tmp_path / ".ssh" / "known_hosts").write_text(f"[127.0.0.1]:{server.port} {key}")
    monkeypatch.setenv("HOME", str(tmp_path))
    _refused(errors.HostKeyUnknownError, _remote(server, host_key_fingerprint=None), target)


def test_ssh_config_of_the_user_is_not_read(remote, target, tmp_path, monkeypatch):
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "config").write_text("Host *\n  ProxyCommand false\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert _fetch(remote, target).size_bytes == len(FEED)


class _ManyKeys(LocalSftpServer):
    def make_keys(self):
        kinds = ("ssh-ed25519", "ecdsa-sha2-nistp256", "ssh-rsa")
        return [asyncssh.generate_private_key(kind) for kind in kinds]


@pytest.mark.parametrize(
    "position", [pytest.param(0, id="Ed25519"), pytest.param(1, id="ECDSA"), pytest.param(2, id="RSA")]
)
def test_each_key_of_a_server_can_be_the_pinned_one(root, target, position):
    with _ManyKeys(root, username=USER, password=PASSWORD) as server:
        pinned = server._keys[position].get_fingerprint()
        assert _fetch(_remote(server, host_key_fingerprint=pinned), target).size_bytes == len(FEED)


def test_mismatch_names_every_key_of_the_server(root, target):
    pinned = asyncssh.generate_private_key("ssh-ed25519").get_fingerprint()
    with _ManyKeys(root, username=USER, password=PASSWORD) as server:
        error = _refused(errors.HostKeyMismatchError, _remote(server, host_key_fingerprint=pinned), target)
        assert all(key.get_fingerprint() in str(error) for key in server._keys)


def test_download_up_to_the_limit_passes_and_one_byte_more_does_not(either, target):
    assert _fetch(either("/feeds/catalog.csv"), target, max_bytes=len(FEED)).size_bytes == len(FEED)
    target.unlink()
    _refused(errors.FileTooLargeError, either("/feeds/catalog.csv"), target, max_bytes=len(FEED) - 1)


def test_download_of_a_file_announced_too_large_never_begins(either, root, target):
    (root / "large").write_bytes(bytes(2 * transport.CHUNK_BYTES))
    progress = []
    _refused(
        errors.FileTooLargeError,
        either("/large"),
        target,
        max_bytes=2 * transport.CHUNK_BYTES - 1,
        on_progress=lambda *step: progress.append(step),
    )
    assert progress == []


def test_limit_holds_for_a_file_that_does_not_tell_its_size(root, target):
    class Endless(ReadOnlyFiles):
        def stat(self, path):
            return asyncssh.SFTPAttrs(permissions=0o100644)

        def read(self, file_obj, offset, size):
            return b"x" * size

    written = []
    with _server(root, Endless) as server:
        _refused(
            errors.FileTooLargeError,
            _remote(server),
            target,
            max_bytes=3 * transport.CHUNK_BYTES,
            on_progress=lambda done, total: written.append(done),
        )
    assert max(written) <= 3 * transport.CHUNK_BYTES


def _grow(path):
    with path.open("ab") as file:
        file.write(b"more")


def _cut(path):
    os.truncate(path, len(FEED) // 2)


def _replace(path):
    path.with_name("new").write_bytes(FEED.upper())
    path.with_name("new").replace(path)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(_grow, id="grows"),
        pytest.param(_cut, id="is cut"),
        pytest.param(_replace, id="is replaced by one of the same size"),
        pytest.param(lambda path: _touch(path, WRITTEN_AT.replace(minute=31)), id="is written anew, same bytes"),
    ],
)
def test_file_that_changes_while_it_is_read_is_still_uploading(either, root, target, change):
    changes = iter([change])

    def change_once(done, total):
        for now in changes:
            now(root / "feeds/catalog.csv")

    error = _refused(errors.FileStillUploadingError, either("/feeds/catalog.csv"), target, on_progress=change_once)
    assert errors.classify(error) is errors.Recovery.TRANSIENT


def test_file_shorter_than_announced_is_still_uploading(root, target):
    class Optimist(ReadOnlyFiles):
        def stat(self, path):
            return asyncssh.SFTPAttrs(size=len(FEED) + 1, permissions=0o100644, atime=1, mtime=1)

    with _server(root, Optimist) as server:
        error = _refused(errors.FileStillUploadingError, _remote(server), target)
    assert "announced" in str(error)


@pytest.mark.parametrize(
    "kept",
    [
        pytest.param(2, id="only the magic"),
        pytest.param(9, id="within the header"),
        pytest.param(-20, id="within the data"),
        pytest.param(-8, id="no trailer"),
        pytest.param(-1, id="last byte missing"),
    ],
)
def test_truncated_gzip_is_still_uploading(either, root, target, kept):
    path = root / "feeds/catalog.csv.gz"
    path.write_bytes(gzip.compress(os.urandom(3_000_000))[:kept])
    _refused(errors.FileStillUploadingError, either("/feeds/catalog.csv.gz"), target)


def test_gzip_whose_second_member_is_cut_is_still_uploading(either, root, target):
    (root / "feeds/catalog.csv.gz").write_bytes(gzip.compress(FEED) + gzip.compress(FEED)[:-4])
    _refused(errors.FileStillUploadingError, either("/feeds/catalog.csv.gz"), target)


def _flip(data, offset):
    damaged = bytearray(data)
    damaged[offset] ^= 0xFF
    return bytes(damaged)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(_flip(gzip.compress(FEED), -8), id="wrong checksum"),
        pytest.param(_flip(gzip.compress(FEED), -1), id="wrong length"),
        pytest.param(gzip.compress(FEED) + b"garbage", id="garbage behind the end"),
    ],
)
def test_damaged_gzip_is_refused_for_good(either, root, target, content):
    (root / "feeds/catalog.csv.gz").write_bytes(content)
    error = _refused(errors.FileDamagedError, either("/feeds/catalog.csv.gz"), target)
    assert errors.classify(error) is errors.Recovery.PERMANENT


def test_verify_gzip_reads_all_members_and_padding(tmp_path):
    path = tmp_path / "members.gz"
    path.write_bytes(
        gzip.compress(FEED) * 3 + b"\0" * 2_000_000 + gzip.compress(b"") + gzip.compress(FEED) + b"\0" * 512
    )
    assert verify_gzip(path, address="members.gz", max_bytes=LIMIT) == 4 * len(FEED)


def test_gzip_that_inflates_past_twenty_times_the_limit_is_refused(either, root, target):
    bomb = gzip.compress(bytes(1_000_000))
    (root / "bomb.gz").write_bytes(bomb)
    _refused(errors.FileTooLargeError, either("/bomb.gz"), target, max_bytes=49_999)
    assert _fetch(either("/bomb.gz"), target, max_bytes=50_000).size_bytes == len(bomb)


def test_full_disk_is_not_blamed_on_the_server(remote, target, monkeypatch):
    def full(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files, "open_for_write", full)
    with pytest.raises(OSError, match="No space left"):
        _fetch(remote, target)
    assert not target.exists()


def test_error_of_the_caller_passes_through_and_leaves_nothing(remote, target):
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _fetch(remote, target, on_progress=stop)
    assert list(target.parent.iterdir()) == []


def test_connection_is_closed_afterwards_and_never_shared(server, remote):
    with open_retriever(remote) as one, open_retriever(remote) as two:
        assert one.source._server is not two.source._server
        assert not type(one.source._server)._cache
        clients = [one.source._server.client, two.source._server.client]
        assert not any(client.is_closed() for client in clients)
    assert all(client.is_closed() for client in clients)


def test_password_is_in_no_repr_and_not_among_the_arguments_that_fsspec_keeps(remote):
    assert PASSWORD not in repr(remote) + str(remote)
    with open_retriever(remote) as retriever:
        connection = retriever.source._server
        assert PASSWORD not in repr(connection.storage_options) + repr(vars(connection)) + repr(retriever)


def test_local_server_is_read_only(server):
    with open_retriever(_remote(server)) as retriever:
        connection = retriever.source._server
        for attempt in (
            lambda: connection.open("/feeds/new.csv", "wb"),
            lambda: connection.open("/feeds/catalog.csv", "ab"),
            lambda: connection.rm_file("/feeds/catalog.csv"),
            lambda: connection.mkdir("/new", create_parents=False),
            lambda: connection.mv("/feeds/catalog.csv", "/feeds/other.csv"),
        ):
            with pytest.raises((asyncssh.SFTPPermissionDenied, PermissionError)):
                attempt()


def test_local_server_shows_nothing_outside_its_root(server, tmp_path, target):
    (tmp_path / "outside.csv").write_bytes(b"secret")
    _refused(errors.FileMissingError, _remote(server, "/../outside.csv"), target)


def test_local_server_leaves_no_thread_and_no_port_behind(root):
    before = set(threading.enumerate())
    with LocalSftpServer(root, username=USER, password=PASSWORD) as server:
        assert server.url("/feeds/a b.csv") == f"sftp://feed-user@127.0.0.1:{server.port}/feeds/a%20b.csv"
        idle = socket.create_connection((server.host, server.port))
    with idle:
        assert {thread for thread in threading.enumerate() if thread.name == "local-sftp-server"} <= before
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((server.host, server.port))


def test_work_folder_is_private_and_gone_afterwards():
    with files.work_folder() as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "feed").write_bytes(b"x")
    assert not folder.exists()
