"""`feedmill feeds`: the feeds on file."""

import re
from collections.abc import Callable
from typing import Any

import click

from db import engine
from db.clock import Clock, named_clock, parse_moment
from db.engine import Row
from db.enums import Transport
from db.errors import BadRequestError
from feedmill import documents, reading, streams, views
from feedmill.commands.credentials import read_secret, secret_options
from feedmill.contract import Group, Reply
from tasks import dispatch, plain_ftp
from tasks.catalogue import config, registry, switches, tracking
from tasks.person import user_name


@click.group(cls=Group)
def feeds() -> None:
    """The feeds on file: where each comes from, when it runs, how long its offers live."""


_GATE_HELP = (
    "A gate's limits here, repeatable: spike=0.5 (share of the shelf that may go), spike=share:0.5,least:20,most:1000,"
    " url_hash=off, url_hash=default"
)
_TEMPLATE_HELP = "Tracking link of an offer, with {url}, {delivered_url}, {item_id}, {sku}, {account_id}"
_FTP_HELP = "Needed with ftp://, which sends the password in clear text"
_SETTINGS = (
    click.option("--every", metavar="HOURS", help="Hours between runs: 1, 2, 4, 6, 12, 24, or `never`  [never]"),
    click.option("--expiry-hours", type=int, help="How long an offer lives after it was last seen, 1 to 168  [48]"),
    click.option("--heartbeat-hours", type=int, help="Write an unchanged price again after this, 0: never  [24]"),
    click.option("--unchanged", metavar="age|refresh", help="What an unchanged file does to its offers  [age]"),
    click.option("--gate", multiple=True, metavar="NAME=LIMITS", help=_GATE_HELP),
    click.option("--host-key", metavar="SHA256:...", help="Fingerprint of the server's key, pinned"),
    click.option(
        "--legacy-algorithm", multiple=True, metavar="NAME|none", help="Accept this old SSH algorithm; repeatable"
    ),
    click.option("--max-rows", type=int, help="Refuse a file with more rows  [500000]"),
    click.option("--max-products", type=int, help="Refuse a file with more products  [as many as rows]"),
    click.option("--max-bytes", type=int, help="Refuse a larger file  [500000000]; inflated, twenty times that"),
    click.option("--tracking-template", metavar="URL", help=_TEMPLATE_HELP),
    click.option("--account-id", metavar="ID", help="The advertiser's id at the network"),
    click.option("--i-understand-ftp-is-insecure", is_flag=True, help=_FTP_HELP),
)
_DIGITS = 100  # Python refuses to read a number of thousands of them, in words of its own
_URL_HELP = "sftp://user@host:22/path, ftp://... or file:///path; without a password"
OLDEST_YEAR = 1970
COUNT = click.IntRange(1, 2**31 - 1)  # what every part of the database takes as a limit
key_argument = click.argument("key")


def _moment(_context: click.Context, _option: click.Parameter, text: str | None) -> str | None:
    """The time as it was written; refuses one so early that there is no time before it to compare with."""
    if text is not None and parse_moment(text).year < OLDEST_YEAR:
        message = f"{text!r} is before {OLDEST_YEAR}"
        raise BadRequestError(message, code="BAD_TIME", hint="write it as 2026-11-18T06:30:00Z")
    return text


at_option = click.option("--at", metavar="TIME", callback=_moment, help="Act as of this moment, ISO 8601 UTC.")


