"""`feedmill feeds try` on real servers: what it finds at each step, what it warns of, and that it writes nothing."""

import base64
import gzip
import io
import json
import random
import threading

import asyncssh
import pytest

from db import engine
from feedmill import cli, contract
from feedmill.sftp_server import LocalSftpServer, OneUser
from tasks.catalogue import config, registry
from tasks.catalogue.trial import HEAD_BYTES
from tests.fakes.ftp_server import LocalFtpServer
from tests.mill import csv_text, row

USER, PASSWORD = "feeds", "correct horse battery"
ROWS = [row(number) for number in range(1, 151)]


@pytest.fixture
def feedmill(capsys, monkeypatch, database):
    monkeypatch.setenv("CREDENTIAL_ENCRYPTION_KEY_B64", base64.b64encode(bytes(range(32))).decode())

    def run(*arguments, typed="", as_json=True):
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        code = contract.run(cli.app, [*arguments, *(["--json"] if as_json else [])])
        said = capsys.readouterr()
        assert PASSWORD not in said.out + said.err
        return code, json.loads(said.out) if as_json else said.out, said.err

    return run


@pytest.fixture
def root(tmp_path):
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(csv_text(ROWS).encode()))
    return tmp_path


@pytest.fixture
def server(root):
    with LocalSftpServer(root, username=USER, password=PASSWORD) as running:
        yield running


@pytest.fixture
def on_file(feedmill):
    def add(url, *options, password=PASSWORD):
        arguments = ("feeds", "add", "northfork", "--retailer", "Northfork", "--url", url, "--password-stdin", *options)
        assert feedmill(*arguments, typed=password)[0] == 0

    return add


def pinned(server):
    return ("--host-key", server.host_key_fingerprint)


def steps(document):
    return {step["step"]: (step["ok"], step["said"]) for step in document["steps"]}


TABLES = (
    "feed_settings",
    "schedules",
    "sources",
    "ingestion_runs",
    "ingestion_jobs",
    "audit_events",
    "source_products",
)


def everything(conn):
    return {table: conn.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall() for table in TABLES}  # noqa: S608 - names


@pytest.mark.spec("002 12.5")
def test_trial_says_what_it_finds_at_each_step_and_writes_nothing(server, root, feedmill, on_file, conn):
    on_file(server.url("x.csv.gz"), *pinned(server))
    before = everything(conn)
    code, document, _ = feedmill("feeds", "try", "northfork")
    assert (code, document["success"], document["error"]) == (0, True, None)
    found = steps(document)
    assert list(found) == [
        *("host key", "login", "file", "size", "age", "gzip", "encoding", "delimiter", "columns", "rows"),
    ]  # fmt: skip
    assert all(is_ok for is_ok, _ in found.values())
    assert server.host_key_fingerprint in found["host key"][1]
    assert f"{(root / 'x.csv.gz').stat().st_size:,} bytes" in found["size"][1]
    assert found["gzip"][1] == "yes"
    assert document["format_detected"]["delimiter"] == ","
    assert everything(conn) == before


@pytest.mark.spec("002 12.5")
def test_trial_parses_a_hundred_rows_and_shows_ten(server, feedmill, on_file):
    on_file(server.url("x.csv.gz"), *pinned(server))
    _, document, _ = feedmill("feeds", "try", "northfork")
    assert (document["rows_detected"], len(document["sample_rows"])) == (100, 10)
    first = document["sample_rows"][0]
    shown = ("impact_item_id", "sku", "title", "price", "url")
    assert [first[name] for name in shown] == ["item-1", "sku-1", "Tent 1", "10.00", "https://shop.example/tent/1"]
    assert document["columns"]["mapped"]["title"] == ["Product_Name"]


@pytest.mark.spec("002 12.5")
def test_trial_tells_rejected_rows_and_columns_that_mean_nothing(server, root, feedmill, on_file):
    text = csv_text([row(1), row(2, price="free"), row(3, name="")])
    lines = [f"{line},{'Shade' if number == 0 else 'red'}" for number, line in enumerate(text.splitlines())]
    (root / "x.csv").write_text("\n".join(lines))
    on_file(server.url("x.csv"), *pinned(server))
    code, document, _ = feedmill("feeds", "try", "northfork")
    assert code == 0
    assert document["errors"] == [
        {"row_number": 3, "code": "INVALID_PRICE"},
        {"row_number": 4, "code": "MISSING_TITLE"},
    ]
    assert document["columns"]["unmapped"] == ["Shade"]


