"""Where it is measured: an embedded server of its own with its default durability, and a database per contender."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from db import embedded, engine
from db.engine import Connection


@dataclass(frozen=True)
class Place:
    folder: Path
    address: str
    admin: Connection  # stays open, so that the server does not end for lack of clients

    @contextmanager
    def empty_folder(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="round-", dir=self.folder) as name:
            yield Path(name)

    @contextmanager
    def databases(self, names: tuple[str, ...]) -> Iterator[dict[str, str]]:
        """The addresses of fresh databases, gone at the end."""
        try:
            for name in names:
                self.admin.execute(f"CREATE DATABASE {name}")
            yield {name: urlsplit(self.address)._replace(path=f"/{name}").geturl() for name in names}
        finally:
            for name in names:
                self.admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@contextmanager
def server() -> Iterator[Place]:
    """A server in a temporary home (below TMPDIR), stopped and removed at the end."""
    with tempfile.TemporaryDirectory(prefix="feedmill-bench-") as home:
        os.environ["FEEDMILL_HOME"] = home
        os.environ.pop("FEEDMILL_DATABASE_URL", None)
        try:
            address = embedded.ensure()
            with engine.open_connection(address) as admin:
                yield Place(Path(home), address, admin)
        finally:
            embedded.remove()
