"""`feedmill run`, `runs`, `run-show`, `errors`, `offers` and `prices` through the real command line."""

import asyncio
import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from prefect import get_client
from prefect.logging.handlers import PrefectConsoleHandler

from db import engine, runs
from db.clock import iso
from feedmill import cli, contract
from feedmill.prefect_api import prefect_api
from feedmill.sftp_server import LocalSftpServer, ReadOnlyFiles
from tests.mill import after, csv_text, deliver, row

ROOT = Path(__file__).parents[2]
PASSWORD = "correct: horse@battery"
DEADLINE_SECONDS = 120
RUN = """
    id feed_id source_id trigger status started_at finished_at duration_ms download_bytes rows_read rows_parsed
    products_upserted products_expired products_rejected prices_written error_count duplicate_key_count
    url_hash_fallback_count active_count_before seen_success_count would_expire_count is_partial expiry_step_failed
    skipped_reason expiry_blocked expiry_blocked_reason expiry_approved_at expiry_approved_by artifact_url
    error_code error_message error_class rejected_by_code blocked_reasons
    products_created products_changed products_unchanged products_returned products_vanished
"""
OFFER = """
    source_product_id feed_key retailer identity_type identity_value impact_item_id sku upc title brand category url
    tracking_url image_url price original_price currency in_stock last_seen_at last_seen_success_at priced_at
"""
PRICE = "price original_price currency in_stock observed_at run_id promoted reason"


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def document(self):
        return json.loads(self.out)

    @property
    def line(self):
        """The one line on standard error, beside what is told of further attempts."""
        lines = [line for line in self.err.splitlines() if "; trying again (" not in line]
        assert len(lines) == 1, self.err
        assert re.fullmatch(r"feedmill: \S.+", lines[0]), self.err
        assert "Traceback" not in self.out + self.err
        return lines[0]


@pytest.fixture
def feedmill(prefect_session, capsys, monkeypatch):
    """Runs the command line on the database and the Prefect server of the test."""
    for handler in logging.getLogger("prefect").handlers:
        if isinstance(handler, PrefectConsoleHandler):
            monkeypatch.setattr(handler, "level", logging.CRITICAL)  # as `feedmill.cli.main` sets it

    def run(*arguments):
        capsys.readouterr()
        code = contract.run(cli.app, [str(argument) for argument in arguments])
        said = Said(code, *capsys.readouterr())
        assert PASSWORD not in said.out + said.err
        return said

    return run


def at(hours):
    return ("--at", iso(after(hours)))


def test_prefect_api_is_the_sessions(prefect_session):
    with prefect_api() as url:
        assert url == prefect_session == os.environ["PREFECT_API_URL"]


def test_run_prints_the_record(feedmill, mill):
    mill.deliver(row(1), row(2), row(2), row(3, name=""))
    said = feedmill("run", mill.key, *at(1), "--json")
    assert (said.code, said.err) == (0, "")
    assert set(RUN.split()) <= set(said.document)
    expected = {
        "status": "SUCCEEDED", "trigger": "MANUAL", "rows_read": 4, "products_upserted": 2, "products_created": 2,
        "duplicate_key_count": 1, "products_rejected": 1, "rejected_by_code": {"MISSING_TITLE": 1},
        "prices_written": 2, "error_code": None, "blocked_reasons": [], "skipped_reason": None,
        "started_at": "2026-03-02T13:00:00Z", "finished_at": "2026-03-02T13:00:00Z",
    }  # fmt: skip
    assert {name: said.document[name] for name in expected} == expected
    assert said.document["id"] == str(mill.newest_run()["id"])


def test_run_tells_people_what_it_did(feedmill, mill):
    mill.deliver(row(1), row(2), row(2), row(3, name=""))
    said = feedmill("run", mill.key, *at(1))
    assert (said.code, said.err) == (0, "")
    for words in ("SUCCEEDED", "4 read = 2 products + 1 rejected + 1 duplicate", "2 created", "MISSING_TITLE 1"):
        assert words in said.out


