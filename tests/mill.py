"""A feed to run in tests: files of a few rows, the feed on file, its runs, and what is written and shown."""

import csv
import io
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from db.clock import Clock
from db.engine import Connection, Row
from feedmill import reading
from tasks.catalogue import config, registry

START = datetime(2026, 3, 2, 12, tzinfo=UTC)
# What the same file twice must leave as it is.
WRITTEN = ("source_products", "prices", "promotions", "shelf_spans", "sightings", "product_changes")

_COLUMNS = {
    "item": "CatalogItemId",
    "sku": "Unique_Merchant_SKU",
    "name": "Product_Name",
    "url": "Product_URL",
    "price": "Current_Price",
    "original": "Original_Price",
    "stock": "Stock_Availability",
    "currency": "Currency",
    "upc": "Gtin",
    "brand": "Manufacturer",
}
_deliveries = count(1)


def after(hours: float) -> datetime:
    """So many hours after the feed was put on file."""
    return START + timedelta(hours=hours)


def row(number: int, **cells: str) -> dict[str, str]:
    """A row of a file; cells that are not named follow from the number."""
    plain = {
        "item": f"item-{number}",
        "sku": f"sku-{number}",
        "name": f"Tent {number}",
        "url": f"https://shop.example/tent/{number}",
        "price": f"{number}0.00",
        "original": "",
        "stock": "Y",
        "currency": "USD",
        "upc": f"0208922155{number:02d}",
        "brand": "Cairn",
    }
    return {**plain, **cells}


def csv_text(rows: Iterable[dict[str, str]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows(rows)
    return text.getvalue()


def deliver(path: Path, content: Iterable[dict[str, str]] | str | bytes) -> None:
    """Put a new file in place; never with the time of an earlier one."""
    if not isinstance(content, str | bytes):
        content = csv_text(content)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    touch(path)


def touch(path: Path) -> None:
    moment = START.timestamp() + next(_deliveries)
    os.utime(path, (moment, moment))


@dataclass(frozen=True)
class Mill:
    """One enabled, primary feed and the file that it reads."""

    conn: Connection
    path: Path
    key: str = "northfork"

    def put_on_file(self, url: str = "", *, password: str | None = None, status: str = "ENABLED", **settings: object):
        address = config.parse_address(url or self.path.as_uri())
        feed = registry.NewFeed(
            key=self.key,
            tenant_id="default",
            retailer=f"Shop of {self.key}",
            settings=registry.FeedSettings(address=address, **settings),
            is_enabled=status == "ENABLED",
            is_primary=True,
        )
        actor = registry.Actor("test", Clock(START))
        registry.add_feed(self.conn, feed, actor)
        if password is not None:
            registry.set_password(self.conn, self.key, password, actor)
        return self

    def another(self, key: str) -> "Mill":
        """A feed of its own that reads the same file."""
        return replace(self, key=key).put_on_file()

    def deliver(self, *rows: dict[str, str]) -> None:
        deliver(self.path, rows)

    def run(self, *, at: datetime | None = None, force: bool = False) -> Row:
        """The record of a run that succeeds."""
        from flows.ingest_feed import ingest_feed  # noqa: PLC0415 - Prefect takes a second to import

        run_id = ingest_feed(self.key, at=at, force=force)
        record = self.one("SELECT * FROM affiliate_feed_runs WHERE id = %s", run_id)
        assert record["status"] == "SUCCEEDED"
        return record

    def fail(self, *, at: datetime | None = None, kind: type[BaseException] = Exception) -> Row:
        """The record of a run that fails."""
        before = len(self.runs())
        with pytest.raises(kind):
            self.run(at=at)
        assert len(self.runs()) == before + 1
        return self.newest_run()

    def runs(self) -> list[Row]:
        """Newest first."""
        runs = "SELECT * FROM affiliate_feed_runs WHERE feed_key = %s ORDER BY started_at DESC, id DESC"
        return self.conn.execute(runs, [self.key]).fetchall()

    def newest_run(self) -> Row:
        return self.runs()[0]

    def feed(self) -> Row:
        return self.one("SELECT * FROM affiliate_feeds WHERE feed_key = %s", self.key)

    def lock_id(self) -> int:
        return self.feed()["feed_lock_id"]

    def jobs(self) -> list[Row]:
        return self.conn.execute("SELECT * FROM ingestion_jobs WHERE key = %s ORDER BY slot", [self.key]).fetchall()

    def events(self, *names: str) -> list[Row]:
        """Audit events of these names, in their order."""
        rows = self.conn.execute("SELECT * FROM audit_events WHERE key = %s ORDER BY id", [self.key]).fetchall()
        return [event for event in rows if not names or event["event_name"] in names]

    def one(self, statement: str, *values: object) -> Row:
        [found] = self.conn.execute(statement, values).fetchall()
        return found

    def offers(self, at: datetime | None = None) -> dict[str, dict]:
        """What a shopper may see, by item id."""
        return {offer["identity_value"]: offer for offer in reading.offers(self.key, at=at)}

    def prices(self, number: int) -> list[tuple]:
        """The history of a product: amount, stock, why, whether it was promoted."""
        found = reading.prices(self.key, f"item:item-{number}")
        return [(str(price["price"]), price["in_stock"], price["reason"], price["promoted"]) for price in found]

    def written(self) -> dict[str, list[Row]]:
        """Every row of products, prices and presence, of every feed."""
        return {table: self.contents(table) for table in WRITTEN}

    def contents(self, table: str) -> list[Row]:
        return self.conn.execute(f"SELECT * FROM {table} ORDER BY {table}::text").fetchall()  # noqa: S608 - a table

    def counts(self, record: Row, *names: str) -> tuple:
        return tuple(record[name] for name in names)
