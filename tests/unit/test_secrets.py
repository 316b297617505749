"""The stored form of a password, byte by byte, and where the key comes from."""

import base64
import re
import subprocess
import sys
import traceback

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tasks import files, progress
from tasks.errors import KeyMissingError, SecretUnreadableError
from tasks.keyring import first_key, key_named, load_key, new_key
from tasks.secrets import decrypt_secret, encrypt_secret, key_id

KEY = bytes(range(32))
PASSWORD = "pä:ss wörd €"

# Made with node's crypto.createCipheriv("aes-256-gcm") as the design document writes it: IV a0..ab, AAD "feed:42:v3".
VECTOR = bytes.fromhex(
    "01"
    "a0a1a2a3a4a5a6a7a8a9aaab"
    "770e8eb7fb1d5032e352f916f32675d2"
    "96dbd81736b822c8a1d3f5b727984272"
)  # fmt: skip

# Made with PyCryptodome's AES.MODE_GCM: key 20..3f, IV c0..cb, AAD "feed:9007:v12".
OTHER_KEY = bytes(range(32, 64))
OTHER_PASSWORD = 'пароль: 🔑 "x"\\'
OTHER_VECTOR = bytes.fromhex(
    "01"
    "c0c1c2c3c4c5c6c7c8c9cacb"
    "35343a7c0dca3dc1f8bd992c591a48e1"
    "ba2ce94152ef9b55aa9e8f3713fd339315dda2f264850a"
)  # fmt: skip


@pytest.fixture(autouse=True)
def embedded_database(monkeypatch, tmp_path):
    monkeypatch.delenv("CREDENTIAL_ENCRYPTION_KEY_B64", raising=False)
    monkeypatch.delenv("FEEDMILL_DATABASE_URL", raising=False)
    monkeypatch.setenv("FEEDMILL_HOME", str(tmp_path / "home"))


@pytest.fixture
def key_file(tmp_path):
    return tmp_path / "home" / "credential.key"


@pytest.mark.spec("002 10.2")
def test_decrypt_secret_reads_what_another_implementation_wrote():
    assert decrypt_secret(VECTOR, feed_id=42, secret_version=3, key=KEY) == PASSWORD


@pytest.mark.spec("002 10.2")
def test_decrypt_secret_reads_what_a_third_implementation_wrote():
    assert decrypt_secret(OTHER_VECTOR, feed_id=9007, secret_version=12, key=OTHER_KEY) == OTHER_PASSWORD


@pytest.mark.spec("002 10.2")
def test_encrypt_secret_writes_the_layout_by_offset(monkeypatch):
    monkeypatch.setattr("os.urandom", lambda size: VECTOR[1:13] if size == 12 else pytest.fail("the IV has 12 bytes"))
    assert encrypt_secret(PASSWORD, feed_id=42, secret_version=3, key=KEY).hex() == VECTOR.hex()


@pytest.mark.parametrize(
    "password",
    [
        pytest.param("", id="empty"),
        pytest.param("with: colon, 'quotes' and spaces ", id="colon, quotes and spaces"),
        pytest.param("пароль 🔑", id="not Latin"),
        pytest.param("x" * 10_000, id="long"),
    ],
)
def test_secret_round_trip(password):
    payload = encrypt_secret(password, feed_id=7, secret_version=1, key=KEY)
    assert len(payload) == 1 + 12 + 16 + len(password.encode())
    assert decrypt_secret(payload, feed_id=7, secret_version=1, key=KEY) == password


def test_encrypt_secret_never_repeats_an_iv():
    payloads = {encrypt_secret("same", feed_id=7, secret_version=1, key=KEY)[1:13] for _ in range(100)}
    assert len(payloads) == 100


@pytest.mark.parametrize(
    "opened_with",
    [
        pytest.param({"feed_id": 43}, id="payload copied to another feed"),
        pytest.param({"secret_version": 4}, id="payload of an older version"),
        pytest.param({"key": bytes(32)}, id="another key"),
    ],
)
def test_decrypt_secret_refuses_another_context(opened_with):
    with pytest.raises(SecretUnreadableError):
        decrypt_secret(VECTOR, **{"feed_id": 42, "secret_version": 3, "key": KEY} | opened_with)


@pytest.mark.parametrize(
    "offset",
    [
        pytest.param(0, id="version"),
        pytest.param(1, id="first byte of the IV"),
        pytest.param(12, id="last byte of the IV"),
        pytest.param(13, id="first byte of the tag"),
        pytest.param(28, id="last byte of the tag"),
        pytest.param(29, id="first byte of the ciphertext"),
        pytest.param(-1, id="last byte of the ciphertext"),
    ],
)
def test_decrypt_secret_refuses_a_flipped_bit(offset):
    payload = bytearray(VECTOR)
    payload[offset] ^= 1
    with pytest.raises(SecretUnreadableError):
        decrypt_secret(bytes(payload), feed_id=42, secret_version=3, key=KEY)


@pytest.mark.parametrize(
    "length",
    [
        pytest.param(0, id="nothing"),
        pytest.param(28, id="a byte short of version, IV and tag"),
        pytest.param(29, id="ciphertext cut off"),
        pytest.param(44, id="last byte cut off"),
    ],
)
def test_decrypt_secret_refuses_a_short_payload(length):
    with pytest.raises(SecretUnreadableError):
        decrypt_secret(VECTOR[:length], feed_id=42, secret_version=3, key=KEY)


def test_decrypt_secret_names_an_unknown_format():
    with pytest.raises(SecretUnreadableError, match="format 2"):
        decrypt_secret(b"\x02" + VECTOR[1:], feed_id=42, secret_version=3, key=KEY)