def test_run_of_an_unchanged_file_is_done_and_says_why(feedmill, mill):
    mill.deliver(row(1))
    feedmill("run", mill.key, *at(1))
    said = feedmill("run", mill.key, *at(2), "--json")
    assert (said.code, said.document["status"], said.document["skipped_reason"]) == (0, "SUCCEEDED", "UNCHANGED_MTIME")
    assert "UNCHANGED_MTIME" in feedmill("run", mill.key, *at(3)).out
    assert feedmill("run", mill.key, *at(4), "--force", "--json").document["skipped_reason"] is None


@pytest.mark.spec("002 8.2")
def test_run_that_is_blocked_exits_with_its_own_code_and_says_how_to_go_on(feedmill, mill):
    mill.deliver(*[row(number) for number in range(1, 31)])
    feedmill("run", mill.key, *at(1))
    mill.deliver(row(1))
    said = feedmill("run", mill.key, *at(2), "--json")
    assert (said.code, said.err) == (3, "")
    assert (said.document["status"], said.document["expiry_blocked_reason"]) == (
        "SUCCEEDED",
        "SPIKE_THRESHOLD_EXCEEDED",
    )
    mill.deliver(row(2))
    said = feedmill("run", mill.key, *at(3))
    assert said.code == 3
    for words in (
        "SUCCEEDED, not promoted (SPIKE_THRESHOLD_EXCEEDED)",
        "30 on it, 29 of them would go",
        "feedmill approve",
    ):
        assert words in said.out


@pytest.mark.spec("002 8.2")
def test_run_whose_phase_two_failed_exits_like_a_blocked_one(feedmill, mill):
    mill.deliver(row(1))
    mill.conn.execute("ALTER TABLE promotions ADD CONSTRAINT no CHECK (seq < 1)")
    said = feedmill("run", mill.key, *at(1), "--json")
    assert (said.code, said.document["status"], said.document["expiry_step_failed"]) == (3, "SUCCEEDED", True)


@contextmanager
def sftp(root, served=ReadOnlyFiles):
    server = LocalSftpServer(root, username="feeds", password=PASSWORD)
    server.files = served
    with server:
        yield server


def put_on_file(drawer, server, name="x.csv", password=PASSWORD):
    key = server.host_key_fingerprint
    return drawer.put_on_file(server.url(name), password=password, host_key_fingerprint=key)


def failed(said, code, words):
    """A run that failed: its record on standard output, one line on standard error."""
    assert said.code == 1
    assert (said.document["status"], said.document["error_code"]) == ("FAILED", code)
    assert said.document["error_message"] in said.line
    assert re.search(words, said.line), said.line


def test_wrong_password_is_told_in_one_line(feedmill, drawer, tmp_path):
    with sftp(tmp_path) as server:
        put_on_file(drawer, server, password="wr0ng-passw0rd")
        said = feedmill("run", drawer.key, *at(1), "--json")
    failed(said, "LOGIN_REFUSED", rf"refused by sftp://127.0.0.1:\d+/x.csv \(set .+ feeds set {drawer.key} --password-")
    assert "wr0ng-passw0rd" not in said.out + said.err


def test_host_that_does_not_answer_is_told_in_one_line(feedmill, drawer):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    drawer.put_on_file(f"sftp://feeds@127.0.0.1:{port}/x.csv", password=PASSWORD)
    said = feedmill("run", drawer.key, *at(1), "--json")
    failed(said, "HOST_UNREACHABLE", f"nothing listens at sftp://127.0.0.1:{port}/x.csv")
    assert said.err.count("; trying again (") == 2


def test_missing_file_is_told_in_one_line(feedmill, drawer, tmp_path):
    with sftp(tmp_path) as server:
        put_on_file(drawer, server, "absent.csv")
        said = feedmill("run", drawer.key, *at(1), "--json")
    failed(said, "FILE_NOT_FOUND", f"no file at .+/absent.csv .+ feeds show {drawer.key}")


def test_unreadable_file_is_told_in_one_line(feedmill, mill):
    deliver(mill.path, bytes(range(256)))
    failed(feedmill("run", mill.key, *at(1), "--json"), "PARSE_ERROR", "control characters")
    assert "PARSE_ERROR" in feedmill("run", mill.key, *at(2)).out