def settings_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that `add` and `set` share."""
    for option in reversed(_SETTINGS):
        command = option(command)
    return command


def _secret_options(options: dict[str, Any]) -> dict[str, Any]:
    """Taken out of the options: how the secret is given."""
    return {name: options.pop(name) for name in ("password_stdin", "private_key", "passphrase_stdin")}


def _settings(options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given, checked, by the names of the settings."""
    is_confirmed = options.pop("i_understand_ftp_is_insecure")
    checks = {
        "url": ("address", config.parse_address),
        "every": ("every_hours", _every),
        "expiry_hours": ("expiry_hours", lambda v: config.valid_range(v, config.EXPIRY_HOURS, "--expiry-hours")),
        "heartbeat_hours": (
            "heartbeat_hours",
            lambda v: config.valid_range(v, config.HEARTBEAT_HOURS, "--heartbeat-hours"),
        ),
        "unchanged": ("unchanged_policy", config.valid_unchanged),
        "gate": ("gates", _gates),
        "host_key": ("host_key_fingerprint", config.valid_fingerprint),
        "legacy_algorithm": ("legacy_algorithms", lambda names: config.valid_legacy(list(names))),
        "max_rows": ("max_row_count", lambda v: config.valid_limit(v, "--max-rows")),
        "max_products": ("max_product_count", lambda v: config.valid_limit(v, "--max-products")),
        "max_bytes": ("max_file_size_bytes", lambda v: config.valid_limit(v, "--max-bytes")),
        "tracking_template": ("tracking_template", tracking.valid_template),
        "account_id": ("account_id", lambda v: config.valid_name(v, "account id")),
    }
    given = {name: value for name, value in options.items() if value is not None and value != ()}
    settings = {checks[name][0]: checks[name][1](value) for name, value in given.items()}
    if "address" in settings:
        _refuse_or_warn(settings["address"], is_confirmed=is_confirmed)
    return settings


def _refuse_or_warn(address: config.Address, *, is_confirmed: bool) -> None:
    config.refuse_plain_ftp(address, is_confirmed=is_confirmed)
    if address.transport is Transport.FTP:
        streams.tell(f"feedmill: {plain_ftp.WARNING}")


def _every(text: str) -> int | None:
    if text == "never":
        return None
    if not text.isdecimal() or len(text) > _DIGITS:
        message = f"--every takes hours or `never`, not {views.cut(text, 40)!r}"
        raise config.refuse(message)
    return config.valid_frequency(int(text))


def _gates(words: tuple[str, ...]) -> dict[str, Any]:
    for word in words:
        if re.search(rf"\d{{{_DIGITS + 1}}}", word):
            message = f"--gate takes limits that fit into a number, not {views.cut(word, 40)!r}"
            raise config.refuse(message)
    return config.valid_gates(list(words))


def actor(at: str | None) -> registry.Actor:
    return registry.Actor(user_name(), named_clock(at))


@feeds.command()
@key_argument
@click.option("--retailer", required=True, metavar="NAME", help="The shop whose products these are; made if new")
@click.option("--url", required=True, help=_URL_HELP)
@settings_options
@click.option("--tenant", default="default", show_default=True, help="Whose feed it is")
@click.option("--enable", is_flag=True, help="Let it run at once")
@click.option("--primary", is_flag=True, help="Show its offers for this retailer")
@secret_options
@at_option
def add(
    key: str,
    retailer: str,
    tenant: str,
    *,
    enable: bool,
    primary: bool,
    at: str | None,
    **options: Any,
) -> Reply:
    """Put a feed on file.

    It starts as a draft that never runs (--enable lets it), and its offers show nowhere until it is the primary
    source of its retailer (--primary).

    \b
    For example:
      feedmill feeds add northfork --retailer "Northfork Outfitters" \\
          --url sftp://feeds@files.example.com/catalog.csv.gz --every 6 --enable --primary
    """
    given = _secret_options(options)
    new = registry.NewFeed(
        key=config.valid_key(key),
        tenant_id=tenant,
        retailer=config.valid_name(retailer, "retailer"),
        settings=registry.FeedSettings(**_settings(options)),
        is_enabled=enable,
        is_primary=primary,
    )
    secret, by = read_secret(**given), actor(at)
    with engine.connect() as conn, engine.transaction(conn):
        registry.add_feed(conn, new, by)
        if secret is not None:
            registry.set_password(conn, new.key, secret[0], by, kind=secret[1])
        return _reply(registry.find_feed(conn, new.key))


