"""`feedmill feeds` and `feedmill db` through the real command line, on a real database."""

import getpass
import json
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from db import clock, engine, migrate
from db.errors import BadRequestError
from feedmill import cli, contract
from tasks.catalogue import config, registry, switches

URL = "sftp://feeds@files.example.com/catalog.csv.gz"
JAN = datetime(2020, 1, 1, tzinfo=UTC)
AT = "2020-01-01T00:00:00Z"
LATER = "2020-01-02T00:00:00Z"
HOUR = timedelta(hours=1)
DEADLINE_SECONDS = 30


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
        """The one line on standard error."""
        assert re.fullmatch(r"feedmill: [^\n]+\n", self.err), self.err
        return self.err


@pytest.fixture
def feedmill(capsys, monkeypatch):
    """Runs the command line on the database that the environment names."""
    monkeypatch.delenv("FEEDMILL_TEST_CLOCK", raising=False)

    def run(*arguments):
        code = contract.run(cli.app, arguments)
        return Said(code, *capsys.readouterr())

    return run


@pytest.fixture
def feeds(feedmill, database):
    """Runs `feedmill feeds … --json` on a fresh database."""
    return lambda *arguments: feedmill("feeds", *arguments, "--json")


@pytest.fixture
def add(feeds):
    def run(key="northfork", *options, retailer="Northfork", at=AT):
        return feeds("add", key, "--retailer", retailer, "--url", URL, *(["--at", at] if at else []), *options)

    return run


def stored(conn, key="northfork"):
    return conn.execute("SELECT * FROM affiliate_feeds WHERE feed_key = %s", [key]).fetchone()


def settings(conn, key="northfork"):
    """The log of settings of a feed, oldest first."""
    return conn.execute(
        "SELECT log.* FROM setting_log log JOIN affiliate_feeds f USING (source_id) WHERE feed_key = %s ORDER BY n",
        [key],
    ).fetchall()


def events(conn, *names):
    rows = conn.execute("SELECT * FROM audit_events ORDER BY id").fetchall()
    return [row for row in rows if not names or row["event_name"] in names]


def everything(conn):
    """All rows that a command on feeds may write."""
    tables = ("retailers", "sources", "feed_settings", "schedules", "setting_log", "audit_events")
    return {table: conn.execute(f"SELECT * FROM {table}").fetchall() for table in tables}  # noqa: S608 - names above


def test_add_prints_the_feed_as_stored(add, conn):
    said = add(
        "northfork",
        "--every",
        "6",
        "--expiry-hours",
        "72",
        "--gate",
        "spike=0.5",
        "--max-rows",
        "10",
        "--max-products",
        "9",
    )
    assert (said.code, said.err) == (0, "")
    expected = {
        "key": "northfork", "tenant": "default", "retailer": "Northfork", "status": "DRAFT", "every_hours": 6,
        "url": "sftp://feeds@files.example.com:22/catalog.csv.gz", "expiry_hours": 72, "heartbeat_hours": 24,
        "gates": {"spike": 0.5}, "max_rows": 10, "max_products": 9, "max_bytes": 500_000_000, "unchanged": "age",
        "is_primary": False,
        "has_password": False, "manual_run_pending": False, "consecutive_failures": 0, "last_run_at": None,
        "next_run_at": "2020-01-01T06:00:00Z", "created_at": AT, "updated_at": AT, "created_by": getpass.getuser(),
        "host_key_fingerprint": None, "account_id": None, "tracking_template": None,
    }  # fmt: skip
    assert {name: said.document[name] for name in expected} == expected
    row = stored(conn)
    assert (row["transport"], row["compression"], row["config_version"]) == ("SFTP", "GZIP", 1)
    assert (row["last_stamp_at"], row["created_at"]) == (JAN, JAN)


@pytest.mark.spec("002 2.1")
def test_add_without_options_takes_the_defaults(add, conn):
    document = add().document
    assert (document["status"], document["every_hours"], document["next_run_at"]) == ("DRAFT", None, None)
    assert (document["expiry_hours"], document["max_bytes"], document["max_rows"]) == (48, 500_000_000, 500_000)
    assert (document["max_products"], stored(conn)["max_product_count"]) == (500_000, None)  # as many as rows
    assert stored(conn)["max_file_size_bytes"] is None


def test_add_enabled_may_run_at_once(add):
    assert add("northfork", "--enable").document["status"] == "ENABLED"


