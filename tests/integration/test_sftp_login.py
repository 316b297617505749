"""Getting in by private key, what is accepted of old servers, and what a server means by turning us away."""

import subprocess
import traceback

import asyncssh
import pytest

from db.enums import Recovery, Transport
from db.errors import BadRequestError
from feedmill.sftp_server import LocalSftpServer, OneUser, ReadOnlyFiles
from tasks import errors, transport
from tasks.network import Timeouts
from tasks.ssh_algorithms import LEGACY, MODERN
from tasks.transport import Remote
from tasks.transport_errors import connecting
from tasks.transport_keys import usable_private_key
from tests.integration.test_transport import _fetch

USER, PASSWORD, PASSPHRASE = "feed-user", "correct horse", "open sesame, please"
FEED = b"sku,price\na-1,9.99\n"


class ByKey(OneUser):
    """Lets the user in with one public key, and by no password."""

    key: asyncssh.SSHKey

    def password_auth_supported(self):
        return False

    def public_key_auth_supported(self):
        return True

    def validate_public_key(self, username, key):
        return username == USER and key == self.key


@pytest.fixture
def root(tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "catalog.csv").write_bytes(FEED)
    return tmp_path / "root"


@pytest.fixture
def target(tmp_path):
    (tmp_path / "work").mkdir()
    return tmp_path / "work" / "feed"


def _server(root, *, login=OneUser, files=ReadOnlyFiles, **algorithms):
    server = LocalSftpServer(root, username=USER, password=PASSWORD)
    server.login, server.files, server.algorithms = login, files, algorithms
    return server


def _remote(server, **over):
    login = {"username": USER, "password": PASSWORD, "host_key_fingerprint": server.host_key_fingerprint}
    return Remote(Transport.SFTP, server.host, server.port, "/catalog.csv", **login | over)


def _refused(kind, remote, target):
    with pytest.raises(kind) as caught:
        _fetch(remote, target)
    assert list(target.parent.iterdir()) == []
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))
    return caught.value


@pytest.mark.parametrize("kind", ["ssh-ed25519", "ecdsa-sha2-nistp256", "ssh-rsa"])
def test_login_by_private_key(root, target, kind):
    key = asyncssh.generate_private_key(kind)
    login = type("Login", (ByKey,), {"key": key.convert_to_public()})
    with _server(root, login=login) as server:
        remote = _remote(server, password=None, private_key=key.export_private_key().decode())
        assert _fetch(remote, target).size_bytes == len(FEED)
        assert "PRIVATE" not in repr(remote)


def test_another_private_key_is_refused_after_one_attempt(root, target):
    asked = []

    class Counting(ByKey):
        key = asyncssh.generate_private_key("ssh-ed25519").convert_to_public()

        def validate_public_key(self, username, key):
            asked.append(key)
            return super().validate_public_key(username, key)

    other = asyncssh.generate_private_key("ssh-ed25519").export_private_key().decode()
    with _server(root, login=Counting) as server:
        error = _refused(errors.LoginRefusedError, _remote(server, private_key=other), target)
    assert errors.classify(error) is Recovery.PERMANENT
    assert len(asked) == 1


def test_a_feed_with_a_private_key_never_sends_its_password(root, target):
    key = asyncssh.generate_private_key("ssh-ed25519").export_private_key().decode()
    with _server(root) as server:  # it takes passwords only
        _refused(errors.LoginRefusedError, _remote(server, private_key=key), target)


def _made_by_ssh_keygen(tmp_path, *options, passphrase=PASSPHRASE):
    path = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", *options, "-N", passphrase, "-f", path], check=True)
    return path.read_text()


@pytest.mark.parametrize(
    "options", [("-t", "ed25519"), ("-t", "rsa", "-b", "2048", "-m", "PEM")], ids=["OpenSSH", "PEM"]
)
def test_private_key_with_a_passphrase_is_kept_without(root, target, tmp_path, options):
    text = _made_by_ssh_keygen(tmp_path, *options)
    kept = usable_private_key(text, PASSPHRASE)
    login = type("Login", (ByKey,), {"key": asyncssh.import_private_key(text, PASSPHRASE).convert_to_public()})
    with _server(root, login=login) as server:
        assert _fetch(_remote(server, password=None, private_key=kept), target).size_bytes == len(FEED)


def test_passphrase_that_is_missing_or_wrong_is_told_apart(tmp_path):
    text = _made_by_ssh_keygen(tmp_path, "-t", "ed25519")
    with pytest.raises(BadRequestError, match="has a passphrase"):
        usable_private_key(text, None)
    with pytest.raises(BadRequestError, match="does not open"):
        usable_private_key(text, "wrong")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("hunter2 is no key", id="no key"),
        pytest.param(
            asyncssh.generate_private_key("ssh-ed25519").export_public_key().decode(), id="the public half only"
        ),
        pytest.param(asyncssh.generate_private_key("ssh-rsa", key_size=1024).export_private_key().decode(), id="weak"),
    ],
)
def test_private_key_that_is_none_is_refused_without_repeating_it(text):
    with pytest.raises(BadRequestError) as caught:
        usable_private_key(text, None)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


OLD = [(option, name) for option, names in LEGACY.items() if option != "signature_algs" for name in names]


