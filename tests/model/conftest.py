"""A world for histories: a database of the test's own, and its doors."""

import pytest

from tests.model.check import opened_world


@pytest.fixture
def world(database, tmp_path, monkeypatch):
    with opened_world(database, tmp_path, monkeypatch) as world:
        yield world
