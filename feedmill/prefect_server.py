"""A temporary Prefect server: a process of its own on a free port of this machine, gone with whoever started it."""

import http.client
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from db.errors import FeedmillError
from feedmill import streams
from feedmill.prefect_template import DATABASE, copy_template, discard_copy, discard_template, keep_template

_STARTUP_SECONDS = 120  # 3.5 s to 12 s on two idle cores; ten times that on a machine that is busy
_STOP_SECONDS = 5  # measured: 0.2 s
_LOG = "server.log"
_LOG_LINES = 15

_SETTINGS = {
    # Relative to the server's folder: Prefect registers its block types anew whenever this text changes.
    "PREFECT_SERVER_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{DATABASE}",
    "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_UI_ENABLED": "false",
    "PREFECT_LOGGING_COLORS": "false",
}
# Nothing to schedule, no worker to watch, no automation to trigger. Left on: the services that record task runs and
# events, and the one that takes expired concurrency slots back.
_IDLE_SERVICES = (
    "SCHEDULER",
    "LATE_RUNS",
    "FOREMAN",
    "CANCELLATION_CLEANUP",
    "PAUSE_EXPIRATIONS",
    "CLEANUP_RECONCILER",
    "TRIGGERS",
)


@dataclass(frozen=True)
class PrefectServer:
    """How to reach a server that answers."""

    url: str
    auth_string: str = field(repr=False)  # `user:password`: other users of this machine can reach the port, too
    folder: Path


class PrefectUnavailableError(FeedmillError):
    """The temporary Prefect server did not start."""

    code = "PREFECT_UNAVAILABLE"
    hint = "start a server with `prefect server start` and set PREFECT_API_URL to its address"


@contextmanager
def temporary_server(*, services: bool = False) -> Iterator[PrefectServer]:
    """A server for as long as the context lasts. With `services` it also schedules the runs of deployments."""
    with tempfile.TemporaryDirectory(prefix="feedmill-prefect-", ignore_cleanup_errors=True) as name:
        process, server = _start(Path(name), services=services)
        try:
            yield server
        finally:
            _stop(process)


def _start(folder: Path, *, services: bool) -> tuple[subprocess.Popen[bytes], PrefectServer]:
    seeded = copy_template(folder)
    duration = "a few seconds" if seeded else "about 15 s the first time"
    streams.tell(f"starting a temporary Prefect server ({duration}; set PREFECT_API_URL to use yours)")
    if seeded:
        try:
            return _launch(folder, services=services)
        except PrefectUnavailableError:  # perhaps for its database: with a new one we know
            discard_template()
            discard_copy(folder)
    started = _launch(folder, services=services)
    keep_template(folder)
    return started


def _launch(folder: Path, *, services: bool) -> tuple[subprocess.Popen[bytes], PrefectServer]:
    auth_string = f"feedmill:{secrets.token_urlsafe(24)}"
    with socket.create_server(("127.0.0.1", 0)) as listener, (folder / _LOG).open("wb") as log:
        port = listener.getsockname()[1]
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and file
            # -P: the folder of this file must not be searched for modules
            [sys.executable, "-P", Path(__file__).with_name("prefect_child.py"), str(listener.fileno()), folder],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=[listener.fileno()],
            start_new_session=True,  # Ctrl-C in the terminal is for us; without its API, Prefect retries for 78 s
            cwd=folder,  # Prefect also reads .env, prefect.toml and pyproject.toml where it starts
            env=_environment(folder, auth_string, services=services),
        )
    try:
        _wait_until_healthy(process, port, folder / _LOG)
    except BaseException:
        _stop(process)
        raise
    return process, PrefectServer(url=f"http://127.0.0.1:{port}/api", auth_string=auth_string, folder=folder)


def _environment(folder: Path, auth_string: str, *, services: bool) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    off = () if services else _IDLE_SERVICES
    return {
        **inherited,
        **_SETTINGS,
        **{f"PREFECT_SERVER_SERVICES_{service}_ENABLED": "false" for service in off},
        "PREFECT_HOME": str(folder),
        "PREFECT_SERVER_API_AUTH_STRING": auth_string,
    }


def _wait_until_healthy(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + _STARTUP_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            message = f"the temporary Prefect server ended with code {process.returncode} at start-up{_tail(log)}"
            raise PrefectUnavailableError(message)
        if _is_healthy(port):
            return
        time.sleep(0.05)
    message = f"the temporary Prefect server gave no answer for {_STARTUP_SECONDS} s{_tail(log)}"
    raise PrefectUnavailableError(message)


def _is_healthy(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)  # never through a proxy
    try:
        connection.request("GET", "/api/health")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _tail(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LOG_LINES:]
    return ":\n" + "\n".join(lines) if lines else "; it said nothing"


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the whole process group: politely, then not."""
    with suppress(OSError):  # it is gone already
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.stdin:
        process.stdin.close()