@feeds.command("list")
@click.option("--tenant", default="default", show_default=True, help="Whose feeds")
@click.option("--all", "with_removed", is_flag=True, help="Removed ones too")
def list_(tenant: str, *, with_removed: bool) -> Reply:
    """List the feeds with their schedule and last run."""
    found = reading.feeds(tenant=tenant, with_removed=with_removed)
    with engine.connect() as conn:
        late = dispatch.warning(conn, now=Clock().now())
    if late:
        streams.tell(f"feedmill: {late} (start a tick with: feedmill dispatch)")
    return Reply(found, views.feed_table(found))


@feeds.command()
@key_argument
def show(key: str) -> Reply:
    """Show everything on file about one feed. Passwords are never shown."""
    with engine.connect() as conn:
        return _reply(registry.find_feed(conn, key))


@feeds.command("set")
@key_argument
@click.option("--url", help=_URL_HELP)
@settings_options
@secret_options
@at_option
def set_(key: str, *, at: str | None, **options: Any) -> Reply:
    """Change what is on file.

    What is not named stays. The next run reads the file whatever its date.

    \b
    For example:
      feedmill feeds set northfork --expiry-hours 72 --every 4
    """
    given = _secret_options(options)
    changes, secret, by = _settings(options), read_secret(**given), actor(at)
    if not changes and not any(given.values()):
        message = "nothing to change was named"
        raise BadRequestError(message, code="USAGE", hint="see: feedmill feeds set --help")
    with engine.connect() as conn, engine.transaction(conn):
        if secret is not None:  # first: it waits for a change of keys, and must hold nothing then
            registry.set_password(conn, key, secret[0], by, kind=secret[1])
        registry.change_feed(conn, key, changes, by)
        return _reply(registry.find_feed(conn, key))


@feeds.command()
@key_argument
@at_option
def primary(key: str, at: str | None) -> Reply:
    """Show the offers of this feed for its retailer, instead of those of any other source."""
    with engine.connect() as conn:
        return _reply(switches.choose_primary(conn, key, actor(at)))


@feeds.command()
@key_argument
@at_option
def remove(key: str, at: str | None) -> Reply:
    """Archive a feed: it never runs again, its offers leave at once, its history and its key stay."""
    with engine.connect() as conn:
        return _reply(registry.remove_feed(conn, key, actor(at)))


def _turn(key: str, switch: switches.Switch, at: str | None) -> Reply:
    with engine.connect() as conn:
        return _reply(switches.turn(conn, key, switch, actor(at)))


@feeds.command()
@key_argument
@at_option
def enable(key: str, at: str | None) -> Reply:
    """Let a draft run, by schedule and on request."""
    return _turn(key, switches.ENABLE, at)


@feeds.command()
@key_argument
@at_option
def pause(key: str, at: str | None) -> Reply:
    """Stop a feed for a while. A run under way goes on; what waits is canceled; offers age out."""
    return _turn(key, switches.PAUSE, at)


@feeds.command()
@key_argument
@at_option
def resume(key: str, at: str | None) -> Reply:
    """Let a paused feed run again."""
    return _turn(key, switches.RESUME, at)


@feeds.command()
@key_argument
@click.option("--acknowledge", is_flag=True, help="You have seen why it failed")
@at_option
def reenable(key: str, *, acknowledge: bool, at: str | None) -> Reply:
    """Let a feed run again that was disabled due to repeated failures."""
    if not acknowledge:
        message = f"{key} may have been disabled due to repeated failures"
        hint = f"look at them with: feedmill runs {key}; then: feedmill feeds reenable {key} --acknowledge"
        raise BadRequestError(message, code="NOT_ACKNOWLEDGED", hint=hint)
    return _turn(key, switches.REENABLE, at)


def _reply(feed: Row) -> Reply:
    document = documents.feed(feed)
    return Reply(document, views.feed_card(document))