def test_add_writes_its_settings_and_its_audit_event(add, conn):
    add()
    assert [(row["n"], row["at"], row["expiry_hours"], row["is_display_primary"], row["is_removed"])
            for row in settings(conn)] == [(1, JAN, 48, False, False)]  # fmt: skip
    (event,) = events(conn)
    row = stored(conn)
    assert (event["event_name"], event["level"], event["actor"]) == ("FEED_CREATED", "INFO", getpass.getuser())
    assert (event["tenant_id"], event["pipeline"], event["key"]) == ("default", "catalogue", "northfork")
    assert event["occurred_at"] == JAN
    assert event["fields"] == {"feed_id": row["id"], "source_id": row["source_id"], "network": "IMPACT"}


def test_add_of_a_known_retailer_does_not_make_another(add, conn):
    add("one")
    add("two")
    assert conn.execute("SELECT count(*) AS n FROM retailers").fetchone()["n"] == 1


def test_add_without_a_moment_is_stamped_now(add, conn):
    before = clock.system_now()
    assert add(at=None).code == 0
    assert before <= stored(conn)["last_stamp_at"] <= clock.system_now()


BAD_OPTIONS = [
    pytest.param(["--every", "3"], id="an interval that is not offered"),
    pytest.param(["--every", "0"], id="an interval of nothing"),
    pytest.param(["--every", "-6"], id="a negative interval"),
    pytest.param(["--every", "daily"], id="an interval in words"),
    pytest.param(["--expiry-hours", "0"], id="expiry of nothing"),
    pytest.param(["--expiry-hours", "169"], id="expiry over a week"),
    pytest.param(["--expiry-hours", "-1"], id="negative expiry"),
    pytest.param(["--expiry-hours", "1.5"], id="expiry of a fraction"),
    pytest.param(["--expiry-hours", "two"], id="expiry in words"),
    pytest.param(["--heartbeat-hours", "-1"], id="negative heartbeat"),
    pytest.param(["--heartbeat-hours", "8761"], id="heartbeat over a year"),
    pytest.param(["--unchanged", "ignore"], id="unknown policy"),
    pytest.param(["--gate", "spike=2"], id="a share of more than all"),
    pytest.param(["--gate", "speed=0.5"], id="unknown gate"),
    pytest.param(["--gate", "spike"], id="a gate without a value"),
    pytest.param(["--host-key", "MD5:ab"], id="another kind of fingerprint"),
    pytest.param(["--max-rows", "0"], id="no rows"),
    pytest.param(["--max-rows", str(2**31)], id="more rows than a number holds"),
    pytest.param(["--max-products", "0"], id="no products"),
    pytest.param(["--max-products", str(2**31)], id="more products than a number holds"),
    pytest.param(["--max-bytes", "0"], id="no bytes"),
    pytest.param(["--max-bytes", "5MB"], id="bytes in words"),
    pytest.param(["--tracking-template", "ftp://go.example"], id="a template that is no web address"),
    pytest.param(["--tracking-template", "http://[go.example"], id="a template that cannot be read"),
    pytest.param(["--tracking-template", "https://go.example/{price}"], id="a placeholder that is not known"),
    pytest.param(["--tracking-template", "https://go.example/"], id="a template without a product"),
    pytest.param(["--gate", "spike=most:0"], id="a count of none"),
    pytest.param(["--account-id", " "], id="an empty account"),
    pytest.param(["--url", "https://files.example.com/c.csv"], id="another transport"),
    pytest.param(["--url", "sftp://feeds:secret@files.example.com/c.csv"], id="a password in the address"),
    pytest.param(["--url", "sftp://files.example.com/c.csv"], id="an address without a user"),
    pytest.param(["--url", "sftp://feeds@files.example.com:65536/c.csv"], id="a port past the last"),
    pytest.param(["--url", "sftp://fe%00eds@files.example.com/c.csv"], id="a null character in the user"),
    pytest.param(["--url", "sftp://feeds@files.example.com/\udcff.csv"], id="an address that is not UTF-8"),
    pytest.param(["--every", "6" * 5000], id="hours of thousands of digits"),
    pytest.param(["--gate", f"spike=most:{'9' * 5000}"], id="a count of thousands of digits"),
    pytest.param(["--gate", f"spike=0.{'9' * 5000}"], id="a share of thousands of digits"),
    pytest.param(["--at", "0001-01-01T00:00:00Z"], id="a moment before all times"),
    pytest.param(["--at", "soon"], id="a moment in words"),
    pytest.param(["--at", "2999-01-01T00:00:00Z"], id="a moment to come"),
    pytest.param(["--nonsense"], id="unknown option"),
    pytest.param(["--every"], id="an option without its value"),
]