def test_debug_is_taken_by_a_run(feedmill, mill):
    mill.deliver(row(1))
    assert feedmill("run", mill.key, *at(1), "--debug").code == 0


@pytest.mark.parametrize(
    "arguments, code",
    [
        pytest.param(("run", "nobody"), "UNKNOWN_FEED", id="run of an unknown feed"),
        pytest.param(("runs", "nobody"), "UNKNOWN_FEED", id="runs of an unknown feed"),
        pytest.param(("offers", "nobody"), "UNKNOWN_FEED", id="offers of an unknown feed"),
        pytest.param(("prices", "nobody", "item:1"), "UNKNOWN_FEED", id="prices of an unknown feed"),
        pytest.param(("run-show", "nothing"), "RUN_NOT_FOUND", id="a run that is no id"),
        pytest.param(
            ("errors", "00000000-0000-7000-8000-000000000000"), "RUN_NOT_FOUND", id="errors of an unknown run"
        ),
        pytest.param(("diff", "nothing"), "RUN_NOT_FOUND", id="changes of a run that is no id"),
        pytest.param(("replay", "nothing"), "RUN_NOT_FOUND", id="replay of a run that is no id"),
        pytest.param(("approve", "nothing", "--by", "ann"), "RUN_NOT_FOUND", id="approval of a run that is no id"),
        pytest.param(("runs", ""), "UNKNOWN_FEED", id="runs of an empty key"),
        pytest.param(("offers", ""), "UNKNOWN_FEED", id="offers of an empty key"),
        pytest.param(("runs", "--tenant", "nosuch"), "UNKNOWN_TENANT", id="runs of an unknown tenant"),
        pytest.param(("offers", "--tenant", "nosuch"), "UNKNOWN_TENANT", id="offers of an unknown tenant"),
        pytest.param(("run", "northfork", "--at", "yesterday"), "BAD_TIME", id="a bad time"),
        pytest.param(("run", "northfork", *at(-1)), "AT_TOO_EARLY", id="a time before the last stamp"),
        pytest.param(("offers", "--at", "yesterday"), "BAD_TIME", id="offers at a bad time"),
        pytest.param(("offers", "--limit", "0"), "USAGE", id="no offers at all"),
        pytest.param(("offers", "--limit", "9" * 20), "USAGE", id="more offers than can be counted"),
        pytest.param(("offers", "--after", "9" * 20), "USAGE", id="offers after an id that cannot be"),
        pytest.param(("runs", "--limit", "9" * 20), "USAGE", id="more runs than can be counted"),
        pytest.param(("plan", "northfork", "--sample", "9" * 20), "USAGE", id="a sample beyond counting"),
        pytest.param(("cleanup", "--at", "0001-01-01T00:00:00Z"), "BAD_TIME", id="a clean-up before all times"),
        pytest.param(("run",), "USAGE", id="run of nothing"),
    ],
)
def test_bad_request_is_told_in_one_line(feedmill, mill, arguments, code):
    said = feedmill(*arguments, "--json")
    assert (said.code, said.document["error"]["code"]) == (2, code)
    assert said.document["error"]["message"] in said.line
    assert mill.runs() == []


def test_future_needs_the_test_clock(feedmill, mill, monkeypatch):
    monkeypatch.delenv("FEEDMILL_TEST_CLOCK")
    for command in (("run", mill.key), ("offers", mill.key)):
        said = feedmill(*command, "--at", "2999-01-01T00:00:00Z", "--json")
        assert (said.code, said.document["error"]["code"]) == (2, "AT_IN_FUTURE")


@pytest.mark.parametrize("status, way", [("DRAFT", "enable"), ("PAUSED", "resume"), ("DISABLED", "reenable")])
def test_feed_that_is_not_enabled_is_refused_with_the_way_back(feedmill, mill, status, way):
    mill.conn.execute("UPDATE schedules SET status = %s", [status])
    said = feedmill("run", mill.key, *at(1), "--json")
    assert (said.code, said.document["error"]["code"]) == (2, "FEED_NOT_ENABLED")
    assert f"feedmill feeds {way} {mill.key}" in said.line
    assert (mill.runs(), mill.jobs()) == ([], [])


