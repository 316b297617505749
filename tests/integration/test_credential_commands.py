"""Passwords, keys, plain FTP and trials through the real command line, on a real database."""

import base64
import io
import json
import re

import asyncssh
import pytest

from db.enums import Trigger
from db.errors import BadRequestError
from feedmill import cli, contract
from tasks import exclusive, keyring
from tasks.catalogue.steps import CATALOGUE
from tasks.run import Start

PASSWORD, PASSPHRASE = "correct horse", "open sesame"
SFTP = "sftp://feeds@files.example.com/catalog.csv.gz"
FTP = "ftp://feeds@files.example.com/catalog.csv.gz"
KEY = base64.b64encode(bytes(range(32))).decode()


@pytest.fixture
def feedmill(capsys, monkeypatch, database):
    """Runs a command on a fresh database: exit code, document, standard error."""
    monkeypatch.setenv("CREDENTIAL_ENCRYPTION_KEY_B64", KEY)

    def run(*arguments, typed=""):
        monkeypatch.setattr("sys.stdin", io.StringIO(typed) if isinstance(typed, str) else typed)
        code = contract.run(cli.app, [*map(str, arguments), "--json"])
        said = capsys.readouterr()
        assert PASSWORD not in said.out + said.err
        return code, json.loads(said.out), said.err

    return run


@pytest.fixture
def add(feedmill):
    def run(*options, url=SFTP, typed=""):
        return feedmill("feeds", "add", "northfork", "--retailer", "Northfork", "--url", url, *options, typed=typed)

    return run


def stored(conn):
    return conn.execute("SELECT * FROM affiliate_feeds").fetchone()


def events(conn, name):
    return conn.execute("SELECT * FROM audit_events WHERE event_name = %s", [name]).fetchall()


@pytest.mark.spec("002 12.4")
def test_blank_password_keeps_the_old_one(add, feedmill, conn):
    add("--password-stdin", typed=f"{PASSWORD}\n")
    before = stored(conn)
    for typed in ("", "\n", "\r\n"):
        code, _, _ = feedmill("feeds", "set", "northfork", "--password-stdin", typed=typed)
        assert code == 0
    assert stored(conn)["secret_ciphertext"] == before["secret_ciphertext"]
    assert len(events(conn, "CREDENTIAL_CHANGED")) == 1


@pytest.mark.spec("002 12.4")
def test_stored_password_is_shown_as_dots(add, conn, capsys):
    add("--password-stdin", typed=f"{PASSWORD}\n")
    assert contract.run(cli.app, ["feeds", "show", "northfork"]) == 0
    assert re.search(r"^password +••••••••", capsys.readouterr().out, re.MULTILINE)


def test_private_key_is_stored_encrypted_without_its_passphrase(add, conn, tmp_path):
    key = asyncssh.generate_private_key("ssh-ed25519")
    path = tmp_path / "id"
    path.write_bytes(key.export_private_key("pkcs8-pem", PASSPHRASE))
    code, document, _ = add("--private-key", path, "--passphrase-stdin", typed=f"{PASSPHRASE}\n")
    assert (code, document["has_private_key"], document["has_password"]) == (0, True, False)
    assert asyncssh.import_private_key(keyring.decrypted(stored(conn))) == key
    [event] = events(conn, "CREDENTIAL_CHANGED")
    assert event["fields"]["field_name"] == "private_key"


def test_private_key_may_come_by_standard_input(add, conn):
    key = asyncssh.generate_private_key("ssh-ed25519")
    code, _, _ = add("--private-key", "-", typed=key.export_private_key().decode())
    assert code == 0
    assert stored(conn)["secret_kind"] == "PRIVATE_KEY"


