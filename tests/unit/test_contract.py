"""The contract of the command line: one document, one line for an error, and the exit codes."""

import io
import json
import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import click
import pytest

from db import errors
from feedmill import contract
from feedmill.contract import Reply
from feedmill.views import table
from tasks.errors import IngestError
from tasks.progress import tell

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def run(action, *arguments):
    """The exit code of a command line whose one command does this."""

    @click.group(cls=contract.Group)
    def app():
        """A face with one command."""

    @app.command()
    @click.argument("word", default="")
    def act(word):
        return action()

    return contract.run(app, ["act", *arguments])


def fail(error):
    raise error


def stderr_line(capsys):
    """What was said on standard error, which is one line, and standard output."""
    said = capsys.readouterr()
    assert re.fullmatch(r"feedmill: [^\n]+\n", said.err), said.err
    return said.err.removeprefix("feedmill: ").strip(), said.out


@pytest.mark.parametrize(
    "value, form",
    [
        pytest.param(NOON, "2026-03-02T12:00:00Z", id="a time in UTC"),
        pytest.param(
            datetime(2026, 3, 2, 14, tzinfo=timezone(timedelta(hours=2))), "2026-03-02T12:00:00Z", id="offset"
        ),
        pytest.param(NOON + timedelta(microseconds=5), "2026-03-02T12:00:00.000005Z", id="microseconds"),
        pytest.param(Decimal("9.90"), "9.90", id="money is text and keeps its zeros"),
        pytest.param(Decimal("1E+3"), "1000", id="money without an exponent"),
        pytest.param(Decimal("0.0001"), "0.0001", id="small money"),
        pytest.param(UUID(int=1), "00000000-0000-0000-0000-000000000001", id="an id of a run"),
        pytest.param({"a": [NOON, None, True, 3]}, {"a": ["2026-03-02T12:00:00Z", None, True, 3]}, id="nested"),
        pytest.param([], [], id="an empty list"),
        pytest.param("Zelt [/b] äöü €", "Zelt [/b] äöü €", id="text"),
    ],
)
def test_json_prints_one_document(capsys, value, form):
    assert run(lambda: Reply(value, "for people"), "--json") == 0
    said = capsys.readouterr()
    assert (json.loads(said.out), said.err) == (form, "")


def test_without_json_the_view_is_printed(capsys):
    assert run(lambda: Reply({"for": "machines"}, "for people")) == 0
    assert capsys.readouterr() == ("for people\n", "")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Tents [bold]& more[/bold] [/x]", id="brackets"),
        pytest.param("sftp://u@[fe80::1]:22/c", id="an IPv6 address"),
        pytest.param("open :gear: daily", id="colons"),
        pytest.param("postgresql:///feedmill?host=/" + "x" * 300, id="a line longer than a page is wide"),
    ],
)
def test_the_view_says_what_it_was_given(capsys, text):
    assert run(lambda: Reply({}, text)) == 0
    assert capsys.readouterr().out == text + "\n"


def test_a_reply_may_carry_an_exit_code(capsys):
    assert run(lambda: Reply({}, "blocked", contract.BLOCKED)) == 3
    assert capsys.readouterr() == ("blocked\n", "")


def test_a_reply_may_carry_an_error_beside_its_document(capsys):
    error = errors.FeedmillError("two tables are missing", code="X", hint="migrate")
    assert run(lambda: Reply({"ok": False}, "", contract.FAILED, error), "--json") == 1
    line, document = stderr_line(capsys)
    assert (line, json.loads(document)) == ("two tables are missing (migrate)", {"ok": False})


@pytest.mark.parametrize(
    "error, code",
    [
        pytest.param(errors.FeedmillError("x"), 1, id="tried and failed"),
        pytest.param(errors.RefusedError("x"), 1, id="refused by a rule"),
        pytest.param(errors.DatabaseError("x"), 1, id="no database"),
        pytest.param(IngestError("x"), 1, id="a run that failed"),
        pytest.param(errors.BadRequestError("x"), 2, id="bad request"),
        pytest.param(click.UsageError("x"), 2, id="wrong usage"),
        pytest.param(click.BadParameter("x"), 2, id="bad option"),
        pytest.param(errors.BusyError("x"), 75, id="busy"),
        pytest.param(click.Abort(), 130, id="stopped at a question"),
        pytest.param(FileNotFoundError(2, "No such file", "/x"), 1, id="error of the system"),
        pytest.param(ZeroDivisionError("x"), 1, id="unexpected"),
    ],
)
@pytest.mark.parametrize("arguments", [[], ["--json"]], ids=["for people", "for machines"])
def test_exit_code_and_one_line_by_error(capsys, error, code, arguments):
    assert run(lambda: fail(error), *arguments) == code
    line, document = stderr_line(capsys)
    assert "Traceback" not in line
    if arguments:
        told = json.loads(document)["error"]
        assert set(told) == {"code", "message", "hint"}
        assert told["message"] in line
    else:
        assert document == ""


def test_a_key_that_stops_the_command_is_told_below_it(capsys):
    assert run(lambda: fail(KeyboardInterrupt())) == 130
    assert capsys.readouterr() == ("", "\nfeedmill: stopped\n")  # the terminal shows ^C on the line before


