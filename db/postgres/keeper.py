"""The process that watches the embedded Postgres and stops it when nobody has used it for a while."""

import os
import subprocess
import sys
import time
from pathlib import Path

from db.postgres import filelock, place
from db.postgres.cluster import Cluster

_LOOK_SECONDS = 5.0
_ENVIRONMENT = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH")  # and no secret of the starter


def watch(cluster: Cluster, idle_seconds: float) -> None:
    """Renew the server's time, and give it a keeper if it has none. Under the cluster's lock, and before the start.

    The keeper waits for that lock too, so a starter that is killed half-way leaves no server unwatched.
    """
    cluster.place.renewed.touch(mode=0o600)
    lock = filelock.take(cluster.place.keeper_lock)
    if lock is None:
        return
    try:
        _spawn(lock, idle_seconds, home=cluster.place.home)
    finally:
        os.close(lock)  # the keeper's own copy goes on holding it


def wait_until_gone(cluster: Cluster, seconds: float) -> None:
    """Return when the keeper has left, or stays because somebody started the server again."""
    deadline = time.monotonic() + seconds
    while filelock.is_held(cluster.place.keeper_lock):
        if cluster.is_running() or time.monotonic() > deadline:
            return
        time.sleep(0.02)


def keep(cluster: Cluster, lock: int, idle_seconds: float) -> None:
    """Return when the server has gone, or was stopped here because nobody used it for `idle_seconds`."""
    renewal, used = 0, time.monotonic()
    while True:
        cluster.wait_for_end(min(_LOOK_SECONDS, idle_seconds / 4))
        seen = _renewal(cluster)
        is_alive = cluster.is_alive()
        if is_alive and (seen != renewal or cluster.is_in_use()):
            renewal, used = seen, time.monotonic()
        elif not is_alive or time.monotonic() - used >= idle_seconds:
            if _retire(cluster, lock, renewal):
                return
            time.sleep(0.1)


def _retire(cluster: Cluster, lock: int, renewal: int) -> bool:
    """Leave, with the server if it is still unused; False if somebody is starting, or has come."""
    if not cluster.place.folder.exists():
        return True
    with filelock.trying(cluster.place.start_lock) as is_mine:
        if not is_mine:
            return False
        if cluster.is_alive():
            if _renewal(cluster) != renewal or cluster.is_in_use():
                return False
            cluster.stop()
        os.close(lock)  # before the next starter can look, or it would think the server watched
        return True


def _renewal(cluster: Cluster) -> int:
    try:
        return cluster.place.renewed.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _spawn(lock: int, idle_seconds: float, *, home: Path) -> None:
    ours = str(Path(__file__).parents[2])
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (ours, environment.get("PYTHONPATH"))))
    keeper = [sys.executable, "-m", "db.postgres.keeper", str(lock), str(idle_seconds), str(home)]
    # By way of a shell that ends at once, so that it is nobody's child and leaves nobody a zombie.
    subprocess.run(  # noqa: S603  # our own module
        ["/bin/sh", "-c", '"$@" &', "sh", *keeper],
        cwd="/",
        env=environment,
        pass_fds=[lock],
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )


def main(arguments: list[str]) -> None:
    lock, idle_seconds, home = arguments
    if found := place.find(Path(home)):
        keep(Cluster(found), int(lock), float(idle_seconds))
    os._exit(0)  # at once: whoever waits for the lock takes it that this process is gone


if __name__ == "__main__":
    main(sys.argv[1:])
