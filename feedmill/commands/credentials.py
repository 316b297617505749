"""What a feed logs in with, as the command line takes it: never as an argument."""

import getpass
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from db.enums import SecretKind
from db.errors import BadRequestError

Secret = tuple[str, SecretKind]

_OPTIONS = (
    click.option("--password-stdin", is_flag=True, help="Read the password from standard input; blank keeps the old"),
    click.option(
        "--private-key",
        metavar="FILE",
        type=click.Path(path_type=Path, allow_dash=True),
        help="Log in with this SSH key, stored encrypted in place of a password; - reads standard input",
    ),
    click.option("--passphrase-stdin", is_flag=True, help="Read the passphrase of the key from standard input"),
)


def secret_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that `add` and `set` share."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_secret(*, password_stdin: bool, private_key: Path | None, passphrase_stdin: bool) -> Secret | None:
    """The password or the key without its passphrase, and which of them it is; None for neither."""
    if private_key is None:
        if passphrase_stdin:
            message = "--passphrase-stdin goes with --private-key"
            raise BadRequestError(message, code="USAGE")
        password = _line("password") if password_stdin else None
        return (password, SecretKind.PASSWORD) if password else None
    from tasks.transport_keys import usable_private_key  # noqa: PLC0415 - asyncssh takes a quarter of a second

    from_stdin = str(private_key) == "-"
    if password_stdin or (from_stdin and passphrase_stdin):
        message = "standard input holds one secret: a password, or a key, or its passphrase"
        raise BadRequestError(message, code="USAGE")
    passphrase = _line("passphrase") if passphrase_stdin else None
    text = _typed(sys.stdin.read, "private key", code="BAD_PRIVATE_KEY") if from_stdin else _text(private_key)
    return usable_private_key(text, passphrase), SecretKind.PRIVATE_KEY


def _line(what: str) -> str | None:
    """The first line of standard input, asked for without echo at a terminal; None for none."""
    ask = partial(getpass.getpass, f"{what}: ") if sys.stdin.isatty() else sys.stdin.readline
    return _typed(ask, what, code="BAD_VALUE").rstrip("\r\n") or None


def _typed(read: Callable[[], str], what: str, *, code: str) -> str:
    """What `read` gives; refuses other bytes than UTF-8, which in the locale C arrive as lone surrogates."""
    try:
        text = read()
        text.encode()
    except UnicodeError:
        message = f"the {what} on standard input is not UTF-8"
        raise BadRequestError(message, code=code) from None  # the cause carries the secret
    return text


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"the private key {path} cannot be read: {getattr(error, 'strerror', None) or 'it is not text'}"
        raise BadRequestError(message, code="BAD_PRIVATE_KEY") from None
