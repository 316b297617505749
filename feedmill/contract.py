"""The contract of the command line: one document under `--json`, one clear line for an error, the exit codes."""

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import click
from rich.console import Console, RenderableType

from db.clock import iso
from db.errors import BadRequestError, BusyError, FeedmillError
from feedmill import environment, streams
from feedmill.telling import Lines
from tasks import progress, redaction

FAILED, USAGE, BLOCKED, BUSY, INTERRUPTED = 1, 2, 3, 75, 130

PIPE_WIDTH = 160  # rich cuts tables at 80 columns where there is no terminal


@dataclass(frozen=True)
class Reply:
    """What a command says: to machines the document, to people the view."""

    document: Any
    view: RenderableType
    exit_code: int = 0
    error: FeedmillError | None = None  # told on standard error as well, where the document already holds it
    text: str | None = None  # to be printed to the letter instead of the view


class Command(click.Command):
    """A command with the options that every command has; `run` looks for them itself, before anything can fail."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, help_text in (("--json", "Print one JSON document."), ("--debug", "Show the traceback of an error.")):
            self.params.append(click.Option([name], is_flag=True, expose_value=False, help=help_text))


class Group(click.Group):
    """A group of such commands."""

    command_class = Command
    group_class = type  # groups inside are of this class too


def run(command: click.Command, arguments: Sequence[str]) -> int:
    """Run the command line and keep the contract; the exit code."""
    as_json, debug = "--json" in arguments, "--debug" in arguments
    streams.make_usable()
    try:
        _refuse_other_encodings(arguments)
        environment.refuse_bad_settings()
        with progress.heard_by(Lines()):
            answer = command.main(args=list(arguments), prog_name="feedmill", standalone_mode=False)
        return _print(answer, as_json=as_json) if isinstance(answer, Reply) else int(answer or 0)
    except click.exceptions.NoArgsIsHelpError as asked:
        streams.tell(asked.format_message())
        return USAGE
    except SystemExit:  # click's word for a broken pipe
        is_output = streams.reader_has_left()  # of --help, or of what prints as it goes
        return 0 if is_output else _tell(_as_ours(BrokenPipeError("broken pipe")), as_json=as_json, debug=debug)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - told in one line; --debug shows the traceback
        redaction.scrub(error)
        return _tell(_as_ours(error), as_json=as_json, debug=debug)


def _refuse_other_encodings(arguments: Sequence[str]) -> None:
    """Bytes that are not UTF-8 arrive as lone surrogates, which no database or file of ours takes."""
    for argument in arguments:
        if any(0xD800 <= ord(char) <= 0xDFFF for char in argument):
            message = f"the argument {argument!r} is not UTF-8"
            raise BadRequestError(message, code="BAD_VALUE")


def _print(reply: Reply, *, as_json: bool) -> int:
    with streams.until_the_reader_leaves():
        if as_json:
            _write_document(reply.document)
        elif reply.text is not None:
            sys.stdout.write(reply.text)
        elif reply.view:
            out().print(reply.view, soft_wrap=isinstance(reply.view, str))
        sys.stdout.flush()
    if reply.error is not None:
        _tell_people(reply.error)
    return reply.exit_code


def _write_document(document: Any) -> None:
    text = json.dumps(document, indent=2, ensure_ascii=False, default=_plain) + "\n"
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(document, indent=2, ensure_ascii=True, default=_plain) + "\n"
    sys.stdout.write(text)


def out() -> Console:
    """Standard output for people. What it is given may come from a feed, so brackets and colons mean themselves."""
    plain = {"highlight": False, "markup": False, "emoji": False}
    console = streams.Paper(**plain)  # type: ignore[arg-type]
    return console if console.is_terminal else streams.Paper(width=PIPE_WIDTH, **plain)  # type: ignore[arg-type]


def _tell(error: FeedmillError, *, as_json: bool, debug: bool) -> int:
    if as_json:
        # If nobody can be told there, standard error still can.
        with suppress(OSError), streams.until_the_reader_leaves():
            _write_document({"error": {"code": error.code, "message": error.message, "hint": error.hint or None}})
            sys.stdout.flush()
    if debug:
        with suppress(OSError):
            streams.Paper(stderr=True).print_exception()
    _tell_people(error)
    return exit_code(error)


def _tell_people(error: FeedmillError) -> None:
    said = f"{error.message} ({error.hint})" if error.hint else error.message
    streams.tell(f"feedmill: {' '.join(said.split())}")


def exit_code(error: FeedmillError) -> int:
    if error.code == "INTERRUPTED":
        return INTERRUPTED
    if isinstance(error, BusyError):
        return BUSY
    return USAGE if isinstance(error, BadRequestError) else FAILED


def _as_ours(error: BaseException) -> FeedmillError:
    if isinstance(error, FeedmillError):
        return error
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return FeedmillError("stopped", code="INTERRUPTED")
    if isinstance(error, OSError):
        return FeedmillError(f"{error.strerror or error}: {error.filename or ''}".strip(": "), code="SYSTEM_ERROR")
    if isinstance(error, click.ClickException):
        return BadRequestError(error.format_message(), code="USAGE", hint="see --help")
    message = f"an unexpected error, {type(error).__name__}: {error}"
    return FeedmillError(message, code="UNEXPECTED", hint="--debug shows where")


def _plain(value: object) -> Any:
    """The JSON form of what a document may hold: times in ISO 8601 UTC, money as text."""
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, UUID):
        return str(value)
    message = f"{type(value).__name__} has no place in a document"
    raise TypeError(message)