@pytest.mark.spec("002 2.8.1", "002 5.2")
@pytest.mark.parametrize("options", BAD_OPTIONS)
def test_add_refuses_a_bad_value_and_stores_nothing(add, conn, options):
    before = everything(conn)
    said = add("northfork", *options, at=None)
    assert said.code == 2
    assert said.document["error"]["message"] in said.line
    assert "secret" not in said.out + said.err
    assert everything(conn) == before


@pytest.mark.spec("002 2.8.1", "002 5.2")
@pytest.mark.parametrize("options", BAD_OPTIONS)
def test_set_refuses_a_bad_value_and_stores_nothing(add, feeds, conn, options):
    add("northfork", "--every", "6")
    before = everything(conn)
    said = feeds("set", "northfork", "--heartbeat-hours", "5", *options)
    assert said.code == 2
    assert said.line
    assert everything(conn) == before


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["add", "Upper Case", "--retailer", "X", "--url", URL], id="a key that cannot be"),
        pytest.param(["add", "new", "--retailer", "", "--url", URL], id="an empty retailer"),
        pytest.param(["add", "new", "--retailer", "a\nb", "--url", URL], id="a retailer of two lines"),
        pytest.param(["add", "new", "--url", URL], id="no retailer"),
        pytest.param(["add", "new", "--retailer", "X"], id="no address"),
        pytest.param(["add", "--retailer", "X", "--url", URL], id="no key"),
        pytest.param(["add", "new", "--retailer", "X", "--url", URL, "--tenant", "nobody"], id="unknown tenant"),
        pytest.param(["add", "new", "--retailer", "X", "--url", URL, "--tenant", "\udcff"], id="a tenant not UTF-8"),
        pytest.param(["add", "northfork", "--retailer", "X", "--url", URL], id="a key that exists"),
        pytest.param(["add", "northfork", "--retailer", "Northfork", "--url", URL, "--primary"], id="and primary"),
        pytest.param(["set", "northfork"], id="nothing to change"),
        pytest.param(["set", "nobody", "--every", "6"], id="change of an unknown feed"),
        pytest.param(["show", "nobody"], id="unknown feed"),
        pytest.param(["show", "\udcff"], id="a key that is not UTF-8"),
        pytest.param(["show"], id="no key to show"),
        pytest.param(["remove", "nobody"], id="removal of an unknown feed"),
        pytest.param(["list", "--tenant", "nobody"], id="feeds of an unknown tenant"),
        pytest.param(["list", "extra"], id="an argument too many"),
        pytest.param(["paint", "northfork"], id="unknown command"),
    ],
)
def test_a_wrong_request_is_refused_with_one_line_and_stores_nothing(add, feeds, conn, arguments):
    add("northfork", "--primary")
    before = everything(conn)
    said = feeds(*arguments)
    assert said.code == 2
    assert said.document["error"]["message"] in said.line
    assert everything(conn) == before


def test_errors_are_told_to_people_on_standard_error_only(feedmill, database):
    said = feedmill("feeds", "show", "nobody")
    assert (said.code, said.out) == (2, "")
    assert "there is no feed 'nobody'" in said.line


def test_list_is_ordered_and_leaves_out_removed_feeds(add, feeds):
    for key in ("b", "a", "gone"):
        add(key)
    feeds("remove", "gone")
    assert [feed["key"] for feed in feeds("list").document] == ["a", "b"]
    assert [feed["key"] for feed in feeds("list", "--all").document] == ["a", "b", "gone"]


def test_list_is_that_of_one_tenant(add, feeds, conn):
    conn.execute("INSERT INTO tenants (id, name, created_at) VALUES ('acme', 'Acme', now())")
    add("ours")
    add("theirs", "--tenant", "acme")
    assert [feed["key"] for feed in feeds("list").document] == ["ours"]
    assert [feed["key"] for feed in feeds("list", "--tenant", "acme").document] == ["theirs"]


def test_list_of_nothing_tells_how_to_begin(feedmill, database):
    said = feedmill("feeds", "list")
    assert (said.code, said.err) == (0, "")
    assert "feedmill feeds add" in said.out
    assert feedmill("feeds", "list", "--json").document == []