def test_busy_feed_is_refused(feedmill, mill, database):
    mill.deliver(row(1))
    with engine.open_connection(database) as other:
        other.execute("SELECT pg_advisory_lock(%s)", [mill.lock_id()])
        said = feedmill("run", mill.key, *at(1), "--json")
    assert (said.code, said.document["error"]["code"]) == (75, "FEED_BUSY")
    assert mill.key in said.line
    assert (mill.runs(), mill.jobs()) == ([], [])


def test_runs_lists_the_newest_first(feedmill, mill):
    mill.deliver(row(1))
    for hour in (1, 2, 3):
        mill.run(at=after(hour))
    said = feedmill("runs", mill.key, "--json")
    assert (said.code, said.err) == (0, "")
    assert [run["started_at"] for run in said.document] == [iso(after(hour)) for hour in (3, 2, 1)]
    assert set(RUN.split()) <= set(said.document[0])
    assert len(feedmill("runs", "--limit", "2", "--json").document) == 2
    table = feedmill("runs", mill.key).out
    assert (table.count("UNCHANGED_MTIME"), table.count(mill.key)) == (2, 3)


def test_list_and_show_of_a_feed_tell_how_its_last_run_ended(feedmill, mill):
    assert feedmill("feeds", "show", mill.key, "--json").document["last_run_status"] is None
    mill.fail(at=after(1))
    mill.deliver(row(1))
    mill.run(at=after(2))
    shown, [listed] = (feedmill("feeds", *words, "--json").document for words in (("show", mill.key), ("list",)))
    assert shown["last_run_status"] == listed["last_run_status"] == "SUCCEEDED"


def test_runs_of_nothing_say_what_to_do(feedmill, mill):
    assert feedmill("runs", "--json").document == []
    assert "feedmill run KEY" in feedmill("runs").out


def test_run_show_and_errors_of_a_run(feedmill, mill):
    mill.deliver(row(1), row(2, price="free"), row(1, price="5.00"))
    record = mill.run(at=after(1))
    shown = feedmill("run-show", record["id"], "--json")
    assert (shown.code, shown.document["id"], shown.document["rows_read"]) == (0, str(record["id"]), 3)
    assert "INVALID_PRICE 1" in feedmill("run-show", record["id"]).out
    errors = feedmill("errors", record["id"], "--json")
    assert [(error["code"], error["row_number"]) for error in errors.document] == [
        ("DUPLICATE_ROW_SAME_IDENTITY", 2),
        ("INVALID_PRICE", 3),
    ]
    assert "free" in errors.document[1]["raw_row"]
    assert "INVALID_PRICE" in feedmill("errors", record["id"]).out


def test_run_show_of_a_failed_run(feedmill, mill):
    record = mill.fail(at=after(1))
    assert feedmill("run-show", record["id"], "--json").document["error_code"] == "FILE_NOT_FOUND"
    shown = feedmill("run-show", record["id"])
    assert (shown.code, "FAILED (FILE_NOT_FOUND)" in shown.out) == (0, True)
    assert "No row was rejected" in feedmill("errors", record["id"]).out


def test_offers_are_documents_in_order_of_their_ids(feedmill, mill):
    mill.deliver(row(2, price="15.99", original="18.99"), row(1))
    mill.run(at=after(1))
    said = feedmill("offers", mill.key, *at(2), "--json")
    assert (said.code, said.err) == (0, "")
    first, second = said.document
    assert list(first) == OFFER.split()
    assert first["source_product_id"] < second["source_product_id"]
    expected = {"price": "15.99", "original_price": "18.99", "in_stock": True, "priced_at": "2026-03-02T13:00:00Z"}
    assert {name: first[name] for name in expected} == expected
    assert "2 offers" in feedmill("offers", mill.key, *at(2)).out
    assert "No offers" in feedmill("offers", mill.key, *at(100)).out


def test_offers_come_page_by_page(feedmill, mill):
    mill.deliver(*[row(number) for number in range(1, 6)])
    mill.run(at=after(1))
    whole = [offer["source_product_id"] for offer in feedmill("offers", mill.key, *at(1), "--json").document]
    pages, last = [], 0
    while page := feedmill("offers", mill.key, *at(1), "--limit", 2, "--after", last, "--json").document:
        pages.append([offer["source_product_id"] for offer in page])
        last = pages[-1][-1]
    assert [len(page) for page in pages] == [2, 2, 1]
    assert [offer for page in pages for offer in page] == whole


