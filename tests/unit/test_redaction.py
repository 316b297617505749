"""Secrets are in nothing that is said: texts, addresses, log records, exceptions and what they came from."""

import base64
import logging
import traceback
from urllib.parse import quote

import pytest

from db.errors import FeedmillError
from tasks import redaction
from tasks.redaction import HIDDEN, hide, kept_secret

PASSWORD = "p:a ss wörd €/@'x"


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(PASSWORD, id="plain"),
        pytest.param(quote(PASSWORD, safe=""), id="quoted for an address"),
        pytest.param(repr(PASSWORD), id="by repr"),
        pytest.param("p:a ss w\\u00f6rd \\u20ac/@'x", id="in JSON"),
    ],
)
def test_hide_knows_a_secret_in_every_form(form):
    with kept_secret(PASSWORD):
        assert "ss" not in hide(f"said {form} twice: {form}")
    assert hide(form) == form  # it is not secret any more, and known no more


@pytest.mark.parametrize(
    "text, clean",
    [
        ("sftp://feeds:hunter2@host/x", f"sftp://feeds:{HIDDEN}@host/x"),
        ("at postgresql://u:p%40ss@db:5432/x, then", f"at postgresql://u:{HIDDEN}@db:5432/x, then"),
        ("ftp://feeds@host:21/a:b@c", "ftp://feeds@host:21/a:b@c"),
        ("http://127.0.0.1:4200/api", "http://127.0.0.1:4200/api"),
        ("nothing to hide: a@b", "nothing to hide: a@b"),
    ],
)
def test_hide_takes_the_password_out_of_any_address(text, clean):
    assert hide(text) == clean


def test_hide_knows_what_stands_in_the_environment(monkeypatch):
    key = base64.b64encode(bytes(range(32))).decode()
    monkeypatch.setenv("CREDENTIAL_ENCRYPTION_KEY_B64", key)
    monkeypatch.setenv("FEEDMILL_DATABASE_URL", "postgresql://u:s3cr%2Ft@db/x")
    assert hide(f"{key} and s3cr/t and s3cr%2Ft") == f"{HIDDEN} and {HIDDEN} and {HIDDEN}"


def test_short_texts_are_left_alone():
    with kept_secret("ab"):
        assert hide("about") == "about"


def test_lines_of_a_private_key_are_hidden_one_by_one():
    key = "-----BEGIN X-----\nQUJDREVGR0hJSktMTU5PUFFSU1Q=\n-----END X-----\n"
    with kept_secret(key):
        assert hide("in line 2: QUJDREVGR0hJSktMTU5PUFFSU1Q=") == f"in line 2: {HIDDEN}"


def _raise(error, cause=None):
    raise error from cause


def test_exceptions_and_their_causes_are_scrubbed():
    cause = OSError(5, f"no {PASSWORD}", f"/{PASSWORD}")
    cause.__context__ = UnicodeEncodeError("ascii", PASSWORD, 0, 1, "bad")
    error = RuntimeError(f"sent PASS {PASSWORD} for feed-user", 7)
    error.reason = f"because {PASSWORD}"
    with pytest.raises(RuntimeError) as caught, kept_secret(PASSWORD, users=("feed-user",)):
        _raise(error, cause)
    said = "".join(traceback.format_exception(caught.value)) + repr(vars(error)) + repr(cause.__context__)
    assert "wörd" not in said
    assert "feed-user" not in str(error)
    assert error.args[1] == 7


def test_user_names_stay_in_our_own_words():
    with pytest.raises(FeedmillError, match=r"/feeds/x\.csv"), kept_secret(PASSWORD, users=("feeds",)):
        _raise(FeedmillError("no file at /feeds/x.csv"))


def test_log_records_are_clean_while_the_secret_is_in_use(caplog):
    logger = logging.getLogger("somebody.else")
    with caplog.at_level(logging.DEBUG), kept_secret(PASSWORD):
        logger.debug("login %s with %r", "feeds", PASSWORD)
        logger.info("%d is no number: " + PASSWORD, "x")
        try:
            _raise(ValueError(PASSWORD))
        except ValueError:
            logger.exception("failed")
    assert "wörd" not in caplog.text
    assert f"login feeds with '{HIDDEN}'" in caplog.text or HIDDEN in caplog.text
    assert logging.getLogRecordFactory() is logging.LogRecord


def test_secrets_in_use_twice_are_known_until_the_last_is_done():
    with kept_secret(PASSWORD):
        with kept_secret(PASSWORD):
            pass
        assert hide(PASSWORD) == HIDDEN
    assert redaction._secrets == {}
