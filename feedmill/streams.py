"""The standard streams as they are found: closed, full, narrow, or left by whoever read them."""

import os
import re
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TextIO

from rich.console import Console
from rich.segment import Segment
from rich.text import Text

# C0 but tab and newline, DEL, C1: in a terminal they would move the cursor, recolour it or rename its window.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def make_usable() -> None:
    """Let every write succeed that can: nowhere for a stream that was closed, escapes for what it cannot encode."""
    sys.stdin = sys.stdin or _nowhere("r")
    sys.stdout = sys.stdout or _nowhere("w")
    sys.stderr = sys.stderr or _nowhere("w")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _nowhere(mode: str) -> TextIO:
    return open(os.devnull, mode, encoding="utf-8")  # type: ignore[return-value] # noqa: PTH123 - for good


@contextmanager
def until_the_reader_leaves() -> Iterator[None]:
    """Write to standard output; a reader who has seen enough and closed the pipe changes nothing else."""
    try:
        yield
    except BrokenPipeError:
        discard(sys.stdout)
    except OSError:
        discard(sys.stdout)
        raise


def reader_has_left() -> bool:
    """Whether standard output is the pipe that broke; then what it still holds goes nowhere."""
    look = select.poll()
    look.register(sys.stdout.fileno(), select.POLLOUT)
    has_left = any(events & (select.POLLERR | select.POLLHUP) for _, events in look.poll(0))
    if has_left:
        discard(sys.stdout)
    return has_left


def discard(stream: TextIO) -> None:
    """Send nowhere what the stream still holds, or Python would fail on it at the end of the process."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def tell(line: str) -> None:
    """A line on standard error, where somebody can still be told something there."""
    try:
        sys.stderr.write(visible(line) + "\n")
        sys.stderr.flush()
    except OSError:
        discard(sys.stderr)


def visible(text: str) -> str:
    """The text with a sign for each control character; newlines and tabs stay."""
    return _CONTROLS.sub(_sign, text)


def _sign(found: re.Match[str]) -> str:
    code = ord(found.group())
    if code < 0x20:
        return chr(0x2400 + code)  # ␛ for escape
    return "␡" if code == 0x7F else "\ufffd"


class Paper(Console):
    """A console that prints no control character but its own, and leaves a closed pipe to the caller."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError

    def render_str(self, text: str, **options: Any) -> Text:
        """Before rich measures it: rich drops some of them, and gives the others no width."""
        return super().render_str(visible(text), **options)

    def render(self, renderable: Any, options: Any = None) -> Iterator[Segment]:
        """What comes as something else than a string, as tracebacks do."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))