def test_list_prints_a_table(add, feedmill):
    add("northfork", "--every", "6", "--enable")
    head, row = feedmill("feeds", "list").out.splitlines()
    assert re.split(r"\s{2,}", head.strip())[:6] == ["key", "retailer", "status", "every", "next run", "last run"]
    cells = re.split(r"\s{2,}", row.strip())
    assert cells[:4] == ["northfork", "Northfork", "Enabled", "6 h"]
    assert cells[4].startswith("2020-01-01 06:00")
    assert cells[5:] == ["-", "sftp://feeds@files.example.com:22/catalog.csv.gz"]


def test_show_prints_a_line_per_fact(add, feedmill):
    add("northfork", "--gate", "stock=off")
    lines = feedmill("feeds", "show", "northfork").out.splitlines()
    facts = dict(re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in lines)
    expected = {
        "key": "northfork", "status": "Draft: never runs", "max bytes": "500,000,000", "gates": "stock=off",
        "is primary": "no", "next run at": "-",
    }  # fmt: skip
    assert {name: facts[name] for name in expected} == expected


@pytest.mark.parametrize("name", ["Tents [/b] Co", "[bold]Tents", "Tents :gear: Co"])
def test_names_are_shown_as_they_are(add, feedmill, name):
    add("northfork", retailer=name)
    assert name in feedmill("feeds", "show", "northfork").out
    assert name in feedmill("feeds", "list").out


def test_show_never_shows_a_secret(add, feedmill, conn):
    add()
    conn.execute("UPDATE feed_settings SET secret_ciphertext = 'hunter2', secret_key_id = 'k1'")
    said = feedmill("feeds", "show", "northfork", "--json")
    assert said.document["has_password"] is True
    assert "hunter2" not in said.out + feedmill("feeds", "show", "northfork").out
    assert not [name for name in said.document if "secret" in name]


def test_set_changes_what_is_named_and_leaves_the_rest(add, feeds, conn):
    before = add("northfork", "--every", "6", "--account-id", "A-1", "--max-rows", "10").document
    after = feeds("set", "northfork", "--heartbeat-hours", "0", "--url", "file:///data/c.csv", "--at", LATER).document
    changes = {"heartbeat_hours": 0, "url": "file:///data/c.csv", "updated_at": LATER}
    assert after == before | changes
    row = stored(conn)
    assert (row["transport"], row["host"], row["port"], row["username"], row["compression"]) == (
        "FILE", None, None, None, "NONE")  # fmt: skip


def test_set_clears_change_detection_and_counts_the_edit(add, feeds, conn):
    add()
    conn.execute("UPDATE feed_settings SET last_remote_mtime = now(), last_remote_size = 5, last_content_hash = 'x'")
    feeds("set", "northfork", "--max-rows", "10")
    row = stored(conn)
    assert (row["last_remote_mtime"], row["last_remote_size"], row["last_content_hash"]) == (None, None, None)
    assert row["config_version"] == 2


def test_set_to_what_is_there_already_writes_nothing(add, feeds, conn):
    add("northfork", "--every", "6", "--gate", "spike=0.5")
    conn.execute("UPDATE feed_settings SET last_content_hash = 'x'")
    before = everything(conn)
    said = feeds("set", "northfork", "--every", "6", "--expiry-hours", "48", "--gate", "spike=0.5", "--url", URL)
    assert said.code == 0
    assert everything(conn) == before


def test_set_notes_which_settings_changed(add, feeds, conn):
    add()
    feeds("set", "northfork", "--max-rows", "10", "--every", "6", "--heartbeat-hours", "24", "--at", LATER)
    (event,) = events(conn, "FEED_UPDATED")
    assert sorted(event["fields"]["changed_fields"]) == ["every_hours", "max_row_count"]
    assert event["fields"]["feed_id"] == stored(conn)["id"]
    assert (event["level"], event["occurred_at"]) == ("INFO", JAN + 24 * HOUR)


def test_set_of_one_gate_leaves_the_others(add, feeds):
    add("northfork", "--gate", "spike=0.5", "--gate", "stock=off")
    gates = feeds("set", "northfork", "--gate", "spike=0.7").document["gates"]
    assert gates == {"spike": 0.7, "stock": False}