def test_offers_of_the_past_are_what_was_shown_then(feedmill, mill):
    mill.deliver(row(1), row(2))
    mill.run(at=after(1))
    mill.deliver(row(1, price="5.00"), row(3))
    mill.run(at=after(2))

    def shown(hours):
        document = feedmill("offers", mill.key, *at(hours), "--json").document
        return {offer["identity_value"]: offer["price"] for offer in document}

    assert shown(0.5) == {}
    assert shown(1) == shown(1.99) == {"item-1": "10.00", "item-2": "20.00"}
    assert shown(2) == {"item-1": "5.00", "item-2": "20.00", "item-3": "30.00"}
    assert shown(49.5) == {"item-1": "5.00", "item-3": "30.00"}


def test_offers_of_all_feeds_are_those_of_the_tenant(feedmill, mill):
    other = mill.another("other")
    mill.deliver(row(1))
    mill.run(at=after(1))
    other.run(at=after(1))
    keys = [offer["feed_key"] for offer in feedmill("offers", *at(1), "--json").document]
    assert keys == [mill.key, other.key]
    mill.conn.execute("INSERT INTO tenants (id, name, created_at) VALUES ('another', 'A', now())")
    assert feedmill("offers", *at(1), "--tenant", "another", "--json").document == []


@pytest.fixture
def history(mill):
    """Two prices of one product; `x` is the item id of one product and the SKU of another."""
    mill.deliver(row(1), row(2, item="x"), row(3, item="", sku="x"), row(4, item="", sku=""))
    mill.run(at=after(1))
    mill.deliver(row(1, price="15.99", original="18.99", stock="N"), row(2, item="x"))
    mill.run(at=after(2))
    return mill


def test_prices_are_the_history_of_a_product(feedmill, history):
    said = feedmill("prices", history.key, "item:item-1", "--json")
    assert (said.code, said.err) == (0, "")
    run_ids = [str(run["id"]) for run in history.runs()]
    assert [list(price) for price in said.document] == [PRICE.split()] * 2
    assert [tuple(price.values()) for price in said.document] == [
        ("10.00", None, "USD", True, "2026-03-02T13:00:00Z", run_ids[1], True, "new"),
        ("15.99", "18.99", "USD", False, "2026-03-02T14:00:00Z", run_ids[0], True, "changed"),
    ]
    assert feedmill("prices", history.key, "item-1", "--json").document == said.document  # a bare value
    assert "15.99 USD" in feedmill("prices", history.key, "item-1").out


def test_prices_by_sku_and_by_the_hash_of_an_address(feedmill, history):
    assert [price["price"] for price in feedmill("prices", history.key, "sku:x", "--json").document] == ["30.00"]
    assert [price["price"] for price in feedmill("prices", history.key, "item:x", "--json").document] == ["20.00"]
    [offer] = [offer for offer in history.offers(after(2)).values() if offer["identity_type"] == "URL_HASH"]
    said = feedmill("prices", history.key, f"url:{offer['identity_value']}", "--json")
    assert [price["price"] for price in said.document] == ["40.00"]


def test_prices_of_what_is_not_one_product_are_refused(feedmill, history):
    refusals = {
        "x": "AMBIGUOUS_PRODUCT",
        "nothing": "UNKNOWN_PRODUCT",
        "sku:item-1": "UNKNOWN_PRODUCT",
        "item:": "UNKNOWN_PRODUCT",
    }
    for identity, code in refusals.items():
        said = feedmill("prices", history.key, identity, "--json")
        assert (said.code, said.document["error"]["code"]) == (2, code)
        assert "item:X, sku:X or url:HASH" in said.line


