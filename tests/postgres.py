"""Postgres servers for tests: durability off, a migrated template made once, databases like it lent to tests."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import psycopg

from db import embedded, engine
from db.postgres import place
from db.postgres.cluster import Cluster
from tests.emptying import Original, give_back

_FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
_TEMPLATE = "feedmill_template"
_ROLLED_BACK = "feedmill_rolled_back"


@dataclass
class Server:
    cluster: Cluster
    made: int = 0
    idle: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def fresh(self, *, template: str) -> Iterator[str]:
        """The address of a new database, gone afterwards."""
        name = self._make(template)
        try:
            yield self.cluster.url(name)
        finally:
            self._drop(name)

    def clone(self):
        """The address of a new database with the schema in it."""
        return self.fresh(template=_TEMPLATE)

    @contextmanager
    def lent(self) -> Iterator[str]:
        """The address of a database that is as a clone would be.

        A clone of 9 MB takes a tenth of a second of two cores, and emptying one a tenth of that: it is lent again
        unless somebody changed more than rows.
        """
        name = self._rename(self.idle.pop()) if self.idle else self._make(_TEMPLATE)
        try:
            yield self.cluster.url(name)
        finally:
            if give_back(self.cluster.url(name), self._original):
                self.idle.append(name)
            else:
                self._drop(name)

    @cached_property
    def _original(self) -> Original:
        return Original.of(self.cluster.url(_TEMPLATE))

    @property
    def migrated_url(self) -> str:
        """The address of a database with the schema in it, for tests that roll back what they did."""
        return self.cluster.url(_ROLLED_BACK)

    def run(self, statement: str) -> None:
        with psycopg.connect(self.cluster.url("postgres"), autocommit=True) as admin:
            admin.execute(statement)

    def _make(self, template: str) -> str:
        name = self._new_name()
        self.run(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    def _rename(self, used: str) -> str:
        """So that whatever its last user left running does not find it any more."""
        name = self._new_name()
        self.run(f"ALTER DATABASE {used} RENAME TO {name}")
        return name

    def _new_name(self) -> str:
        with self.lock:
            self.made += 1
            return f"test_{self.made}"

    def _drop(self, name: str) -> None:
        self.run(f"DROP DATABASE {name} WITH (FORCE)")


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