def test_decrypt_secret_says_nothing_of_a_password_that_is_not_text():
    sealed = AESGCM(KEY).encrypt(bytes(12), "geheimwört".encode("latin-1"), b"feed:7:v1")
    payload = b"\x01" + bytes(12) + sealed[-16:] + sealed[:-16]
    with pytest.raises(SecretUnreadableError) as caught:
        decrypt_secret(payload, feed_id=7, secret_version=1, key=KEY)
    said = "".join(traceback.format_exception(caught.value))
    assert "0xf6" not in said
    assert "geheim" not in said


def test_load_key_takes_the_environment_first(monkeypatch, key_file):
    monkeypatch.setenv("CREDENTIAL_ENCRYPTION_KEY_B64", base64.b64encode(KEY).decode())
    assert load_key() == KEY
    assert not key_file.exists()


@pytest.mark.parametrize(
    "text, said",
    [
        pytest.param(base64.b64encode(KEY[:31]).decode(), "31 bytes", id="a byte short"),
        pytest.param(base64.b64encode(KEY + b"x").decode(), "33 bytes", id="a byte long"),
        pytest.param(base64.b64encode(KEY).decode().rstrip("="), "not base64", id="padding cut off"),
        pytest.param("!" + base64.b64encode(KEY).decode(), "not base64", id="a foreign character"),
        pytest.param("schlüssel", "not base64", id="not ASCII"),
    ],
)
def test_load_key_refuses_a_malformed_key(monkeypatch, text, said):
    monkeypatch.setenv("CREDENTIAL_ENCRYPTION_KEY_B64", text)
    with pytest.raises(KeyMissingError, match=said) as caught:
        load_key()
    assert text not in str(caught.value)
    assert caught.value.hint


def test_first_key_with_a_real_database_makes_no_key(monkeypatch, key_file):
    monkeypatch.setenv("FEEDMILL_DATABASE_URL", "postgresql://db.example/feedmill")
    with pytest.raises(KeyMissingError, match="CREDENTIAL_ENCRYPTION_KEY_B64"):
        first_key()
    assert not key_file.exists()


def test_load_key_never_makes_a_key_and_says_where_it_was_expected(key_file):
    with pytest.raises(KeyMissingError, match=re.escape(str(key_file))) as caught:
        load_key()
    assert "\n" not in caught.value.message + caught.value.hint
    assert not key_file.parent.exists()


def test_key_made_as_the_hint_says_is_taken(key_file):
    with pytest.raises(KeyMissingError) as caught:
        load_key()
    [command] = re.findall(r"\((umask .*) feedmill key new (> .*)\)", caught.value.hint)
    key_file.parent.mkdir()
    text = new_key()
    subprocess.run(["sh", "-c", f"{command[0]} echo {text} {command[1]}"], check=True)
    assert load_key() == base64.b64decode(text)


def test_first_key_makes_a_private_key_file_once(key_file):
    key = first_key()
    assert first_key() == load_key() == key
    assert len(key) == 32
    assert key_file.stat().st_mode & 0o777 == 0o600
    assert key_file.parent.stat().st_mode & 0o777 == 0o700
    assert base64.b64decode(key_file.read_bytes()) == key
    assert [path.name for path in key_file.parent.iterdir()] == ["credential.key"]


@pytest.mark.parametrize(
    "mode",
    [
        pytest.param(0o640, id="group may read"),
        pytest.param(0o604, id="others may read"),
        pytest.param(0o620, id="group may write"),
    ],
)
def test_load_key_refuses_a_key_file_open_to_others(key_file, mode):
    first_key()
    key_file.chmod(mode)
    with pytest.raises(KeyMissingError, match="readable by group or others") as caught:
        load_key()
    assert caught.value.hint == f"let only its owner read it: chmod 600 {key_file}"


def test_first_key_never_replaces_a_damaged_key_file(key_file):
    files.make_key_file(key_file, b"")
    with pytest.raises(KeyMissingError, match="0 bytes"):
        first_key()
    assert key_file.read_bytes() == b""


def test_make_key_file_leaves_an_existing_key_alone(key_file):
    files.make_key_file(key_file, b"first")
    files.make_key_file(key_file, b"second")
    assert files.read_key_file(key_file) == b"first"


def test_first_key_gives_racing_processes_the_same_key(key_file):
    program = "import sys; from tasks.keyring import first_key; print('ready', flush=True); sys.stdin.readline(); "
    program += "print(first_key().hex())"
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        for _ in range(4)
    ]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    keys = {racer.communicate()[0] for racer in racers}
    assert keys == {load_key().hex() + "\n"}


def test_key_id_tells_keys_apart_and_nothing_of_them():
    assert key_id(KEY) == key_id(bytes(range(32)))
    assert key_id(KEY) != key_id(bytes(32))
    assert len(key_id(KEY)) == 8
    assert key_id(KEY) not in KEY.hex()


def test_key_file_is_told_of_when_it_is_made_and_not_again(key_file):
    told = []

    class Hearing(progress.Listener):
        def told(self, sentence):
            told.append(sentence)

    with progress.heard_by(Hearing()):
        first_key()
        first_key()
    assert len(told) == 1
    assert str(key_file) in told[0]
    assert "600" in told[0]


def test_key_that_is_not_here_is_named(monkeypatch):
    monkeypatch.setenv("CREDENTIAL_ENCRYPTION_KEY_B64", base64.b64encode(KEY).decode())
    assert key_named(key_id(KEY)) == KEY
    with pytest.raises(SecretUnreadableError, match=f"key 01234567; here is key {key_id(KEY)}"):
        key_named("01234567")
