"""Hints with the key of the feed in them: where an error is made, it is often not known."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from db.errors import FeedmillError

_PLACE = re.compile(r"\bKEY\b")  # not the one within CREDENTIAL_ENCRYPTION_KEY_B64


@contextmanager
def naming(key: str) -> Iterator[None]:
    """Errors that leave the context name this feed in their hints."""
    try:
        yield
    except FeedmillError as error:
        error.hint = hint_of(error, key)
        raise


def hint_of(error: FeedmillError, key: str) -> str:
    """The hint of an error, to be typed as it stands."""
    return _PLACE.sub(lambda _: key, error.hint)