@pytest.mark.filterwarnings("ignore:Diffie-Hellman")  # over finite fields: old indeed
@pytest.mark.parametrize("option, name", OLD, ids=[name for _, name in OLD])
def test_old_algorithm_is_used_only_if_the_feed_names_it(root, target, option, name):
    class OldKey(LocalSftpServer):
        def make_keys(self):
            key = asyncssh.generate_private_key("ssh-rsa")
            key.sig_algorithms = (b"ssh-rsa",)
            return [key]

    is_key = option == "server_host_key_algs"
    server = (OldKey if is_key else LocalSftpServer)(root, username=USER, password=PASSWORD)
    server.algorithms = {} if is_key else {option: [name]}
    if option == "mac_algs":
        server.algorithms["encryption_algs"] = ["aes128-ctr"]  # with GCM there is no MAC to choose
    with server:
        # Both sides see that nothing fits. If the server is the first to hang up, that is all there is to see.
        _refused((errors.ProtocolMismatchError, errors.HostUnreachableError), _remote(server), target)
        assert _fetch(_remote(server, legacy_algorithms=(name,)), target).size_bytes == len(FEED)


def test_no_sha1_md5_or_cbc_is_offered_by_default():
    offered = " ".join(name for names in MODERN.values() for name in names)
    assert not any(word in offered for word in ("sha1", "md5", "cbc", "arcfour", "ssh-rsa", "ssh-dss", "group1-"))


@pytest.mark.parametrize(
    "offer, hint",
    [
        pytest.param("diffie-hellman-group14-sha1,diffie-hellman-group1-sha1", "group14-sha1", id="old"),
        pytest.param("diffie-hellman-group1-sha1", "ask its owner to update it", id="unsafe"),
    ],
)
def test_hint_names_the_old_algorithm_that_a_server_offers(offer, hint):
    said = f"No matching key exchange algorithm found, sent curve25519-sha256 and received {offer}"
    with pytest.raises(errors.ProtocolMismatchError) as caught, connecting("sftp://host:22/x"):
        raise asyncssh.KeyExchangeFailed(said)
    assert caught.value.hint.endswith(hint)
    assert errors.classify(caught.value) is Recovery.CONFIGURATION


DISCONNECTS = [
    (asyncssh.DISC_HOST_NOT_ALLOWED_TO_CONNECT, "no", errors.HostNotAllowedError),
    (asyncssh.DISC_PROTOCOL_ERROR, "Too many authentication failures", errors.LoginRefusedError),
    (asyncssh.DISC_SERVICE_NOT_AVAILABLE, "no", errors.ServerBusyError),
    (asyncssh.DISC_CONNECTION_LOST, "no", errors.HostUnreachableError),
    (asyncssh.DISC_BY_APPLICATION, "shutting down", errors.HostUnreachableError),
    (asyncssh.DISC_BY_APPLICATION, "Too many connections", errors.ServerBusyError),
    (asyncssh.DISC_TOO_MANY_CONNECTIONS, "no", errors.ServerBusyError),
    (asyncssh.DISC_NO_MORE_AUTH_METHODS_AVAILABLE, "no", errors.LoginRefusedError),
    (asyncssh.DISC_ILLEGAL_USER_NAME, "no", errors.LoginRefusedError),
]


@pytest.mark.spec("002 16.2")
@pytest.mark.parametrize("code, words, kind", DISCONNECTS, ids=[f"{code}: {words}" for code, words, _ in DISCONNECTS])
def test_disconnect_gets_its_class(root, target, code, words, kind):
    class Leaving(OneUser):
        def begin_auth(self, username):
            self._connection.disconnect(code, f"{words} {PASSWORD}" if words == "no" else words)
            return True

    with _server(root, login=Leaving) as server:
        _refused(kind, _remote(server), target)


STATUSES = [
    (asyncssh.FX_NO_SUCH_FILE, "no", errors.FileMissingError),
    (asyncssh.FX_PERMISSION_DENIED, "no", errors.FileDeniedError),
    (asyncssh.FX_FAILURE, "Failure", errors.DownloadFailedError),
    (asyncssh.FX_FAILURE, "No such file", errors.FileMissingError),
    (asyncssh.FX_FAILURE, "Permission denied", errors.FileDeniedError),
    (asyncssh.FX_FAILURE, "Is a directory", errors.FileMissingError),
    (asyncssh.FX_BAD_MESSAGE, "no", errors.DownloadFailedError),
    (asyncssh.FX_NO_CONNECTION, "no", errors.HostUnreachableError),
    (asyncssh.FX_CONNECTION_LOST, "no", errors.HostUnreachableError),
    (asyncssh.FX_OP_UNSUPPORTED, "no", errors.ProtocolMismatchError),
]


@pytest.mark.spec("002 16.2")
@pytest.mark.parametrize("code, words, kind", STATUSES, ids=[f"{code}: {words}" for code, words, _ in STATUSES])
def test_status_gets_its_class(root, target, code, words, kind):
    class Failing(ReadOnlyFiles):
        def open(self, path, pflags, attrs):
            raise asyncssh.SFTPError(code, f"{words} {PASSWORD}")

    with _server(root, files=Failing) as server:
        _refused(kind, _remote(server), target)


def test_total_time_is_bounded(root, target):
    (root / "catalog.csv").write_bytes(bytes(3 * transport.CHUNK_BYTES))
    with _server(root) as server, pytest.raises(errors.DownloadTimeoutError):
        _fetch(_remote(server), target, timeouts=Timeouts(total=0))
    assert list(target.parent.iterdir()) == []
