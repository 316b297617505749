"""Feeds that flows can run, on the session's Prefect server and a database of the test's own."""

import base64

import pytest

from tests.mill import Mill


@pytest.fixture
def drawer(prefect_session, conn, tmp_path, monkeypatch):
    """A feed that is not on file yet; its runs may be dated, and wait for nothing between attempts."""
    from tasks.catalogue import steps  # noqa: PLC0415 - brings Prefect, which most tests do without
    from tasks.catalogue.shelf.steps import settle  # noqa: PLC0415

    monkeypatch.setenv("FEEDMILL_TEST_CLOCK", "1")
    monkeypatch.setenv("CREDENTIAL_ENCRYPTION_KEY_B64", base64.b64encode(bytes(range(32))).decode())
    for step in (steps.fetch_file, steps.keep_file, steps.load_file, settle, steps.skip):
        monkeypatch.setattr(step, "retry_delay_seconds", [0, 0])
    return Mill(conn, tmp_path / "catalog.csv")


@pytest.fixture
def mill(drawer):
    """A feed that reads a local file."""
    return drawer.put_on_file()