@pytest.mark.parametrize(
    "options, code",
    [
        pytest.param(("--private-key", "/no/such/file"), "BAD_PRIVATE_KEY", id="no such file"),
        pytest.param(("--private-key", "-"), "BAD_PRIVATE_KEY", id="no key"),
        pytest.param(("--private-key", "-", "--password-stdin"), "USAGE", id="two secrets from one input"),
        pytest.param(("--private-key", "-", "--passphrase-stdin"), "USAGE", id="key and passphrase from one input"),
        pytest.param(("--passphrase-stdin",), "USAGE", id="a passphrase of nothing"),
        pytest.param(("--legacy-algorithm", "arcfour"), "BAD_VALUE", id="an algorithm that is not offered"),
    ],
)
def test_wrong_credentials_are_refused_and_store_nothing(add, conn, options, code):
    exit_code, document, err = add(*options, typed="x\n")
    assert (exit_code, document["error"]["code"], stored(conn)) == (2, code, None)
    assert err.count("\n") == 1


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"], ids=["most locales", "the locale C"])
@pytest.mark.parametrize(
    "options, code, said",
    [
        pytest.param(("--password-stdin",), "BAD_VALUE", "the password", id="password"),
        pytest.param(("--private-key", __file__, "--passphrase-stdin"), "BAD_VALUE", "the passphrase", id="passphrase"),
        pytest.param(("--private-key", "-"), "BAD_PRIVATE_KEY", "the private key", id="private key"),
    ],
)
def test_secret_that_is_not_utf_8_is_refused(add, conn, options, code, said, errors):
    typed = io.TextIOWrapper(io.BytesIO("geheimwört\n".encode("latin-1")), encoding="utf-8", errors=errors)
    exit_code, document, err = add(*options, typed=typed)
    assert (exit_code, document["error"]["code"], stored(conn)) == (2, code, None)
    assert document["error"]["message"] == f"{said} on standard input is not UTF-8"
    assert err.count("\n") == 1
    assert "xf6" not in err


def test_legacy_algorithms_are_named_and_taken_back(add, feedmill):
    _, document, _ = add("--legacy-algorithm", "ssh-rsa", "--legacy-algorithm", "hmac-sha1")
    assert document["legacy_algorithms"] == ["hmac-sha1", "ssh-rsa"]
    _, document, _ = feedmill("feeds", "set", "northfork", "--legacy-algorithm", "none")
    assert document["legacy_algorithms"] == []


@pytest.mark.parametrize("url", [f"sftp://feeds:{PASSWORD}@host/x", f"ftp://feeds:{PASSWORD}@host/x"])
def test_password_in_an_address_is_refused_with_advice(add, feedmill, conn, url):
    code, document, _ = add(url=url)
    assert (code, document["error"]["code"], stored(conn)) == (2, "BAD_VALUE", None)
    assert "--password-stdin" in document["error"]["hint"]
    assert "block" in document["error"]["hint"]
    add()
    assert feedmill("feeds", "set", "northfork", "--url", url)[0] == 2


@pytest.mark.spec("002 9.2")
@pytest.mark.parametrize("options", [(), ("--i-understand-ftp-is-insecure",)], ids=["unconfirmed", "confirmed"])
def test_plain_ftp_is_refused_unless_switched_on(add, conn, options):
    code, document, _ = add(*options, url=FTP)
    assert (code, stored(conn)) == (2, None)
    assert "AFFILIATE_FEED_ALLOW_PLAIN_FTP" in document["error"]["hint"]


@pytest.mark.spec("002 9.2")
def test_plain_ftp_needs_a_confirmation_warns_and_is_audited(add, conn, monkeypatch):
    monkeypatch.setenv("AFFILIATE_FEED_ALLOW_PLAIN_FTP", "true")
    code, document, _ = add(url=FTP)
    assert (code, stored(conn)) == (2, None)
    assert "--i-understand-ftp-is-insecure" in document["error"]["hint"]
    code, _, err = add("--i-understand-ftp-is-insecure", url=FTP)
    assert (code, stored(conn)["transport"]) == (0, "FTP")
    assert "Insecure" in err
    [event] = events(conn, "INSECURE_TRANSPORT_SELECTED")
    assert (event["level"], event["fields"]["transport"], bool(event["actor"])) == ("WARN", "FTP", True)


