"""One Postgres data folder and its server: made, started, looked at, stopped, removed."""

import os
import shutil
import signal
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import psutil  # type: ignore[import-untyped]  # ships no type hints
import psycopg
from psycopg import pq

from db.errors import DatabaseError
from db.postgres import binaries, door, filelock, postmaster, server_settings
from db.postgres.place import Place, forget
from db.postgres.programs import Programs

_RECOVERY_SECONDS = 3600
_ORPHAN_SECONDS = 2  # the processes of a killed server notice within milliseconds, unless they compute
_LEFTOVER_SECONDS = 60
_STOP_SECONDS = {signal.SIGINT: 120, signal.SIGQUIT: 30}  # fast: with a checkpoint; immediate: like a crash


@dataclass(frozen=True)
class Cluster:
    """The server at `place`, run by the programs in `bin_dir` or, without one, by those that come with feedmill.

    Start, stop and remove it under its lock.
    """

    place: Place
    bin_dir: Path | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    def locked(self) -> AbstractContextManager[None]:
        """The right to start and stop, for one process at a time."""
        return filelock.holding(self.place.start_lock)

    def url(self, database: str = server_settings.ROLE) -> str:
        """Where to connect: a socket folder, and no network."""
        folder = door.find(self.place)
        if folder is None:
            message = "the embedded database is not running"
            raise DatabaseError(message)
        return f"postgresql://{server_settings.ROLE}@/{database}?host={quote(str(folder), safe='')}&port={door.PORT}"

    def is_running(self) -> bool:
        return self._server() is not None

    def is_alive(self) -> bool:
        """Whether any process of the server is left, also one that is still starting or outlived a killed server."""
        return self.is_running() or filelock.is_held(self.place.server_lock)

    def is_in_use(self) -> bool:
        """Whether a client is connected, or may be: a server that is full or recovers counts as used."""
        answer = self._ping()
        if answer != pq.Ping.OK:
            return answer == pq.Ping.REJECT
        query = (
            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        try:
            with psycopg.connect(self.url("postgres"), autocommit=True, connect_timeout=10) as connection:
                return connection.execute(query).fetchone() != (0,)
        except psycopg.OperationalError:
            return True

    def wait_for_end(self, seconds: float) -> None:
        """Return when the server's last process is gone, or after so many seconds."""
        deadline = time.monotonic() + seconds
        while self.is_alive() and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(left, 0.25))

    def start(self) -> None:
        """Serve, and return when the server answers. Makes the data if missing, repairs what a crash left."""
        began = time.monotonic()
        while not self._settles():
            lock = filelock.take(self.place.server_lock)
            if lock is None:
                self._outlast_leftovers(time.monotonic() - began)
                continue
            try:
                self._launch(lock)
            finally:
                os.close(lock)
            return

    def stop(self) -> bool:
        """End the server and wait until its last process is gone; False if none ran."""
        server = self._server()
        if server is None:
            return False
        for how, seconds in _STOP_SECONDS.items():
            deadline = time.monotonic() + seconds
            server.send_signal(how)
            while time.monotonic() < deadline:
                if not self.is_alive():
                    return True
                time.sleep(0.02)
        message = f"the embedded database (process {server.pid}) does not stop"
        raise DatabaseError(message, hint=f"its log is {self.place.log}")

    def remove(self) -> None:
        """Stop, and delete everything: data, socket, log."""
        self.stop()
        door.remove(self.place)
        shutil.rmtree(self.place.folder)
        forget(self.place)

    def _server(self) -> psutil.Process | None:
        return postmaster.find(self.place.data, self.place.tag)

    def _ping(self) -> int:
        folder = door.find(self.place)
        return pq.PGconn.ping(f"{self.url()}&connect_timeout=5".encode()) if folder else pq.Ping.NO_RESPONSE

    def _settles(self) -> bool:
        """True when the running server answers, False when there is none, or none any more."""
        deadline = time.monotonic() + _RECOVERY_SECONDS
        while self.is_running():
            if self._ping() == pq.Ping.OK:
                return True
            status = postmaster.status(self.place.data)
            # On its way out it may wait for its clients for ever; without its socket nobody finds it.
            if status == "stopping" or (status == "ready" and not door.is_open(self.place)):
                self.stop()
            if time.monotonic() > deadline:
                message = f"the embedded database is still starting after {_RECOVERY_SECONDS} seconds"
                raise DatabaseError(message, hint=f"its log is {self.place.log}")
            time.sleep(0.05)
        return False

    def _outlast_leftovers(self, waited: float) -> None:
        if waited > _LEFTOVER_SECONDS:
            message = f"{self.place.folder} is in use, though no server of this machine runs there"
            raise DatabaseError(message, hint="stop the container or machine that shares this folder")
        if waited > _ORPHAN_SECONDS:
            postmaster.kill_orphans(self.place.tag)
        time.sleep(0.05)

    def _launch(self, lock: int) -> None:
        """With the server's lock in hand nothing of an earlier server is left alive."""
        programs = Programs(self.bin_dir or binaries.bundled(self.place.account), self.place)
        folder = door.make(self.place)
        door.sweep(folder)
        if (self.place.data / "PG_VERSION").exists():
            postmaster.forget(self.place.data)
            server_settings.write(self.place, self.place.data, socket_folder=folder, extra=self.settings)
        else:
            programs.make_data(lock=lock, socket_folder=folder, extra=self.settings)
        programs.launch(lock=lock)
