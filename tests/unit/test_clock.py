"""Time goes forwards for every source, is read and written as ISO 8601 in UTC, and lies ahead only for tests."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from db import clock
from db.clock import Clock, iso, named_clock, parse_moment
from db.errors import BadRequestError

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def machine(monkeypatch):
    """A machine whose clock shows noon."""
    monkeypatch.setattr(clock, "system_now", lambda: NOON)
    monkeypatch.delenv("FEEDMILL_TEST_CLOCK", raising=False)


def test_system_now_is_in_utc():
    assert clock.system_now().utcoffset() == timedelta(0)


def test_clock_shows_the_time_of_the_machine(machine):
    assert Clock().now() == NOON


def test_clock_shows_the_named_moment(machine):
    assert Clock(NOON - HOUR).now() == NOON - HOUR


@pytest.mark.parametrize(
    "last, written",
    [
        pytest.param(None, NOON, id="a source without a stamp"),
        pytest.param(NOON - HOUR, NOON, id="an earlier stamp"),
        pytest.param(NOON, NOON, id="the same moment"),
        pytest.param(NOON + HOUR, NOON + HOUR, id="a clock that stepped back"),
    ],
)
def test_stamp_of_the_machine_never_goes_below_the_last(machine, last, written):
    assert Clock().stamp(last) == written


@pytest.mark.parametrize("last", [None, NOON - HOUR, NOON], ids=["none", "earlier", "the same moment"])
def test_stamp_takes_a_named_moment_from_the_last_on(last):
    assert Clock(NOON).stamp(last) == NOON


def test_stamp_refuses_a_named_moment_before_the_last():
    with pytest.raises(BadRequestError, match="before the last stamp") as refused:
        Clock(NOON).stamp(NOON + timedelta(microseconds=1))
    assert refused.value.code == "AT_TOO_EARLY"
    assert "2026-03-02T12:00:00.000001Z" in refused.value.hint


def test_named_clock_without_a_moment_is_the_machine(machine):
    assert named_clock(None) == Clock()


@pytest.mark.parametrize("text", ["2026-03-02T11:00:00Z", "2026-03-02T12:00:00Z"], ids=["past", "this very moment"])
def test_named_clock_takes_what_has_been(machine, text):
    assert named_clock(text).at == datetime.fromisoformat(text)


@pytest.mark.parametrize("switch", [None, "", "0", "true"])
def test_named_clock_refuses_the_future(machine, monkeypatch, switch):
    if switch is not None:
        monkeypatch.setenv("FEEDMILL_TEST_CLOCK", switch)
    with pytest.raises(BadRequestError, match="future") as refused:
        named_clock("2026-03-02T12:00:00.000001Z")
    assert refused.value.code == "AT_IN_FUTURE"


def test_named_clock_takes_the_future_under_the_switch_of_tests(machine, monkeypatch):
    monkeypatch.setenv("FEEDMILL_TEST_CLOCK", "1")
    assert named_clock("2031-01-01T00:00:00Z").at == datetime(2031, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "text, moment",
    [
        pytest.param("2026-03-02T12:00:00Z", NOON, id="UTC"),
        pytest.param("2026-03-02T12:00:00+00:00", NOON, id="UTC as an offset"),
        pytest.param("2026-03-02T14:00:00+02:00", NOON, id="another offset"),
        pytest.param("2026-03-02T12:00:00", NOON, id="no offset is UTC"),
        pytest.param("2026-03-02 12:00", NOON, id="a space and no seconds"),
        pytest.param("2026-03-02T12:00:00.25Z", NOON + timedelta(milliseconds=250), id="fractions"),
        pytest.param("2026-03-02", NOON - 12 * HOUR, id="a day is its first moment"),
    ],
)
def test_parse_moment_reads_iso_8601(text, moment):
    assert parse_moment(text) == moment
    assert parse_moment(text).utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("yesterday", id="a word"),
        pytest.param("2026-02-30T12:00:00Z", id="a day that is not"),
        pytest.param("2026-03-02T25:00:00Z", id="an hour that is not"),
        pytest.param("1772452800", id="seconds since 1970"),
        pytest.param("2026-03-02T12:00:00Z\nand more", id="two lines"),
        pytest.param("0001-01-01T00:00:00+01:00", id="before the first moment in UTC"),
        pytest.param("9999-12-31T23:59:59-01:00", id="after the last moment in UTC"),
    ],
)
def test_parse_moment_refuses_what_is_no_time(text):
    with pytest.raises(BadRequestError, match="is not a time") as refused:
        parse_moment(text)
    assert refused.value.code == "BAD_TIME"
    assert "\n" not in refused.value.message


@pytest.mark.parametrize(
    "moment, text",
    [
        pytest.param(NOON, "2026-03-02T12:00:00Z", id="whole seconds"),
        pytest.param(NOON + timedelta(microseconds=1), "2026-03-02T12:00:00.000001Z", id="microseconds"),
        pytest.param(
            datetime(2026, 3, 2, 14, tzinfo=timezone(2 * HOUR)), "2026-03-02T12:00:00Z", id="another offset becomes UTC"
        ),
    ],
)
def test_iso_writes_utc(moment, text):
    assert iso(moment) == text
    assert parse_moment(iso(moment)) == moment