@pytest.mark.spec("002 5.2")
@pytest.mark.parametrize("hours", [1, 2, 4, 6, 12, 24])
@pytest.mark.parametrize("status", ["DRAFT", "ENABLED"])
def test_set_every_moves_the_next_run(add, feeds, hours, status):
    add("northfork", *(["--enable"] if status == "ENABLED" else []))
    document = feeds("set", "northfork", "--every", str(hours), "--at", LATER).document
    assert (document["status"], document["every_hours"]) == (status, hours)
    assert clock.parse_moment(document["next_run_at"]) == JAN + 24 * HOUR + hours * HOUR


@pytest.mark.spec("002 5.2")
@pytest.mark.parametrize("status", ["PAUSED", "DISABLED"])
def test_set_every_of_a_feed_that_may_not_run_sets_no_next_run(add, feeds, conn, status):
    add("northfork", "--every", "6", "--enable")
    conn.execute("UPDATE schedules SET status = %s, next_run_at = NULL", [status])
    document = feeds("set", "northfork", "--every", "4").document
    assert (document["status"], document["every_hours"], document["next_run_at"]) == (status, 4, None)


def test_set_every_never_leaves_runs_on_request_only(add, feeds, conn):
    add("northfork", "--every", "6", "--enable")
    document = feeds("set", "northfork", "--every", "never").document
    assert (document["every_hours"], document["next_run_at"]) == (None, None)
    assert conn.execute("SELECT interval_seconds FROM schedules").fetchone()["interval_seconds"] is None


@pytest.mark.spec("002 2.8.2")
def test_set_expiry_hours_is_logged_and_audited_as_a_warning(add, feeds, conn):
    add("northfork", "--primary")
    feeds("set", "northfork", "--expiry-hours", "24", "--at", LATER)
    assert [(row["n"], row["at"], row["expiry_hours"], row["is_display_primary"]) for row in settings(conn)] == [
        (1, JAN, 48, True), (2, JAN + 24 * HOUR, 24, True)]  # fmt: skip
    (event,) = events(conn, "EXPIRY_HOURS_CHANGED")
    assert (event["level"], event["actor"], event["key"]) == ("WARN", getpass.getuser(), "northfork")
    assert event["fields"] == {"feed_id": stored(conn)["id"], "old_value": 48, "new_value": 24}
    assert event["occurred_at"] == JAN + 24 * HOUR


@pytest.mark.spec("002 2.8.2")
def test_set_of_another_setting_says_nothing_of_the_expiry_hours(add, feeds, conn):
    add()
    feeds("set", "northfork", "--max-rows", "10")
    assert len(settings(conn)) == 1
    assert events(conn, "EXPIRY_HOURS_CHANGED") == []


def test_primary_takes_the_flag_from_the_other_feed(add, conn):
    add("old", "--primary")
    said = add("new", "--primary", at=LATER)
    assert said.document["is_primary"] is True
    assert stored(conn, "old")["is_display_primary"] is False
    day = JAN + 24 * HOUR
    assert [(row["at"], row["is_display_primary"]) for row in settings(conn, "old")] == [(JAN, True), (day, False)]
    assert [(row["at"], row["is_display_primary"]) for row in settings(conn, "new")] == [(day, True)]
    assert stored(conn, "old")["last_stamp_at"] == day


def test_primary_leaves_the_feeds_of_other_retailers_alone(add, conn):
    add("one", "--primary")
    add("two", "--primary", retailer="Elsewhere")
    assert stored(conn, "one")["is_display_primary"] is True
    assert stored(conn, "two")["is_display_primary"] is True


def test_primary_of_a_feed_stamped_ahead_is_logged_from_its_stamp(add, conn):
    add("old", "--primary", at=LATER)
    add("new", "--primary", at=AT)
    assert [row["at"] for row in settings(conn, "old")] == [JAN + 24 * HOUR, JAN + 24 * HOUR]


@pytest.mark.spec("002 13.4")
def test_primary_moves_the_flag_in_one_step(add, feeds, conn):
    add("old", "--primary")
    add("new")
    said = feeds("primary", "new", "--at", LATER)
    assert (said.code, said.document["key"], said.document["is_primary"]) == (0, "new", True)
    assert stored(conn, "old")["is_display_primary"] is False
    day = JAN + 24 * HOUR
    for key, before, after in (("old", True, False), ("new", False, True)):
        assert [(row["at"], row["is_display_primary"]) for row in settings(conn, key)] == [(JAN, before), (day, after)]
    [event] = events(conn, "FEED_UPDATED")
    assert (event["key"], event["fields"]["changed_fields"], event["occurred_at"]) == ("new", ["is_primary"], day)