@pytest.mark.spec("002 9.2")
def test_change_to_plain_ftp_is_audited_once(add, feedmill, conn, monkeypatch):
    monkeypatch.setenv("AFFILIATE_FEED_ALLOW_PLAIN_FTP", "true")
    add()
    for path in ("a", "b"):
        assert feedmill(
            "feeds", "set", "northfork", "--url", f"{FTP}.{path}", "--i-understand-ftp-is-insecure"
        )[0] == 0  # fmt: skip
    assert len(events(conn, "INSECURE_TRANSPORT_SELECTED")) == 1


def test_key_new_makes_a_key_that_is_one(feedmill, monkeypatch):
    _, document, _ = feedmill("key", "new")
    monkeypatch.setenv("CREDENTIAL_ENCRYPTION_KEY_B64", document["key"])
    assert len(keyring.load_key()) == 32
    assert feedmill("key", "new")[1] != document


def test_key_rotate_tells_what_it_did(add, feedmill, conn, monkeypatch):
    add("--password-stdin", typed=f"{PASSWORD}\n")
    monkeypatch.setenv("CREDENTIAL_ENCRYPTION_OLD_KEY_B64", KEY)
    monkeypatch.setenv("CREDENTIAL_ENCRYPTION_KEY_B64", keyring.new_key())
    code, document, _ = feedmill("key", "rotate")
    assert (code, document["feeds"], document["key_id"]) == (0, ["northfork"], stored(conn)["secret_key_id"])
    monkeypatch.delenv("CREDENTIAL_ENCRYPTION_OLD_KEY_B64")
    assert keyring.decrypted(stored(conn)) == PASSWORD


@pytest.mark.parametrize("key", ["", "short", "!"])
@pytest.mark.spec("002 10.1")
def test_process_that_needs_a_key_fails_at_once_without_a_valid_one(add, feedmill, conn, monkeypatch, key):
    add("--password-stdin", "--enable", typed=f"{PASSWORD}\n")
    monkeypatch.setenv("CREDENTIAL_ENCRYPTION_KEY_B64", key)
    for command, exit_code in ((("run", "northfork"), 2), (("feeds", "try", "northfork"), 1)):
        code, document, err = feedmill(*command)
        assert (code, document["error"]["code"], err.count("\n")) == (exit_code, "CREDENTIAL_KEY_INVALID", 1)
        assert "feedmill key new" in document["error"]["hint"]
    assert conn.execute("SELECT FROM ingestion_runs").fetchall() == []


@pytest.mark.parametrize(
    "keys, error_code, said",
    [
        pytest.param(
            {"CREDENTIAL_ENCRYPTION_OLD_KEY_B64": "short"},
            "CREDENTIAL_KEY_INVALID",
            "CREDENTIAL_ENCRYPTION_OLD_KEY_B64 is not base64",
            id="an old key that is none",
        ),
        pytest.param(
            {"CREDENTIAL_ENCRYPTION_KEY_B64": base64.b64encode(bytes(32)).decode()},
            "SECRET_UNREADABLE",
            "feeds set northfork --password-stdin",
            id="a key of something else",
        ),
    ],
)
@pytest.mark.spec("002 10.1")
def test_run_whose_secret_no_key_here_opens_does_not_begin(add, feedmill, conn, monkeypatch, keys, error_code, said):
    add("--password-stdin", "--enable", typed=f"{PASSWORD}\n")
    for name, text in keys.items():
        monkeypatch.setenv(name, text)
    code, document, err = feedmill("run", "northfork")
    assert (code, document["error"]["code"], err.count("\n")) == (2, error_code, 1)
    assert said in err
    with pytest.raises(BadRequestError), exclusive.exclusive_run(CATALOGUE, "northfork", Start(Trigger.SCHEDULED)):
        pytest.fail("it began")
    assert conn.execute("SELECT FROM ingestion_runs").fetchall() == []
    assert conn.execute("SELECT FROM ingestion_jobs").fetchall() == []