def test_trial_of_a_large_file_reads_its_beginning_only(server, root, feedmill, on_file):
    chance = random.Random(7)  # noqa: S311 - no secret
    long = [row(number, name=f"{chance.getrandbits(8000):x}") for number in range(1, 4000)]
    (root / "x.csv.gz").write_bytes(gzip.compress(csv_text(long).encode()))
    on_file(server.url("x.csv.gz"), *pinned(server))
    code, document, _ = feedmill("feeds", "try", "northfork")
    assert (code, document["rows_detected"]) == (0, 100)


@pytest.mark.parametrize(
    "name, rejected",
    [
        pytest.param('Rack 19" 7', [], id="an inch sign"),
        pytest.param('"Tent\nseven"', [], id="a newline in quotes"),
        pytest.param('"Tent" 7', [{"row_number": 8, "code": "MALFORMED_QUOTES"}], id="text behind a closing quote"),
        pytest.param('"Tent 7', [{"row_number": 8, "code": "MALFORMED_QUOTES"}], id="a quote that never closes"),
    ],
)
@pytest.mark.parametrize("rows", [pytest.param(150, id="whole"), pytest.param(60_000, id="in part")])
def test_trial_reads_the_first_hundred_rows_as_a_run_does(server, root, feedmill, on_file, name, rejected, rows):
    text = csv_text(row(number) for number in range(1, rows + 1))
    (root / "x.csv").write_text(text.replace("Tent 7,", f"{name},"))
    on_file(server.url("x.csv"), *pinned(server))
    code, document, _ = feedmill("feeds", "try", "northfork")
    assert (code, document["error"], document["rows_detected"]) == (0, None, 100)
    assert document["errors"] == rejected