def test_primary_twice_is_once(add, feeds, conn):
    add("northfork", "--primary")
    before = everything(conn)
    assert feeds("primary", "northfork", "--at", LATER).document["is_primary"] is True
    assert everything(conn) == before


@pytest.mark.parametrize("arguments, code", [(["ghost"], "UNKNOWN_FEED"), (["gone"], "FEED_REMOVED")])
def test_primary_of_what_cannot_show_is_refused(add, feeds, arguments, code):
    add("gone")
    feeds("remove", "gone")
    said = feeds("primary", *arguments)
    assert said.document["error"]["code"] == code


@pytest.mark.spec("002 13.4")
def test_choosing_two_primaries_at_once_leaves_one(database, conn):
    keys = ["one", "two", "three"]
    for key in keys:
        registry.add_feed(conn, new_feed(key), registry.Actor("test"))
    choose = switches.choose_primary
    at_once(database, *(lambda own, key=key: choose(own, key, registry.Actor("test")) for key in keys))
    rows = {key: stored(conn, key)["is_display_primary"] for key in keys}
    assert sum(rows.values()) == 1
    assert {key: settings(conn, key)[-1]["is_display_primary"] for key in keys} == rows


@pytest.mark.spec("002 11.3")
@pytest.mark.parametrize(
    "status, words",
    [
        ("PAUSED", "Paused by admin"),
        ("DISABLED", "Disabled due to repeated failures"),
        ("REMOVED", "Removed (archived)"),
    ],
)
def test_show_and_list_say_what_a_status_means(add, feedmill, conn, status, words):
    add()
    conn.execute("UPDATE schedules SET status = %s", [status])
    assert words in feedmill("feeds", "show", "northfork").out
    assert words in feedmill("feeds", "list", "--all").out


@pytest.mark.spec("002 2.8.1")
@pytest.mark.parametrize("hours", [0, 169, -1, 1.5, "48", None])
def test_expiry_hours_are_checked_at_the_door_of_python_too(database, conn, hours):
    with pytest.raises(BadRequestError, match="expiry-hours"):
        registry.FeedSettings(config.parse_address(URL), expiry_hours=hours)
    registry.add_feed(conn, new_feed("one"), registry.Actor("test"))
    with pytest.raises(BadRequestError, match="expiry-hours"):
        registry.change_feed(conn, "one", {"expiry_hours": hours}, registry.Actor("test"))
    assert stored(conn, "one")["expiry_hours"] == 48


@pytest.mark.parametrize(
    "gates, shown",
    [
        (["spike=share:0.5,least:20"], "spike=share:0.5,least:20"),
        (["spike=0.5", "stock=off"], "spike=0.5 stock=off"),
    ],
)
def test_gates_are_shown_as_they_were_set(add, feedmill, gates, shown):
    add("northfork", *(word for gate in gates for word in ("--gate", gate)))
    assert shown in feedmill("feeds", "show", "northfork").out


def test_remove_archives_the_feed(add, feeds, conn):
    add("northfork", "--every", "6", "--enable", "--primary")
    document = feeds("remove", "northfork", "--at", LATER).document
    assert (document["status"], document["next_run_at"], document["is_primary"]) == ("REMOVED", None, False)
    assert (settings(conn)[-1]["is_removed"], settings(conn)[-1]["at"]) == (True, JAN + 24 * HOUR)
    (event,) = events(conn, "FEED_STATUS_CHANGED")
    assert (event["fields"]["old_status"], event["fields"]["new_status"]) == ("ENABLED", "REMOVED")
    assert feeds("show", "northfork").document == document


@pytest.mark.parametrize(
    "arguments", [["set", "northfork", "--every", "6"], ["remove", "northfork"]], ids=["set", "remove"]
)
def test_a_removed_feed_can_no_longer_be_changed(add, feeds, conn, arguments):
    add()
    feeds("remove", "northfork")
    before = everything(conn)
    said = feeds(*arguments)
    assert (said.code, said.document["error"]["code"]) == (1, "FEED_REMOVED")
    assert said.line
    assert everything(conn) == before


def test_the_key_of_a_removed_feed_cannot_be_used_again(add, feeds):
    add()
    feeds("remove", "northfork")
    said = add()
    assert (said.code, said.document["error"]["code"]) == (2, "KEY_EXISTS")


