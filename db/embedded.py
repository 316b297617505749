"""The database that comes with feedmill: a private Postgres per home, there when needed and gone when not."""

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from db.errors import DatabaseError
from db.home import home
from db.postgres import keeper, place
from db.postgres.cluster import Cluster

_IDLE_SECONDS = 600.0
_PATIENCE_SECONDS = 3.0
_KEEPER_SECONDS = 30.0


def ensure() -> str:
    """The URL of the running database; starts it if necessary, and keeps it for another while."""
    with _one_clear_error(), _word_after_a_while():
        idle_seconds = _idle_seconds()
        cluster = cluster_at(home())
        with cluster.locked():
            keeper.watch(cluster, idle_seconds)
            cluster.start()
            return cluster.url()


def is_running() -> bool:
    with _one_clear_error():
        cluster = _existing()
        return cluster is not None and cluster.is_running()


def stop() -> bool:
    """End the server and its keeper and wait until both are gone; False if nothing ran."""
    with _one_clear_error():
        cluster = _existing()
        return cluster is not None and _stop(cluster)


def remove() -> None:
    """Stop, and delete the data: for demos and tests."""
    with _one_clear_error():
        cluster = _existing()
        if cluster is None:
            return
        _stop(cluster)
        with cluster.locked():
            cluster.remove()


def cluster_at(folder: Path, *, bin_dir: Path | None = None, settings: Mapping[str, str] | None = None) -> Cluster:
    """The cluster whose home is `folder`, made ready to start; with `bin_dir`, on another Postgres than our own."""
    return Cluster(place.prepare(folder), bin_dir, settings or {})


def _existing() -> Cluster | None:
    spot = place.find(home())
    return Cluster(spot) if spot else None


def _stop(cluster: Cluster) -> bool:
    with cluster.locked():
        has_stopped = cluster.stop()
    keeper.wait_until_gone(cluster, _KEEPER_SECONDS)
    return has_stopped


def _idle_seconds() -> float:
    text = os.environ.get("FEEDMILL_IDLE_SECONDS") or str(_IDLE_SECONDS)
    try:
        return max(1.0, float(text))
    except ValueError:
        message = f"FEEDMILL_IDLE_SECONDS is not a number: {text}"
        raise DatabaseError(message) from None


@contextmanager
def _one_clear_error() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        message = f"the embedded database cannot be used: {error.strerror or error}{where}"
        hint = "make room or set FEEDMILL_HOME to a folder of your own, or set FEEDMILL_DATABASE_URL"
        raise DatabaseError(message, hint=hint) from error


@contextmanager
def _word_after_a_while() -> Iterator[None]:
    timer = threading.Timer(_PATIENCE_SECONDS, _say_that_it_takes_time)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _say_that_it_takes_time() -> None:
    sys.stderr.write("feedmill: waiting for the embedded database; after a crash it repairs itself first\n")
