"""The archive: what is kept, what happens when it cannot be, how a file comes back, and when it goes."""

import hashlib
import os
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import fsspec
import pytest

from db.clock import Clock
from db.errors import BadRequestError, RefusedError
from db.ids import new_id
from tasks import ledger
from tasks.catalogue import approval
from tasks.catalogue.archive import Swept, find_archived, open_archive, sweep_archive
from tasks.catalogue.registry import Actor
from tasks.errors import ArchiveFailedError, ArchiveGoneError, ArchiveMisconfiguredError
from tests.mill import after, row
from tests.plain import PlainMill


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An archive in a folder that is not there yet."""
    monkeypatch.setenv("FEEDMILL_ARCHIVE_URL", (tmp_path / "kept here").as_uri())
    return tmp_path / "kept here"


@pytest.fixture
def bucket(monkeypatch):
    """An archive that only fsspec can reach."""
    name = f"bucket-{new_id()}"
    monkeypatch.setenv("FEEDMILL_ARCHIVE_URL", f"memory://{name}/feedmill")
    return name


@pytest.fixture(params=["folder", "bucket"])
def place(request):
    """Each kind of archive in turn."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def mill(conn, tmp_path, monkeypatch):
    monkeypatch.setenv("FEEDMILL_TEST_CLOCK", "1")
    return PlainMill(conn, tmp_path / "catalog.csv").put_on_file()


def rows(*numbers, **cells):
    return [row(number, **cells) for number in numbers]


def shelf(mill, hour):
    """What shows at an hour, without the times."""
    told = ("identity_value", "title", "price", "original_price", "currency", "in_stock", "url")
    return [{name: offer[name] for name in told} for offer in mill.offers(after(hour)).values()]


def local(url):
    return Path(urlsplit(url).path.replace("%20", " "))


def kept():
    return sorted(file.name for file in open_archive().kept())


def test_a_file_is_kept_by_its_hash_and_nothing_else(mill, folder):
    mill.deliver(*rows(1, 2))
    record = mill.run(at=after(1))
    content = mill.path.read_bytes()
    sha256 = hashlib.sha256(content).hexdigest()
    assert kept() == [f"{sha256[:2]}/{sha256}"]
    assert local(record["artifact_url"]) == folder / sha256[:2] / sha256
    assert local(record["artifact_url"]).read_bytes() == content
    modes = [path.stat().st_mode & 0o777 for path in (folder, folder / sha256[:2], local(record["artifact_url"]))]
    assert modes == [0o700, 0o700, 0o600]


def test_the_archive_lies_in_the_home_unless_a_url_says_otherwise(mill, tmp_path, monkeypatch):
    monkeypatch.setenv("FEEDMILL_HOME", str(tmp_path / "home"))
    mill.deliver(*rows(1))
    assert local(mill.run(at=after(1))["artifact_url"]).is_relative_to(tmp_path / "home" / "archive")


def test_the_same_file_is_kept_once(mill, place):
    mill.deliver(*rows(1))
    first = mill.run(at=after(1))
    [before] = open_archive().kept()
    again = mill.run(at=after(2), force=True)
    assert list(open_archive().kept()) == [before]
    assert again["artifact_url"] == first["artifact_url"]


def test_a_copy_that_was_cut_short_is_written_anew(mill, folder):
    mill.deliver(*rows(1))
    copy = local(mill.run(at=after(1))["artifact_url"])
    copy.write_bytes(b"half")
    mill.run(at=after(2), force=True)
    assert copy.read_bytes() == mill.path.read_bytes()


def test_a_skipped_run_keeps_nothing(mill, place):
    mill.deliver(*rows(1))
    mill.run(at=after(1))
    skipped = mill.run(at=after(2))
    assert (skipped["skipped_reason"], skipped["artifact_url"]) == ("UNCHANGED_MTIME", None)
    with pytest.raises(RefusedError, match="kept no file"):
        find_archived(mill.conn, skipped["id"])


def test_a_file_that_cannot_be_kept_is_not_processed(mill, folder):
    folder.write_text("a file where the archive should be")
    mill.deliver(*rows(1))
    before = mill.written()
    record = mill.fail(at=after(1), kind=ArchiveFailedError)
    assert (record["error_code"], record["error_class"], record["artifact_url"]) == (
        "ARCHIVE_FAILED",
        "transient",
        None,
    )
    assert mill.written() == before
    assert record["rows_read"] is None


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("memory://key:geheim@bucket/feeds", id="a password in it"),
        pytest.param("gopher://host/feeds", id="a kind that nobody knows"),
        pytest.param("/var/feeds", id="a bare path"),
        pytest.param("file://host/feeds", id="a file on another host"),
    ],
)
def test_an_archive_url_that_cannot_be_used_is_a_matter_of_configuration(mill, monkeypatch, url):
    monkeypatch.setenv("FEEDMILL_ARCHIVE_URL", url)
    mill.deliver(*rows(1))
    record = mill.fail(at=after(1), kind=ArchiveMisconfiguredError)
    assert (record["error_code"], record["error_class"]) == ("ARCHIVE_MISCONFIGURED", "configuration")
    assert "geheim" not in str(record)


