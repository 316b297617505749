"""The name of whoever acts."""

import getpass
import os
import pwd

import pytest

from tasks.person import user_name


@pytest.fixture
def nameless(monkeypatch):
    """A user id that no file of the machine knows."""

    def unknown(uid):
        message = f"getpwuid(): uid not found: {uid}"
        raise KeyError(message)

    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.setattr(os, "getuid", lambda: 54321)


def test_user_name_is_the_login_name():
    assert user_name() == getpass.getuser()


def test_user_name_of_an_id_without_one_is_the_id(nameless):
    assert user_name() == "uid-54321"