@pytest.mark.parametrize(
    "command", [["set", "northfork", "--max-rows", "10"], ["remove", "northfork"]], ids=["set", "remove"]
)
def test_a_moment_before_the_last_stamp_is_refused(add, feeds, conn, command):
    add("northfork", at=LATER)
    before = everything(conn)
    said = feeds(*command, "--at", AT)
    assert (said.code, said.document["error"]["code"]) == (2, "AT_TOO_EARLY")
    assert everything(conn) == before
    assert feeds(*command, "--at", LATER).code == 0


def test_a_moment_to_come_is_for_tests_only(add, conn, monkeypatch):
    assert add(at="2999-01-01T00:00:00Z").document["error"]["code"] == "AT_IN_FUTURE"
    monkeypatch.setenv("FEEDMILL_TEST_CLOCK", "1")
    assert add(at="2999-01-01T00:00:00Z").code == 0
    assert stored(conn)["last_stamp_at"] == datetime(2999, 1, 1, tzinfo=UTC)


def test_after_a_clock_stepped_back_a_change_is_stamped_as_the_last_one(add, feeds, conn):
    add()
    ahead = clock.system_now() + HOUR
    conn.execute("UPDATE sources SET last_stamp_at = %s", [ahead])
    assert feeds("set", "northfork", "--expiry-hours", "24").code == 0
    assert settings(conn)[-1]["at"] == ahead
    assert events(conn)[-1]["occurred_at"] == ahead
    assert stored(conn)["last_stamp_at"] == ahead


def new_feed(key, **options):
    feed_settings = registry.FeedSettings(config.parse_address(URL))
    return registry.NewFeed(key=key, tenant_id="default", retailer="Northfork", settings=feed_settings, **options)


def at_once(database, *calls):
    """The outcome of each call, made on a connection of its own when all of them are ready."""
    ready = threading.Barrier(len(calls))

    def run(call):
        with engine.open_connection(database) as own:
            ready.wait(DEADLINE_SECONDS)
            try:
                return call(own)
            except BadRequestError as error:
                return error.code

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def test_adding_two_primaries_at_once_leaves_one(database, conn):
    actor = registry.Actor("test")
    keys = ["one", "two", "three", "four"]
    at_once(
        database, *(lambda own, key=key: registry.add_feed(own, new_feed(key, is_primary=True), actor) for key in keys)
    )
    rows = {key: stored(conn, key)["is_display_primary"] for key in keys}
    assert sum(rows.values()) == 1
    assert {key: settings(conn, key)[-1]["is_display_primary"] for key in keys} == rows


def test_adding_one_key_twice_at_once_stores_it_once(database, conn):
    actor = registry.Actor("test")
    outcomes = at_once(database, *(lambda own: registry.add_feed(own, new_feed("same"), actor) for _ in range(3)))
    assert outcomes.count("KEY_EXISTS") == 2
    assert len(events(conn, "FEED_CREATED")) == 1