def test_error_document_has_code_message_and_hint(capsys):
    run(lambda: fail(errors.BadRequestError("no feed 'x'", code="UNKNOWN_FEED", hint="see the list")), "--json")
    line, document = stderr_line(capsys)
    assert json.loads(document) == {"error": {"code": "UNKNOWN_FEED", "message": "no feed 'x'", "hint": "see the list"}}
    assert line == "no feed 'x' (see the list)"


def test_error_document_without_a_hint_has_null(capsys):
    run(lambda: fail(errors.RefusedError("no", code="STALE")), "--json")
    assert json.loads(capsys.readouterr().out)["error"]["hint"] is None


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(errors.FeedmillError("first\nsecond\r\n\tthird"), id="in the message"),
        pytest.param(errors.FeedmillError("first second third", hint="do\nthis"), id="in the hint"),
        pytest.param(click.UsageError("first\nsecond\nthird"), id="in a usage error"),
        pytest.param(RuntimeError("first\nsecond\nthird"), id="in an unexpected error"),
        pytest.param(OSError(5, "first\nsecond third", "/a\nb"), id="in an error of the system"),
    ],
)
def test_newlines_do_not_break_the_line(capsys, error):
    run(lambda: fail(error))
    assert "first second third" in stderr_line(capsys)[0]


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["--nonsense"], id="unknown option"),
        pytest.param(["one", "two"], id="one argument too many"),
        pytest.param(["--nonsense", "--json"], id="unknown option for machines"),
    ],
)
def test_wrong_usage_is_exit_code_two(capsys, arguments):
    assert run(lambda: Reply({}, ""), *arguments) == 2
    line, document = stderr_line(capsys)
    assert "--help" in line
    assert not document or json.loads(document)["error"]["code"] == "USAGE"


def test_unexpected_error_names_its_kind_and_the_way_to_see_more(capsys):
    assert run(lambda: 1 // 0) == 1
    line, _ = stderr_line(capsys)
    assert "ZeroDivisionError" in line
    assert "--debug" in line


def test_unexpected_error_shows_its_traceback_and_keeps_the_document_under_debug(capsys):
    assert run(lambda: 1 // 0, "--debug", "--json") == 1
    said = capsys.readouterr()
    assert json.loads(said.out)["error"]["code"] == "UNEXPECTED"
    assert "Traceback" in said.err
    assert "ZeroDivisionError" in said.err.splitlines()[-1]


def test_expected_error_shows_its_traceback_under_debug(capsys):
    assert run(lambda: fail(errors.RefusedError("stale")), "--debug") == 1
    said = capsys.readouterr().err
    assert "Traceback" in said
    assert said.splitlines()[-1] == "feedmill: stale"


def test_help_of_a_command_tells_the_options_that_all_have(capsys):
    assert run(lambda: Reply({}, ""), "--help") == 0
    said = capsys.readouterr().out
    assert "--json" in said
    assert "--debug" in said


@pytest.mark.parametrize("arguments", [[], ["--json"]], ids=["for people", "for machines"])
def test_output_that_cannot_be_written_is_told_in_one_line(capsys, monkeypatch, arguments):
    full = Path("/dev/full").open("w", encoding="utf-8")  # noqa: SIM115 - its close fails, which is the point
    monkeypatch.setattr("sys.stdout", full)
    try:
        assert run(lambda: Reply({"a": "b"}, "view"), *arguments) == 1
    finally:
        monkeypatch.undo()
        with suppress(OSError):
            full.close()
    assert "No space left" in stderr_line(capsys)[0]


def test_output_that_knows_ascii_only_still_gets_the_document(capsys, monkeypatch):
    narrow = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", narrow)
    assert run(lambda: Reply({"retailer": "Zelt & Söhne €"}, ""), "--json") == 0
    narrow.flush()
    assert json.loads(narrow.buffer.getvalue()) == {"retailer": "Zelt & Söhne €"}


def test_a_document_with_no_json_form_is_told_in_one_line(capsys):
    assert run(lambda: Reply({"a": object()}, ""), "--json") == 1
    assert "object" in stderr_line(capsys)[0]


@pytest.mark.parametrize(
    "text, shown",
    [
        pytest.param("\x1b[31mred\x1b]0;title\x07", "␛[31mred␛]0;title␇", id="escapes"),
        pytest.param("a\x7fb\x9bc\x00d\x08e", "a␡b\ufffdc␀d␈e", id="delete, C1, null, backspace"),
        pytest.param("first\nsecond", "first\nsecond", id="a newline stays"),
    ],
)
def test_control_characters_are_shown_not_obeyed(capsys, text, shown):
    run(lambda: Reply({}, text))
    run(lambda: Reply({}, table(("x",), [(text,)])))
    run(lambda: fail(errors.FeedmillError(text)))
    run(lambda: tell(text))
    said = capsys.readouterr()
    for line in shown.split("\n"):
        assert said.out.count(line) == said.err.count(line) == 2, said
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", said.out + said.err)


@pytest.mark.parametrize(
    "name, value",
    [
        pytest.param("FEEDMILL_HOME", "~nosuch-user/x", id="the home of nobody"),
        pytest.param("FEEDMILL_IDLE_SECONDS", "abc", id="an idle time that is a word"),
        pytest.param("FEEDMILL_IDLE_SECONDS", "nan", id="an idle time that is no number"),
    ],
)
def test_a_bad_setting_of_the_environment_is_a_wrong_request(capsys, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    assert run(lambda: Reply({}, "")) == 2
    assert name in stderr_line(capsys)[0]
