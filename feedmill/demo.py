"""The main job end to end, in a folder of its own: a local SFTP server, two days of a catalogue, files gone wrong."""

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path

from rich.console import Console, RenderableType
from rich.panel import Panel
from rich.text import Text

from db import embedded, engine
from db.clock import Clock, system_now
from feedmill import documents, evidence_views, reading, running, views
from feedmill.documents import Document
from feedmill.prefect_api import prefect_api
from feedmill.sftp_server import LocalSftpServer
from feedmill.simulator.assortment import RETAILER
from feedmill.simulator.catalogue import Catalogue, make_catalogue
from feedmill.simulator.days import Changes, compare, next_day
from feedmill.simulator.faults import FAULTS, write_faulty
from feedmill.simulator.files import write_csv
from tasks.catalogue import approval, config, registry

KEY = "northfork"
PRODUCTS = 5_000
HISTORIES = 5
_SEED = 7
_FILE = "catalog.csv.gz"
_OVERNIGHT = timedelta(hours=14)  # both less than the day after which unchanged prices are written again
_FAULTS = {"cents_for_units": timedelta(hours=16), "all_out_of_stock": timedelta(hours=18)}
_EVENING = timedelta(hours=22)
_LOST = 0.6
_OPERATOR = "ann"


@dataclass(frozen=True)
class Demo:
    """What the demo needs while it runs."""

    console: Console
    server: LocalSftpServer
    files: Path


def play(console: Console, *, keep: bool) -> Document:
    """Play the whole demo; the runs, and the folder if it was kept."""
    folder = Path(tempfile.mkdtemp(prefix="feedmill-demo-"))
    with _own_home(folder, keep=keep), ExitStack() as stack:
        console.print(Panel("feedmill: one feed, end to end", expand=False))
        console.print("Starting an embedded Postgres and a local SFTP server ...")
        files = folder / "sftp"
        files.mkdir()
        password = secrets.token_urlsafe(12)
        server = stack.enter_context(LocalSftpServer(files, username="feeds", password=password))
        demo = Demo(console, server, files)
        _put_on_file(demo, password)
        stack.enter_context(prefect_api())
        runs = _two_days(demo)
    _what_next(console, folder if keep else None)
    return {"runs": runs, "folder": str(folder) if keep else None}


@contextmanager
def _own_home(folder: Path, *, keep: bool) -> Iterator[None]:
    """Everything that feedmill writes goes into the folder, and nothing of it is left running."""
    before = dict(os.environ)
    os.environ["FEEDMILL_HOME"] = str(folder)
    os.environ["FEEDMILL_TEST_CLOCK"] = "1"  # day two is tomorrow
    for name in ("FEEDMILL_DATABASE_URL", "CREDENTIAL_ENCRYPTION_KEY_B64"):
        os.environ.pop(name, None)
    try:
        yield
    finally:
        if keep:
            embedded.stop()
        else:
            embedded.remove()
            shutil.rmtree(folder, ignore_errors=True)
        os.environ.clear()
        os.environ.update(before)


def _put_on_file(demo: Demo, password: str) -> None:
    settings = registry.FeedSettings(
        address=config.parse_address(demo.server.url(_FILE)),
        every_hours=12,
        host_key_fingerprint=demo.server.host_key_fingerprint,
    )
    new = registry.NewFeed(KEY, "default", RETAILER, settings, is_enabled=True, is_primary=True)
    actor = registry.Actor("demo")
    with engine.connect() as conn:
        feed = registry.add_feed(conn, new, actor)
        registry.set_password(conn, KEY, password, actor)
    demo.console.print(f"On file: {config.shown_address(feed)} (password encrypted, host key pinned)\n")


def _two_days(demo: Demo) -> list[Document]:
    now = system_now()
    first = make_catalogue(_SEED, PRODUCTS)
    second = next_day(first, seed=_SEED)
    start = Catalogue(first.day, (), first.next_number)
    runs = [_day(demo, "Day one: the first file", start, first, at=now)]
    runs.append(_day(demo, "Day two: a new file", first, second, at=now + _OVERNIGHT))
    _show_histories(demo, second)
    again = now + _OVERNIGHT + timedelta(hours=1)
    runs.append(_day(demo, "Day two again: the same file", second, second, at=again))
    runs += [_rejected(demo, second, fault, at=now + later) for fault, later in _FAULTS.items()]
    runs.append(_bad_day(demo, second, at=now + _EVENING))
    return runs