def wait_for_a_lock(conn):
    """Return once another session of this database waits for a lock."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    while not conn.execute(waiting).fetchall():
        assert time.monotonic() < deadline, "nobody waits"


def test_making_two_feeds_primary_at_once_leaves_the_later(database, conn):
    first, second = (registry.add_feed(conn, new_feed(key), registry.Actor("test")) for key in ("one", "two"))
    with (
        engine.open_connection(database) as mine,
        engine.open_connection(database) as theirs,
        ThreadPoolExecutor(1) as pool,
    ):

        def take_the_flag():
            with engine.transaction(theirs):
                registry.make_primary(theirs, second["source_id"], now=clock.system_now())

        with engine.transaction(mine):
            registry.make_primary(mine, first["source_id"], now=clock.system_now())
            later = pool.submit(take_the_flag)
            wait_for_a_lock(conn)
        later.result(DEADLINE_SECONDS)
    assert stored(conn, "one")["is_display_primary"] is False
    assert stored(conn, "two")["is_display_primary"] is True
    assert settings(conn, "one")[-1]["is_display_primary"] is False


def test_db_url_prints_the_named_address_in_one_line(feedmill, database):
    assert feedmill("db", "url") == Said(0, database + "\n", "")
    assert feedmill("db", "url", "--json").document == {"url": database, "is_embedded": False}


def test_db_check_of_a_complete_database_is_ok(feedmill, database):
    said = feedmill("db", "check")
    assert (said.code, said.err) == (0, "")
    assert re.fullmatch(rf"ok: Postgres \S+.*, schema {migrate.revisions()[-1]}\n", said.out)
    document = feedmill("db", "check", "--json").document
    assert (document["ok"], document["lacking"], document["absent"]) == (True, [], [])


def test_db_check_of_an_empty_database_says_what_to_do(feedmill, empty_database, monkeypatch):
    monkeypatch.setenv("FEEDMILL_DATABASE_URL", empty_database)
    said = feedmill("db", "check")
    assert (said.code, said.out.strip()) == (1, "")
    assert "feedmill db migrate" in said.line
    said = feedmill("db", "check", "--json")
    assert (said.code, said.document["ok"], said.document["lacking"]) == (1, False, migrate.revisions())
    assert said.line


def test_db_check_names_what_a_damaged_database_misses(feedmill, conn):
    conn.execute("DROP VIEW active_offers; DROP TABLE product_changes")
    said = feedmill("db", "check", "--json")
    assert (said.code, said.document["ok"]) == (1, False)
    assert sorted(said.document["absent"]) == ["active_offers", "product_changes"]
    assert "active_offers" in said.line


def test_db_check_refuses_a_database_from_the_future(feedmill, conn):
    conn.execute("UPDATE alembic_version SET version_num = '9999'")
    said = feedmill("db", "check", "--json")
    assert (said.code, said.document["error"]["code"]) == (1, "SCHEMA_NEWER")


def test_db_migrate_brings_an_empty_database_up_to_date_once(feedmill, empty_database, monkeypatch):
    monkeypatch.setenv("FEEDMILL_DATABASE_URL", empty_database)
    newest = migrate.revisions()[-1]
    assert feedmill("db", "migrate", "--json").document == {"applied": migrate.revisions(), "schema": newest}
    assert feedmill("db", "migrate") == Said(0, f"nothing to do; the schema is at {newest}\n", "")
    assert feedmill("db", "check").code == 0
    assert feedmill("feeds", "list", "--json").document == []


def test_commands_on_an_empty_database_say_what_to_do(feedmill, empty_database, monkeypatch):
    monkeypatch.setenv("FEEDMILL_DATABASE_URL", empty_database)
    said = feedmill("feeds", "list", "--json")
    assert (said.code, said.document["error"]["code"]) == (1, "SCHEMA_OUTDATED")
    assert "feedmill db migrate" in said.line


def test_db_stop_refuses_a_database_that_is_not_its_own(feedmill, database):
    said = feedmill("db", "stop", "--json")
    assert (said.code, said.document["error"]["code"]) == (2, "NOT_EMBEDDED")
    assert said.line


@pytest.mark.parametrize("command", [["db", "check"], ["db", "migrate"], ["feeds", "list"]], ids=" ".join)
@pytest.mark.parametrize(
    "address, code",
    [
        pytest.param("postgresql://joe:hunter2@127.0.0.1:1/feedmill", 1, id="nobody answers"),
        pytest.param("postgresql://joe:hunter2@/feedmill?host=/nowhere", 1, id="no socket there"),
        pytest.param("mysql://joe:hunter2@127.0.0.1/feedmill", 2, id="another kind of database"),
        pytest.param("joe:hunter2", 2, id="no address at all"),
        pytest.param("postgresql://joe:hunter2@127.0.0.1:1/feedmill?nonsense=1", 2, id="an unknown parameter"),
        pytest.param("postgresql://joe:hunter2@[::1/feedmill", 2, id="a bracket that does not close"),
    ],
)
def test_an_address_that_leads_nowhere_is_told_in_one_line(feedmill, monkeypatch, command, address, code):
    monkeypatch.setenv("FEEDMILL_DATABASE_URL", address)
    said = feedmill(*command, "--json")
    assert said.code == code
    assert said.document["error"]["message"] in said.line
    assert "hunter2" not in said.out + said.err


@pytest.mark.parametrize(
    "program",
    [
        pytest.param([sys.executable, "-m", "feedmill"], id="as a module"),
        pytest.param([str(Path(sys.executable).with_name("feedmill"))], id="as the installed script"),
    ],
)
def test_the_program_keeps_the_contract(add, program):
    add()
    ended = subprocess.run([*program, "feeds", "list", "--json"], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert [feed["key"] for feed in json.loads(ended.stdout)] == ["northfork"]
    ended = subprocess.run([*program, "feeds", "show", "nobody"], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") == 1