@pytest.mark.parametrize(
    "cut, code",
    [
        pytest.param(lambda data: data[:-4], "FILE_STILL_UPLOADING", id="four bytes missing"),
        pytest.param(lambda data: data[: len(data) * 2 // 3], "FILE_STILL_UPLOADING", id="a third missing"),
        pytest.param(lambda data: data[:-8] + bytes(4) + data[-4:], "FILE_DAMAGED", id="a wrong sum"),
        pytest.param(lambda data: data + b"tail", "FILE_DAMAGED", id="something behind it"),
        pytest.param(lambda data: gzip.compress(bytes(30_000_000)), "FILE_SIZE_LIMIT_EXCEEDED", id="inflates too far"),
    ],
)
def test_trial_of_a_small_gzip_file_looks_whether_it_is_whole(server, root, feedmill, on_file, cut, code):
    (root / "x.csv.gz").write_bytes(cut((root / "x.csv.gz").read_bytes()))
    on_file(server.url("x.csv.gz"), *pinned(server), "--max-bytes", "1000000")
    exit_code, document, err = feedmill("feeds", "try", "northfork")
    assert (exit_code, document["error"]["code"], document["success"]) == (1, code, False)
    assert (document["steps"][-1]["step"], document["steps"][-1]["ok"]) == ("file", False)
    assert server.url("x.csv.gz").rpartition("@")[2] in err


def gzip_of(size):
    """A gzip file of exactly so many bytes."""
    text = csv_text(ROWS).encode().ljust(size, b"\n")
    too_many = len(gzip.compress(text, 0)) - size
    return gzip.compress(text[:-too_many], 0)


@pytest.mark.parametrize(
    "size, code",
    [
        pytest.param(HEAD_BYTES, 1, id="all of it is fetched"),
        pytest.param(HEAD_BYTES + 1, 0, id="one byte is not fetched"),
    ],
)
def test_trial_judges_the_end_of_a_gzip_file_if_it_has_it(server, root, feedmill, on_file, size, code):
    data = gzip_of(size + 4)
    assert len(data) == size + 4
    (root / "x.csv.gz").write_bytes(data[:-4])
    on_file(server.url("x.csv.gz"), *pinned(server))
    assert feedmill("feeds", "try", "northfork")[0] == code


def test_trial_for_people_is_a_table(server, feedmill, on_file):
    on_file(server.url("x.csv.gz"), *pinned(server))
    code, out, err = feedmill("feeds", "try", "northfork", as_json=False)
    assert (code, err) == (0, "")
    assert "host key" in out
    assert "Tent 10" in out
    assert "Tent 11" not in out


def test_trial_without_the_key_file_makes_none(server, feedmill, on_file, conn, monkeypatch, tmp_path):
    """As with the embedded database, whose key is a file."""
    on_file(server.url("x.csv.gz"), *pinned(server))
    monkeypatch.delenv("CREDENTIAL_ENCRYPTION_KEY_B64")
    monkeypatch.setattr("tasks.keyring.database_url", lambda: None)
    monkeypatch.setenv("FEEDMILL_HOME", str(tmp_path / "home"))
    code, document, err = feedmill("feeds", "try", "northfork")
    assert (code, document["error"]["code"], err.count("\n")) == (1, "CREDENTIAL_KEY_INVALID", 1)
    assert str(tmp_path / "home" / "credential.key") in err
    assert not (tmp_path / "home").exists()


def test_unknown_host_key_is_shown_and_not_trusted(server, feedmill, on_file, conn):
    on_file(server.url("x.csv.gz"))
    before = everything(conn)
    code, document, _ = feedmill("feeds", "try", "northfork")
    assert (code, document["success"], document["error"]["code"]) == (1, False, "HOST_KEY_UNKNOWN")
    assert server.host_key_fingerprint in document["error"]["message"]
    assert everything(conn) == before


def test_unknown_host_key_is_trusted_once_if_asked_for(server, feedmill, on_file, conn):
    on_file(server.url("x.csv.gz"))
    code, document, _ = feedmill("feeds", "try", "northfork", "--trust-host-key")
    assert (code, document["success"]) == (0, True)
    assert server.host_key_fingerprint in steps(document)["trust"][1]
    [feed] = conn.execute("SELECT host_key_fingerprint FROM affiliate_feeds").fetchall()
    assert feed["host_key_fingerprint"] == server.host_key_fingerprint
    [event] = conn.execute("SELECT fields FROM audit_events WHERE event_name = 'FEED_UPDATED'").fetchall()
    assert event["fields"]["changed_fields"] == ["host_key_fingerprint"]
    assert feedmill("feeds", "try", "northfork")[0] == 0


class Meanwhile(OneUser):
    """Somebody changes the feed while its server is looked at for the first time."""

    changes: list

    def connection_made(self, conn):
        super().connection_made(conn)
        if self.changes:
            changer = threading.Thread(target=change_feed, args=[self.changes.pop()])
            changer.start()
            changer.join()


def change_feed(changes):
    with engine.connect() as other:
        registry.change_feed(other, "northfork", changes, registry.Actor("colleague"))


@pytest.fixture
def changed_meanwhile(server):
    """What is given to it is changed once, while a trial is connected."""

    def change(**changes):
        server.login = type("Login", (Meanwhile,), {"changes": [changes]})

    return change


def test_key_pinned_meanwhile_is_not_overwritten(server, feedmill, on_file, conn, changed_meanwhile):
    on_file(server.url("x.csv.gz"))
    true = asyncssh.generate_private_key("ssh-ed25519").get_fingerprint()
    changed_meanwhile(host_key_fingerprint=true)
    code, document, err = feedmill("feeds", "try", "northfork", "--trust-host-key")
    assert (code, document["error"]["code"], err.count("\n")) == (1, "HOST_KEY_PINNED", 1)
    assert true in document["error"]["message"]
    assert server.host_key_fingerprint in document["error"]["message"]
    assert conn.execute("SELECT host_key_fingerprint AS key FROM affiliate_feeds").fetchone()["key"] == true


def test_same_key_pinned_meanwhile_is_taken(server, feedmill, on_file, conn, changed_meanwhile):
    on_file(server.url("x.csv.gz"))
    changed_meanwhile(host_key_fingerprint=server.host_key_fingerprint)
    assert feedmill("feeds", "try", "northfork", "--trust-host-key")[0] == 0
    assert conn.execute("SELECT config_version FROM feed_settings").fetchone()["config_version"] == 3


def test_key_is_not_pinned_for_an_address_that_changed_meanwhile(server, feedmill, on_file, conn, changed_meanwhile):
    on_file(server.url("x.csv.gz"))
    changed_meanwhile(address=config.parse_address("sftp://feeds@files.example.com/x.csv.gz"))
    code, document, _ = feedmill("feeds", "try", "northfork", "--trust-host-key")
    assert (code, document["error"]["code"]) == (1, "ADDRESS_CHANGED")
    assert conn.execute("SELECT host_key_fingerprint AS key FROM affiliate_feeds").fetchone()["key"] is None


def test_changed_host_key_is_never_trusted_by_a_trial(server, root, feedmill, on_file, conn):
    with LocalSftpServer(root, username=USER, password=PASSWORD) as other:
        old = other.host_key_fingerprint
    on_file(server.url("x.csv.gz"), "--host-key", old)
    code, document, _ = feedmill("feeds", "try", "northfork", "--trust-host-key")
    assert (code, document["error"]["code"]) == (1, "HOST_KEY_MISMATCH")
    assert old in document["error"]["message"]
    assert server.host_key_fingerprint in document["error"]["message"]
    assert conn.execute("SELECT host_key_fingerprint AS key FROM affiliate_feeds").fetchone()["key"] == old


@pytest.mark.parametrize(
    "name, password, code, step",
    [
        pytest.param("x.csv.gz", "wrong", "LOGIN_REFUSED", "connection", id="wrong password"),
        pytest.param("absent.csv", PASSWORD, "FILE_NOT_FOUND", "file", id="missing file"),
        pytest.param("empty.csv", PASSWORD, "EMPTY_FILE", "format", id="empty file"),
        pytest.param("prose.txt", PASSWORD, "PARSE_ERROR", "format", id="no table"),
        pytest.param("columns.csv", PASSWORD, "MISSING_COLUMNS", "format", id="columns missing"),
        pytest.param("bad.csv.gz", PASSWORD, "FILE_DAMAGED", "file", id="damaged gzip"),
        pytest.param("useless.csv", PASSWORD, "NO_USABLE_ROWS", "rows", id="no usable row"),
    ],
)
def test_trial_names_the_step_that_failed(server, root, feedmill, on_file, name, password, code, step):
    (root / "empty.csv").touch()
    (root / "prose.txt").write_text("hello\nworld\n")
    (root / "columns.csv").write_text("a,b\n1,2\n")
    (root / "bad.csv.gz").write_bytes(gzip.compress(b"")[:10] + b"\xff" * 50)
    (root / "useless.csv").write_text(csv_text([row(1, price="")]))
    on_file(server.url(name), *pinned(server), password=password)
    exit_code, document, err = feedmill("feeds", "try", "northfork")
    assert (exit_code, document["error"]["code"], document["success"]) == (1, code, False)
    assert document["steps"][-1]["step"] == step
    assert document["steps"][-1]["ok"] is False
    assert "KEY" not in err


NEEDS_SECRET = [pytest.param(["feeds", "try"], id="try"), pytest.param(["plan"], id="plan")]


@pytest.mark.parametrize("command", NEEDS_SECRET)
def test_hint_of_an_unreadable_secret_names_the_feed(server, feedmill, on_file, monkeypatch, command):
    on_file(server.url("x.csv.gz"), *pinned(server))
    monkeypatch.setenv("CREDENTIAL_ENCRYPTION_KEY_B64", base64.b64encode(bytes(32)).decode())
    code, document, err = feedmill(*command, "northfork")
    assert (code, document["error"]["code"]) == (1, "SECRET_UNREADABLE")
    assert "feedmill feeds set northfork --password-stdin" in document["error"]["hint"]
    assert "feedmill feeds set northfork --password-stdin" in err


@pytest.mark.parametrize("command", [*NEEDS_SECRET, pytest.param(["run"], id="run")])
def test_hint_of_a_missing_key_names_its_variable(server, feedmill, on_file, monkeypatch, command):
    on_file(server.url("x.csv.gz"), *pinned(server))
    monkeypatch.delenv("CREDENTIAL_ENCRYPTION_KEY_B64")
    _, document, _ = feedmill(*command, "northfork")
    assert "set CREDENTIAL_ENCRYPTION_KEY_B64 to" in document["error"]["hint"]


def test_trial_over_ftp_warns(root, feedmill, on_file, monkeypatch):
    monkeypatch.setenv("AFFILIATE_FEED_ALLOW_PLAIN_FTP", "true")
    with LocalFtpServer(root, username=USER, password=PASSWORD) as server:
        on_file(server.url("x.csv.gz"), "--i-understand-ftp-is-insecure")
        code, document, _ = feedmill("feeds", "try", "northfork")
        assert (code, document["rows_detected"]) == (0, 100)
        assert any("clear text" in warning for warning in document["warnings"])
        monkeypatch.setenv("AFFILIATE_FEED_ALLOW_PLAIN_FTP", "false")
        code, document, _ = feedmill("feeds", "try", "northfork")
        assert (code, document["error"]["code"]) == (1, "PLAIN_FTP_NOT_ALLOWED")


def test_trial_of_a_removed_feed_is_refused(server, feedmill, on_file):
    on_file(server.url("x.csv.gz"), *pinned(server))
    feedmill("feeds", "remove", "northfork")
    code, document, _ = feedmill("feeds", "try", "northfork")
    assert (code, document["error"]["code"]) == (1, "FEED_REMOVED")
