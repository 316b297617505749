"""Postgres servers for tests: durability off, a migrated template made once, a clone of it per test."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from db import embedded, engine
from db.postgres import place
from db.postgres.cluster import Cluster

_FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
_TEMPLATE = "feedmill_template"
_ROLLED_BACK = "feedmill_rolled_back"


@dataclass
class Server:
    cluster: Cluster
    made: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def fresh(self, *, template: str) -> Iterator[str]:
        """The address of a new database, gone afterwards."""
        with self.lock:
            self.made += 1
            name = f"test_{self.made}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {template}")
        try:
            yield self.cluster.url(name)
        finally:
            self.run(f"DROP DATABASE {name} WITH (FORCE)")

    def clone(self):
        """The address of a new database with the schema in it."""
        return self.fresh(template=_TEMPLATE)

    @property
    def migrated_url(self) -> str:
        """The address of a database with the schema in it, for tests that roll back what they did."""
        return self.cluster.url(_ROLLED_BACK)

    def run(self, statement: str) -> None:
        with psycopg.connect(self.cluster.url("postgres"), autocommit=True) as admin:
            admin.execute(statement)


@contextmanager
def served(folder: Path, *, bin_dir: Path | None) -> Iterator[Server]:
    """A server in this folder, with the migrated template in it; removed afterwards."""
    cluster = embedded.cluster_at(folder, bin_dir=bin_dir, settings=_FAST)
    with cluster.locked():
        cluster.start()
    server = Server(cluster)
    try:
        server.run(f"CREATE DATABASE {_TEMPLATE} TEMPLATE template0")
        engine.bring_up_to_date(cluster.url(_TEMPLATE))
        server.run(f"CREATE DATABASE {_ROLLED_BACK} TEMPLATE {_TEMPLATE}")
        yield server
    finally:
        with cluster.locked():
            cluster.remove()
        place.forget(cluster.place)
