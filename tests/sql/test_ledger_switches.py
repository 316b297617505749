"""A feed's switches, requests and ticks through the real command line: what each does to its schedule and its jobs."""

import getpass
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from db.clock import iso
from db.engine import Connection
from feedmill import cli, contract
from tests.builders import insert
from tests.toy import Toys

START = datetime(2020, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
NOTHING = {"reaped": 0, "claimed": 0, "submitted": 0, "finished": 0}
TO = {"enable": "ENABLED", "pause": "PAUSED", "resume": "ENABLED", "reenable": "ENABLED"}


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def document(self):
        return json.loads(self.out)

    @property
    def error(self):
        return self.document["error"]["code"]


@dataclass
class Desk:
    """The command line, with every command one hour after the last."""

    conn: Connection
    capsys: pytest.CaptureFixture
    hour: int = -1

    def __call__(self, *words):
        self.hour += 1
        code = contract.run(cli.app, (*words, "--json", "--at", iso(self.now)))
        return Said(code, *self.capsys.readouterr())

    @property
    def now(self):
        return START + self.hour * HOUR

    def feed(self, key="northfork"):
        return self.conn.execute("SELECT * FROM affiliate_feeds WHERE feed_key = %s", [key]).fetchone()

    def jobs(self):
        return self.conn.execute("SELECT * FROM ingestion_jobs ORDER BY slot").fetchall()

    def events(self, *names):
        rows = self.conn.execute("SELECT * FROM audit_events ORDER BY id").fetchall()
        return [row for row in rows if row["event_name"] in names]

    def put(self, status, **columns):
        """The feed in a status, as its history left it."""
        times = {} if status in {"DRAFT", "ENABLED"} else {"next_run_at": None}
        values = {"status": status, **times, **columns}
        assignments = ", ".join(f"{name} = %({name})s" for name in values)
        self.conn.execute(f"UPDATE schedules SET {assignments}", values)  # noqa: S608 - names above


@pytest.fixture
def desk(conn, capsys):
    return Desk(conn, capsys)


@pytest.fixture
def feeds(desk):
    """`feedmill feeds …` with the feed northfork on file, a draft that runs every six hours."""
    add(desk, "--every", "6")
    return lambda *words: desk("feeds", *words)


def add(desk, *options, key="northfork"):
    said = desk("feeds", "add", key, "--retailer", "Northfork", "--url", "file:///no/such/file.csv", *options)
    assert said.code == 0, said
    return said


@pytest.mark.spec("002 5.3", "002 5.2")
@pytest.mark.parametrize(
    ("options", "due"),
    [
        pytest.param(["--every", "6"], 6, id="a draft with a frequency"),
        pytest.param(["--every", "6", "--enable"], 6, id="enabled at once"),
        pytest.param([], None, id="without a frequency"),
        pytest.param(["--enable"], None, id="enabled, on request only"),
    ],
)
def test_add_sets_the_next_run(desk, options, due):
    add(desk, *options)
    assert desk.feed()["next_run_at"] == (due and START + due * HOUR)


@pytest.mark.spec("002 5.3", "002 11.2")
@pytest.mark.parametrize(
    ("before", "words"),
    [
        pytest.param("DRAFT", ["enable"], id="a draft is enabled"),
        pytest.param("PAUSED", ["resume"], id="a paused feed is resumed"),
        pytest.param("DISABLED", ["reenable", "--acknowledge"], id="a disabled feed is enabled again"),
    ],
)
def test_a_feed_that_may_run_again_does_so_an_interval_later(desk, feeds, before, words):
    desk.put(before, consecutive_failures=3)
    said = feeds(words[0], "northfork", *words[1:])
    assert said.code == 0, said
    feed = desk.feed()
    assert (feed["status"], feed["next_run_at"]) == ("ENABLED", desk.now + 6 * HOUR)
    assert feed["consecutive_failures"] == 0
    assert said.document["next_run_at"] == iso(feed["next_run_at"])
    [event] = desk.events("FEED_STATUS_CHANGED")
    assert (event["actor"], event["occurred_at"], event["level"]) == (getpass.getuser(), desk.now, "INFO")
    assert event["fields"] == {
        "feed_id": feed["id"], "old_status": before, "new_status": "ENABLED", "reason": words[0],
    }  # fmt: skip


@pytest.mark.spec("002 5.3")
def test_a_feed_without_a_frequency_has_no_next_run_when_enabled(desk):
    add(desk)
    assert desk("feeds", "enable", "northfork").document["next_run_at"] is None


@pytest.mark.spec("002 5.3", "002 11.2")
def test_pause_clears_the_next_run_and_cancels_what_waits(desk, feeds):
    feeds("enable", "northfork")
    desk.put("ENABLED", next_run_at=START)
    job = insert(desk.conn, "ingestion_jobs", key="northfork", slot=START)
    assert feeds("pause", "northfork").code == 0
    assert (desk.feed()["status"], desk.feed()["next_run_at"]) == ("PAUSED", None)
    [canceled] = desk.jobs()
    assert (canceled["id"], canceled["status"], canceled["error_code"]) == (job["id"], "canceled", "FEED_PAUSED")
    assert [event["job_id"] for event in desk.events("job.canceled")] == [job["id"]]
    assert desk.events("FEED_STATUS_CHANGED")[-1]["fields"]["new_status"] == "PAUSED"


@pytest.mark.spec("002 5.3")
def test_pause_leaves_the_run_under_way(desk, feeds):
    feeds("enable", "northfork")
    job = insert(desk.conn, "ingestion_jobs", key="northfork", status="running", started_at=START)
    feeds("pause", "northfork")
    assert desk.jobs() == [job]


@pytest.mark.spec("002 5.3", "002 11.1")
def test_the_third_failure_clears_the_next_run(desk, conn):
    toys = Toys(conn)
    key = toys.key(consecutive_failures=2)
    toys.fail(key)
    assert (toys.schedule(key)["status"], toys.schedule(key)["next_run_at"]) == ("DISABLED", None)


@pytest.mark.spec("002 5.3")
@pytest.mark.parametrize(
    ("status", "every", "due"),
    [
        pytest.param("ENABLED", "12", 12, id="of an enabled feed"),
        pytest.param("DRAFT", "1", 1, id="of a draft"),
        pytest.param("ENABLED", "never", None, id="to none"),
        pytest.param("PAUSED", "12", None, id="of a paused feed"),
        pytest.param("DISABLED", "12", None, id="of a disabled feed"),
    ],
)
def test_a_change_of_frequency_sets_the_next_run(desk, feeds, status, every, due):
    desk.put(status)
    assert feeds("set", "northfork", "--every", every).code == 0
    assert desk.feed()["next_run_at"] == (due and desk.now + due * HOUR)
    assert desk.feed()["status"] == status


@pytest.mark.spec("002 5.3")
def test_other_changes_leave_the_next_run(desk, feeds):
    feeds("set", "northfork", "--expiry-hours", "72")
    feeds("set", "northfork", "--every", "6")
    assert desk.feed()["next_run_at"] == START + 6 * HOUR


@pytest.mark.spec("002 5.3", "002 6.5", "002 5.4")
def test_request_leaves_the_next_run_and_is_pending_until_it_is_queued(desk, feeds):
    feeds("enable", "northfork")
    due = desk.feed()["next_run_at"]
    said = desk("request", "northfork")
    assert said.document == {"key": "northfork", "requested_at": iso(desk.now)}
    assert (desk.feed()["next_run_at"], desk.feed()["manual_run_pending"]) == (due, True)
    assert desk.jobs() == []
    [event] = desk.events("MANUAL_RUN_REQUESTED")
    assert (event["actor"], event["occurred_at"]) == (getpass.getuser(), desk.now)


@pytest.mark.spec("002 5.3")
def test_a_claim_moves_the_next_run_by_an_interval_and_not_from_now(desk, feeds):
    """The design has slots where the seed has now() + frequency, which drifts by a tick a run."""
    from tasks import ledger  # noqa: PLC0415 - claimed without being handed out

    feeds("enable", "northfork")
    due = desk.feed()["next_run_at"]
    assert ledger.claim_due(desk.conn, now=due + HOUR / 60) == 1
    assert desk.feed()["next_run_at"] == due + 6 * HOUR
    assert desk.jobs()[0]["slot"] == due


def turned(feeds, switch, key="northfork"):
    return feeds(switch, key, *(["--acknowledge"] if switch == "reenable" else []))


@pytest.mark.spec("002 11.2")
def test_a_second_click_changes_nothing(desk, feeds):
    for switch, status in TO.items():
        desk.put(status)
        before = desk.feed()
        assert turned(feeds, switch).code == 0
        assert desk.feed() == before
    assert desk.events("FEED_STATUS_CHANGED") == []


@pytest.mark.spec("002 11.2")
@pytest.mark.parametrize(
    ("status", "way"), [("DRAFT", "enable"), ("PAUSED", "resume"), ("DISABLED", "reenable")], ids=str.lower
)
def test_a_switch_from_another_status_is_refused_with_the_way(desk, feeds, status, way):
    desk.put(status)
    before = desk.feed()
    for switch in TO.keys() - {way, "pause" if status == "PAUSED" else way}:
        said = turned(feeds, switch)
        assert (said.code, said.error) == (1, "WRONG_STATUS")
        assert f"feedmill feeds {way} northfork" in said.document["error"]["hint"]
        assert desk.feed() == before


def test_a_removed_feed_has_no_switches(desk, feeds):
    feeds("remove", "northfork")
    assert {(said.code, said.error) for said in (turned(feeds, switch) for switch in TO)} == {(1, "FEED_REMOVED")}


def test_a_switch_of_an_unknown_feed_is_wrong_usage(feeds):
    said = [turned(feeds, switch, "nobody") for switch in TO]
    assert {(one.code, one.error) for one in said} == {(2, "UNKNOWN_FEED")}


@pytest.mark.spec("002 11.2", "002 11.3")
def test_reenable_asks_for_an_acknowledgement(desk, feeds):
    desk.put("DISABLED", consecutive_failures=3)
    before = desk.feed()
    said = feeds("reenable", "northfork")
    assert (said.code, said.error) == (2, "NOT_ACKNOWLEDGED")
    assert "disabled due to repeated failures" in said.document["error"]["message"]
    assert "--acknowledge" in said.document["error"]["hint"]
    assert desk.feed() == before


@pytest.mark.spec("002 5.4", "002 5.1")
@pytest.mark.parametrize("status", ["DRAFT", "PAUSED", "DISABLED", "REMOVED"])
def test_request_is_for_enabled_feeds(desk, feeds, status):
    desk.put(status)
    said = desk("request", "northfork")
    assert (said.code, said.error) == (2, "FEED_NOT_ENABLED")
    assert desk.feed()["manual_run_pending"] is False
    assert desk.events("MANUAL_RUN_REQUESTED") == []


def test_request_of_an_unknown_feed_is_wrong_usage(desk):
    said = desk("request", "nobody")
    assert (said.code, said.error) == (2, "UNKNOWN_FEED")


def test_request_before_the_last_stamp_is_refused(desk, feeds):
    feeds("enable", "northfork")
    desk.hour = -1
    said = desk("request", "northfork")
    assert (said.code, said.error) == (2, "AT_TOO_EARLY")


def test_dispatch_without_work_does_nothing_but_say_that_it_was_there(desk, feeds):
    feeds("enable", "northfork")
    said = desk("dispatch")
    assert (said.code, said.document) == (0, NOTHING)
    [tick] = desk.conn.execute("SELECT * FROM dispatcher_ticks").fetchall()
    assert tick["ticked_at"] == desk.now


def test_dispatch_leaves_drafts_and_paused_feeds(desk, feeds):
    assert desk("dispatch").document == NOTHING
    feeds("enable", "northfork")
    feeds("pause", "northfork")
    desk.hour += 48
    assert desk("dispatch").document == NOTHING
    assert desk.jobs() == []


@pytest.mark.spec("001 7.1")
@pytest.mark.parametrize(
    ("options", "code"),
    [
        pytest.param([], "WORKER_LOST", id="by a tick"),
        pytest.param(["--startup"], "worker_startup_recovery", id="at start-up"),
    ],
)
def test_dispatch_reaps_the_dead(desk, conn, options, code):
    """The last attempt of its job, of a pipeline that does not retry: so nothing is left to run."""
    toys = Toys(conn)
    key = toys.key(next_run_at=None)
    toys.crash(key, START)
    said = desk("dispatch", *options)
    assert (said.code, said.document) == (0, {**NOTHING, "reaped": 1})
    assert (toys.only_job(key)["status"], toys.only_job(key)["error_code"]) == ("failed", code)


def test_feeds_list_warns_of_a_dispatcher_that_does_not_come(desk, feeds, capsys):
    feeds("enable", "northfork")
    assert contract.run(cli.app, ["feeds", "list", "--json"]) == 0
    out, err = capsys.readouterr()
    assert [feed["key"] for feed in json.loads(out)] == ["northfork"]
    assert err == (
        "feedmill: runs are due, and no dispatch has ever come (start a tick with: feedmill dispatch)\n"
    )  # fmt: skip
