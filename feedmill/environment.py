"""What the environment sets, looked at before anything is done."""

import math
import os
from pathlib import Path

from db.errors import BadRequestError


def refuse_bad_settings() -> None:
    """Refuse a home that cannot be found and an idle time that is no number."""
    _check_home(os.environ.get("FEEDMILL_HOME", ""))
    _check_idle_seconds(os.environ.get("FEEDMILL_IDLE_SECONDS", ""))


def _check_home(text: str) -> None:
    try:
        Path(text).expanduser()
    except RuntimeError:  # pathlib's word for a user whom nobody knows
        message = f"FEEDMILL_HOME is {text!r}, the home of a user who does not exist"
        raise BadRequestError(message, code="BAD_VALUE", hint="name a folder of your own") from None


def _check_idle_seconds(text: str) -> None:
    try:
        is_number = not text or math.isfinite(float(text))
    except ValueError:
        is_number = False
    if not is_number:
        message = f"FEEDMILL_IDLE_SECONDS is not a number: {text!r}"
        raise BadRequestError(message, code="BAD_VALUE")
