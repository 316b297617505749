"""The one place that hides secrets: in texts, addresses, log records and exceptions, with all that caused them.

What is secret is known while it is in use (`kept_secret`), or stands in the environment. Texts shorter than four
characters are left alone: hiding every `a` would spoil what is said and tell the password by its absence.
"""

import json
import logging
import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, quote_plus, unquote, urlsplit

from db.errors import FeedmillError

HIDDEN = "[hidden]"
SHORTEST = 4
_SHORTEST_LINE = 16  # of a private key: what is shorter says nothing, or is a word of its frame

_KEYS = ("CREDENTIAL_ENCRYPTION_KEY_B64", "CREDENTIAL_ENCRYPTION_OLD_KEY_B64", "PREFECT_API_KEY")
_ADDRESSES = ("FEEDMILL_DATABASE_URL", "FEEDMILL_SLACK_WEBHOOK_URL")
_IN_ADDRESS = re.compile(r"(?P<before>[a-z][a-z0-9+.-]*://[^\s/:@]*):[^\s/]*@", re.IGNORECASE)

_guard = threading.Lock()
_secrets: Counter[str] = Counter()
_users: Counter[str] = Counter()
_factories: list[Callable[..., logging.LogRecord]] = []  # that of whoever set one before us


@contextmanager
def kept_secret(*secrets: str | None, users: tuple[str | None, ...] = ()) -> Iterator[None]:
    """Hide these in every log record meanwhile, and in what is raised out of the context.

    User names are hidden only in what others raise: they are no secret, and may well be part of a path.
    """
    forms = [form for secret in secrets if secret for form in _forms(secret)]
    names = [name for name in users if name]
    _remember(forms, names)
    try:
        yield
    except BaseException as error:
        scrub(error)
        raise
    finally:
        _forget(forms, names)


def hide(text: str) -> str:
    """The text without the secrets that are known, and without the password of any address in it."""
    for form in sorted({*_secrets, *_standing()}, key=len, reverse=True):
        text = text.replace(form, HIDDEN)
    return _IN_ADDRESS.sub(rf"\g<before>:{HIDDEN}@", text)


def scrub(error: BaseException) -> None:
    """Hide secrets in an exception and in all that it came from, in place."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        _scrub_one(one)
        waiting += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]


def _scrub_one(error: BaseException) -> None:
    is_ours = isinstance(error, FeedmillError)
    error.args = tuple(_cleaned(value, is_ours=is_ours) for value in error.args)
    for name in {*vars(error), "strerror", "filename"}:
        value = getattr(error, name, None)
        if isinstance(value, str):
            setattr(error, name, _cleaned(value, is_ours=is_ours))
    if isinstance(error, UnicodeEncodeError):
        error.object = HIDDEN  # the whole text that would not encode


def _cleaned(value: Any, *, is_ours: bool) -> Any:
    if not isinstance(value, str):
        return value
    text = hide(value)
    for name in () if is_ours else tuple(_users):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", HIDDEN, text)
    return text


def _forms(secret: str) -> set[str]:
    """A secret as it may be written: plain, quoted for an address, escaped by repr or JSON; a key by its lines."""
    ways = {secret, quote(secret, safe=""), quote_plus(secret), repr(secret)[1:-1], json.dumps(secret)[1:-1]}
    lines = {line.strip() for line in secret.splitlines() if not line.startswith("--")}
    ways |= {line for line in lines if len(line) >= _SHORTEST_LINE}
    return {way for way in ways if len(way) >= SHORTEST}


def _standing() -> set[str]:
    """What the environment holds for the life of the process."""
    keys = {os.environ.get(name, "") for name in _KEYS}
    for name in _ADDRESSES:
        try:
            password = urlsplit(os.environ.get(name, "")).password or ""
        except ValueError:
            password = ""
        keys |= {password, unquote(password)}
    return {key for key in keys if len(key) >= SHORTEST}


def _remember(forms: list[str], names: list[str]) -> None:
    with _guard:
        _secrets.update(forms)
        _users.update(names)
        if logging.getLogRecordFactory() is not _clean_record:
            _factories.append(logging.getLogRecordFactory())
            logging.setLogRecordFactory(_clean_record)


def _forget(forms: list[str], names: list[str]) -> None:
    with _guard:
        for counted, items in ((_secrets, forms), (_users, names)):
            counted.subtract(items)
            for item in [item for item, count in counted.items() if count <= 0]:
                del counted[item]
        if not _secrets and logging.getLogRecordFactory() is _clean_record:
            logging.setLogRecordFactory(_factories.pop())


def _clean_record(*args: Any, **kwargs: Any) -> logging.LogRecord:
    """A record as any other, but that its message is written out and clean."""
    make = _factories[-1] if _factories else logging.LogRecord  # another thread may have just taken it back
    record = make(*args, **kwargs)
    try:
        record.msg, record.args = hide(record.getMessage()), None
    except Exception:  # noqa: BLE001 - a format that does not fit its arguments: logging tells it, without secrets
        record.msg, record.args = hide(str(record.msg)), None
    if record.exc_info and record.exc_info[1] is not None:
        scrub(record.exc_info[1])
    return record
