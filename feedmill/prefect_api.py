"""Which Prefect API the flows called in this process use: the configured one, or a temporary server."""

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from feedmill.prefect_server import PrefectServer, temporary_server

_DRAIN_SECONDS = 5


@contextmanager
def prefect_api() -> Iterator[str]:
    """The address of the API that flows called inside the context use.

    A server named by `PREFECT_API_URL`, in the environment or in the active profile, is used as it is. Without one, a
    temporary server is started; raises PrefectUnavailableError if that does not work.
    """
    configured = configured_url()
    if configured:
        yield configured
        return
    with temporary_prefect_api() as url:
        yield url


@contextmanager
def temporary_prefect_api(*, services: bool = False) -> Iterator[str]:
    """The address of a server that lives as long as the context, whatever is configured."""
    with temporary_server(services=services) as server, _environment(server), _settings(server):
        yield server.url


def configured_url() -> str | None:
    """The server that the environment or the active profile names."""
    if os.environ.get("PREFECT_API_URL"):
        return os.environ["PREFECT_API_URL"]
    # Importing Prefect reports a first use to its makers from an interactive terminal; nobody asked for that.
    os.environ.setdefault("DO_NOT_TRACK", "1")
    from prefect.settings import get_current_settings  # noqa: PLC0415 - takes a second; not needed with an address

    return get_current_settings().api.url


@contextmanager
def _environment(server: PrefectServer) -> Iterator[None]:
    """For the processes that we start, and for proxies: an address of this machine is not for them."""
    spared = ",".join(filter(None, [os.environ.get("NO_PROXY") or os.environ.get("no_proxy"), "127.0.0.1"]))
    ours = {
        "DO_NOT_TRACK": "1",
        "PREFECT_API_URL": server.url,
        "PREFECT_API_AUTH_STRING": server.auth_string,
        "NO_PROXY": spared,
        "no_proxy": spared,
    }
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _settings(server: PrefectServer) -> Iterator[None]:
    """For this process: Prefect read its settings when it was imported, and looks at the environment no more."""
    from prefect.context import _temporary_global_settings_context, get_settings_context  # noqa: PLC0415
    from prefect.settings import temporary_settings  # noqa: PLC0415

    updates = {
        "api.url": server.url,
        "api.auth_string": server.auth_string,
        "api.key": None,
        # Every flow would wait up to a second for its heartbeat thread to wake and end. Only automations read
        # heartbeats, and a temporary server has none.
        "flows.heartbeat_frequency": None,
        # Prefect pickles what a flow raised, whether results are kept or not: into the server's folder, gone with it.
        "results.local_storage_path": server.folder / "storage",
    }
    _send_what_is_queued()
    # The second makes threads with a context of their own see the same settings, as Prefect's test harness has it.
    with temporary_settings(updates), _temporary_global_settings_context(get_settings_context()):
        try:
            yield
        finally:
            _send_what_is_queued()


def _send_what_is_queued() -> None:
    """Logs and events go out in the background, each to the server for which its worker thread was started.

    What is left over when that server is gone would fail, loudly, at the end of the process.
    """
    from prefect.events.worker import EventsWorker  # noqa: PLC0415
    from prefect.logging.handlers import APILogWorker  # noqa: PLC0415

    def drain() -> None:
        APILogWorker.drain_all(timeout=_DRAIN_SECONDS)
        EventsWorker.drain_all(timeout=_DRAIN_SECONDS)

    # In a thread: a notebook's own thread has a running event loop, and there drain_all would only return a coroutine.
    thread = threading.Thread(target=drain, daemon=True)
    logger = logging.getLogger(EventsWorker.__name__)
    logger.disabled = True  # it warns of every event that is not sent yet, even if it is a matter of milliseconds
    try:
        thread.start()
        thread.join()
    finally:
        logger.disabled = False