def test_a_replay_after_a_bad_file_brings_the_shelf_back_as_one_more_run(mill, place):
    mill.deliver(*rows(*range(1, 31)))
    good = mill.run(at=after(1))
    yesterday = shelf(mill, 1)
    mill.deliver(*rows(1, 2, price="0.10", name="Oops", stock="N"))
    bad = mill.run(at=after(2))
    approval.approve(bad["id"], Actor("ann", Clock(after(3))))
    assert shelf(mill, 3) != yesterday
    record = mill.run(at=after(4), replay=str(good["id"]))
    assert shelf(mill, 4) == yesterday
    facts = ("trigger", "replayed_from_run_id", "promotion_seq", "content_hash", "artifact_url", "products_returned")
    assert mill.counts(record, *facts) == (
        "MANUAL", good["id"], 3, good["content_hash"], good["artifact_url"], 28,
    )  # fmt: skip
    assert [event["run_id"] for event in mill.events("PROMOTE_COMPLETE")] == [good["id"], record["id"]]


@pytest.mark.spec("002 9.5")
def test_a_replay_ignores_what_was_read_last_and_the_next_run_reads_what_is_there(mill, place):
    mill.deliver(*rows(1, 2))
    first = mill.run(at=after(1))
    assert mill.run(at=after(2), replay=str(first["id"]))["skipped_reason"] is None
    feed = mill.feed()
    assert [feed[name] for name in ("last_content_hash", "last_remote_mtime", "last_remote_size")] == [None] * 3
    assert mill.run(at=after(3))["skipped_reason"] is None
    assert mill.run(at=after(4))["skipped_reason"] == "UNCHANGED_MTIME"


def test_gates_apply_to_a_replay(mill, place):
    mill.deliver(row(1))
    first = mill.run(at=after(1))
    mill.deliver(*rows(*range(1, 31)))
    mill.run(at=after(2))
    record = mill.run(at=after(3), replay=str(first["id"]))
    assert record["expiry_blocked_reason"] == "SPIKE_THRESHOLD_EXCEEDED"
    assert len(mill.offers(after(3))) == 30


def test_a_replay_takes_the_job_that_waits_and_is_manual_all_the_same(mill, place):
    mill.deliver(row(1))
    first = mill.run(at=after(1))
    mill.conn.execute("UPDATE schedules SET interval_seconds = 3600, next_run_at = %s", [after(2)])
    assert ledger.claim_due(mill.conn, now=after(2)) == 1
    assert mill.run(at=after(2), replay=str(first["id"]))["trigger"] == "MANUAL"


def test_a_file_that_is_gone_is_not_replayed(mill, folder):
    mill.deliver(row(1))
    record = mill.run(at=after(1))
    local(record["artifact_url"]).unlink()
    with pytest.raises(ArchiveGoneError, match="not in the archive any more"):
        find_archived(mill.conn, record["id"])
    with pytest.raises(ArchiveGoneError):
        mill.run(at=after(2), replay=str(record["id"]))
    assert mill.newest_run()["error_code"] == "ARCHIVE_GONE"
    assert mill.feed()["consecutive_failures"] == 0


def test_a_file_that_was_tampered_with_is_not_replayed(mill, folder):
    mill.deliver(row(1))
    record = mill.run(at=after(1))
    local(record["artifact_url"]).write_bytes(b"other bytes")
    before = mill.written()
    with pytest.raises(ArchiveGoneError, match="damaged"):
        mill.run(at=after(2), replay=str(record["id"]))
    assert mill.newest_run()["error_code"] == "ARCHIVE_DAMAGED"
    assert mill.written() == before


def test_nothing_but_a_hash_becomes_part_of_a_path(mill, folder):
    mill.deliver(row(1))
    record = mill.run(at=after(1))
    mill.conn.execute("UPDATE catalogue_runs SET content_hash = '../../../etc/passwd'")
    with pytest.raises(ArchiveGoneError, match="not the hash"):
        find_archived(mill.conn, record["id"])


def test_an_unknown_run_is_not_replayed(conn):
    with pytest.raises(BadRequestError, match="there is no run"):
        find_archived(conn, new_id())


def aged(mill, *, run_at, file_days):
    """An archived file, put there so many days before the sweep at day 40."""
    mill.deliver(row(1, price=f"{file_days + 1}.00"))
    record = mill.run(at=run_at)
    moment = (after(0) + timedelta(days=40 - file_days)).timestamp()
    os.utime(local(record["artifact_url"]), (moment, moment))
    return Path(record["artifact_url"]).name


def test_a_sweep_removes_what_no_run_has_used_for_thirty_days(mill, folder):
    now = after(24 * 40)
    stale = aged(mill, run_at=after(24 * 1), file_days=39)
    young = aged(mill, run_at=after(24 * 2), file_days=30)
    used_again = aged(mill, run_at=after(24 * 11), file_days=38)
    (folder / "notes.txt").write_text("not ours")
    left, fresh = (folder / stale[:2] / f"{stale}.{new_id()}.part" for _ in range(2))
    for path, days in ((left, 38), (fresh, 40)):
        path.write_text("half")
        moment = (after(0) + timedelta(days=days)).timestamp()
        os.utime(path, (moment, moment))
    assert sweep_archive(mill.conn, now=now) == Swept(removed=2, kept=3)
    assert {name.rpartition("/")[2] for name in kept()} == {young, used_again, fresh.name}
    assert (folder / "notes.txt").exists()


def test_a_sweep_of_an_archive_that_is_not_there_removes_nothing(conn, place):
    assert sweep_archive(conn, now=after(0)) == Swept()


def test_a_sweep_reaches_a_bucket(mill, bucket):
    mill.deliver(row(1))
    mill.run(at=after(1))
    assert len(fsspec.filesystem("memory").find(f"/{bucket}")) == 1
    [file] = open_archive().kept()
    assert sweep_archive(mill.conn, now=file.modified_at + timedelta(days=30)) == Swept(kept=1)
    assert sweep_archive(mill.conn, now=file.modified_at + timedelta(days=31)) == Swept(removed=1)
    assert kept() == []