def test_password_stays_inside(feedmill, drawer, tmp_path, caplog):
    """Neither in what is printed, nor in the database, nor in what Prefect stores and logs."""
    deliver(tmp_path / "x.csv", [row(1)])
    with sftp(tmp_path) as server:
        put_on_file(drawer, server)
        assert feedmill("run", drawer.key, *at(1)).code == 0
        (tmp_path / "x.csv").unlink()
        assert feedmill("run", drawer.key, *at(2), "--debug").code == 1
    assert PASSWORD not in caplog.text
    tables = "SELECT relname FROM pg_class WHERE relkind = 'r' AND pg_table_is_visible(oid) AND relname !~ '^pg_'"
    for table in drawer.conn.execute(tables).fetchall():
        assert PASSWORD not in str(drawer.contents(table["relname"])), table
    with get_client(sync_client=True) as client:
        stored = [*client.read_flow_runs(), *client.read_task_runs(), *client.read_logs(), *client.read_artifacts()]
    assert PASSWORD not in "".join(one.model_dump_json() for one in stored)


class Gate:
    """Whether the server may deliver, and whether somebody waits for it."""

    def __init__(self):
        self.is_open = False
        self.waited_for = threading.Event()


@pytest.fixture
def stalled(drawer, tmp_path):
    """A feed whose server answers everything but reads, until its gate is opened."""
    gate = Gate()

    class Stalling(ReadOnlyFiles):
        async def read(self, file_obj, offset, size):
            gate.waited_for.set()
            while not gate.is_open:
                await asyncio.sleep(0.05)
            return super().read(file_obj, offset, size)

    root = tmp_path / "sftp"
    root.mkdir()
    deliver(root / "x.csv", csv_text([row(1), row(2)]))
    with sftp(root, Stalling) as server:
        yield put_on_file(drawer, server), gate


@pytest.fixture
def command(prefect_session, tmp_path):
    """Starts `feedmill` as a shell does, in a process group of its own."""
    (tmp_path / "tmp").mkdir()

    @contextmanager
    def start(*arguments):
        with subprocess.Popen(
            [sys.executable, "-m", "feedmill", *arguments],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    return start


def ended(process):
    out, err = process.communicate(timeout=DEADLINE_SECONDS)
    assert PASSWORD not in out + err
    return Said(process.returncode, out, err)


def lock_is_free(mill):
    return not runs.lock_is_held(mill.conn, mill.lock_id())


def test_ctrl_c_ends_a_run_that_kept_others_out(stalled, command, tmp_path):
    mill, gate = stalled
    mill.conn.execute("UPDATE schedules SET consecutive_failures = 1")
    with command("run", mill.key, "--json") as process:
        assert gate.waited_for.wait(DEADLINE_SECONDS)
        assert mill.newest_run()["status"] == "RUNNING"
        with command("run", mill.key, "--json") as second:
            busy = ended(second)
        assert (busy.code, busy.document["error"]["code"], len(mill.runs())) == (75, "FEED_BUSY", 1)
        assert mill.key in busy.line
        os.killpg(process.pid, signal.SIGINT)
        said = ended(process)
    failed(said, "CANCELED_BY_OPERATOR", "stopped by an operator")
    assert lock_is_free(mill)
    [record] = mill.runs()
    assert (record["status"], record["error_code"]) == ("FAILED", "CANCELED_BY_OPERATOR")
    assert mill.feed()["consecutive_failures"] == 1
    assert [job["status"] for job in mill.jobs()] == ["canceled"]
    assert list((tmp_path / "tmp").iterdir()) == []


def test_kill_leaves_a_record_that_the_next_run_closes(stalled, command, feedmill):
    mill, gate = stalled
    with command("run", mill.key) as process:
        assert gate.waited_for.wait(DEADLINE_SECONDS)
        process.kill()
        process.wait(DEADLINE_SECONDS)
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not lock_is_free(mill):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert mill.newest_run()["status"] == "RUNNING"
    gate.is_open = True
    said = feedmill("run", mill.key, "--json")
    assert (said.code, said.document["status"], said.document["rows_read"]) == (0, "SUCCEEDED", 2)
    newest, lost = mill.runs()
    assert (lost["status"], lost["error_code"]) == ("FAILED", "WORKER_LOST")
    [job] = mill.jobs()
    assert (job["status"], job["attempt"], job["run_id"]) == ("success", 2, newest["id"])
    assert mill.feed()["consecutive_failures"] == 0