def _rejected(demo: Demo, catalogue: Catalogue, fault: str, *, at: datetime) -> Document:
    """A file that a gate holds back for what it says: looked at and rejected. The run as it was decided."""
    title = FAULTS[fault].title
    demo.console.rule(Text(f"Day two, {at:%H:%M}: {title}", style="bold"), align="left")
    write_faulty(fault, catalogue, demo.files / _FILE)
    blocked = _run(demo, at=at)
    _show_evidence(demo, blocked)
    actor = registry.Actor(_OPERATOR, Clock(at + timedelta(minutes=30)))
    decision = approval.reject(blocked["id"], f"{title}: their export is wrong", actor)
    demo.console.rule(Text(f"Rejected by {_OPERATOR}: the shelf stays as it was", style="bold"), align="left")
    demo.console.print("")
    return documents.run(decision.run)


def _show_evidence(demo: Demo, blocked: Document) -> None:
    demo.console.rule(Text("Nothing changed on the shelf; what a person looks at", style="bold"), align="left")
    demo.console.print(evidence_views.evidence_report(reading.evidence(blocked["id"]) or {}), "")


def _bad_day(demo: Demo, before: Catalogue, *, at: datetime) -> Document:
    """A file that lost most of its rows: held back, looked at, approved. The run as it was decided."""
    cut_short = next_day(before, seed=_SEED, gone=_LOST)
    blocked = _day(demo, f"The evening: a file that lost {_LOST:.0%} of its rows", before, cut_short, at=at)
    _show_evidence(demo, blocked)
    decision = approval.approve(blocked["id"], registry.Actor(_OPERATOR, Clock(at + timedelta(hours=1))))
    later = at + timedelta(hours=1 + registry.FeedSettings.expiry_hours)
    demo.console.rule(Text(f"Approved by {_OPERATOR}", style="bold"), align="left")
    left = f"{len(reading.offers(KEY, at=later)):,} offers once what is gone has expired"
    demo.console.print(views.card({"promoted": decision.products_promoted, "on the shelf": left}), "")
    return documents.run(decision.run)


def _day(demo: Demo, title: str, before: Catalogue, after: Catalogue, *, at: datetime) -> Document:
    demo.console.rule(Text(title, style="bold"), align="left")
    if after is not before:
        write_csv(after, demo.files / _FILE)
    demo.console.print(_news(compare(before, after)) if before.products else f"{len(after.products):,} products")
    return _run(demo, at=at)


def _run(demo: Demo, *, at: datetime) -> Document:
    """A run of whatever file lies there, and what is on the shelf after it."""
    record, error = running.run_now(KEY, clock=Clock(at))
    if error is not None:
        raise error
    document = documents.run(record)
    demo.console.print(views.run_card(document))
    offers = reading.offers(KEY)
    sold_out = sum(not offer["in_stock"] for offer in offers)
    demo.console.print(views.card({"on the shelf  ": f"{len(offers):,} offers, {sold_out:,} of them sold out"}), "")
    return document


def _news(changes: Changes) -> str:
    """What the retailer changed, from the simulator, to compare with what feedmill found."""
    told = {name.replace("_", " "): count for name, count in asdict(changes).items() if count}
    return "The file: " + (", ".join(f"{count:,} {name}" for name, count in told.items()) or "unchanged")


def _show_histories(demo: Demo, catalogue: Catalogue) -> None:
    """A few products whose price moved, each history as a line."""
    rows = []
    for product in catalogue.products:
        prices = reading.prices(KEY, f"item:{product.item_id}")
        if len({price["price"] for price in prices}) > 1:
            steps = " -> ".join(f"{price['price']:.2f}" for price in prices)
            rows.append((views.cut(product.title, 60), views.sparkline([p["price"] for p in prices]), steps))
        if len(rows) == HISTORIES:
            break
    demo.console.print(views.table(("some prices that moved", "", "USD"), rows))
    demo.console.print()


def _what_next(console: Console, kept: Path | None) -> None:
    lines: list[RenderableType] = [Text("Try next", style="bold")]
    if kept:
        lines.append(f"  export FEEDMILL_HOME={kept} FEEDMILL_TEST_CLOCK=1     this demo's database; then")
        lines.append(f"  feedmill offers {KEY} --limit 10")
        lines.append(f"  feedmill runs {KEY}")
    else:
        lines.append("  feedmill demo --keep        the same, and its database stays for you to look at")
    lines.append("  feedmill feeds add --help   put your own feed on file")
    lines.append("  feedmill --help             everything else")
    for line in lines:
        console.print(line)
