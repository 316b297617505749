"""The contract of the command line: one document under `--json`, one clear line for an error, the exit codes."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import click
from rich.console import Console, RenderableType

from db.clock import iso
from db.errors import BadRequestError, BusyError, FeedmillError

FAILED, USAGE, BLOCKED, BUSY, INTERRUPTED = 1, 2, 3, 75, 130

PIPE_WIDTH = 160  # rich cuts tables at 80 columns where there is no terminal


@dataclass(frozen=True)
class Reply:
    """What a command says: to machines the document, to people the view."""

    document: Any
    view: RenderableType
    exit_code: int = 0
    error: FeedmillError | None = None  # told on standard error as well, where the document already holds it


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
    try:
        answer = command.main(args=list(arguments), prog_name="feedmill", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as asked:
        sys.stderr.write(asked.format_message() + "\n")
        return USAGE
    except (FeedmillError, click.ClickException, click.Abort, KeyboardInterrupt, OSError) as error:
        if debug:
            Console(stderr=True).print_exception()
        return _tell(_as_ours(error), as_json=as_json)
    except Exception as error:
        if debug:
            raise
        return _tell(_unexpected(error), as_json=as_json)
    return _print(answer, as_json=as_json) if isinstance(answer, Reply) else int(answer or 0)


def _print(reply: Reply, *, as_json: bool) -> int:
    if as_json:
        sys.stdout.write(json.dumps(reply.document, indent=2, ensure_ascii=False, default=_plain) + "\n")
    elif reply.view:
        out().print(reply.view)
    if reply.error is not None:
        _tell_people(reply.error)
    sys.stdout.flush()
    return reply.exit_code


def out() -> Console:
    """Standard output for people."""
    console = Console(highlight=False, soft_wrap=False)
    return console if console.is_terminal else Console(highlight=False, width=PIPE_WIDTH)


def _tell(error: FeedmillError, *, as_json: bool) -> int:
    if as_json:
        document = {"error": {"code": error.code, "message": error.message, "hint": error.hint or None}}
        sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    _tell_people(error)
    return exit_code(error)


def _tell_people(error: FeedmillError) -> None:
    hint = f" ({error.hint})" if error.hint else ""
    sys.stderr.write(f"feedmill: {' '.join(error.message.split())}{hint}\n")


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
    said = error.format_message() if isinstance(error, click.ClickException) else str(error)
    return BadRequestError(said, code="USAGE", hint="see --help")


def _unexpected(error: Exception) -> FeedmillError:
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
