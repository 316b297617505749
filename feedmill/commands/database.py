"""`feedmill db`: which database it is, whether it is well, bringing it up to date, stopping the embedded one."""

import click

from db import embedded, engine, health, home, migrate
from db.errors import BadRequestError, FeedmillError
from feedmill.contract import FAILED, Group, Reply


@click.group(cls=Group)
def db() -> None:
    """The database: embedded by default, or the one that FEEDMILL_DATABASE_URL names."""


@db.command()
def url() -> Reply:
    """Print the address of the database, starting the embedded one if need be.

    For example: `psql "$(feedmill db url)"`. The embedded server stays up while somebody is connected and ten
    minutes after; asking for the address renews that.
    """
    is_embedded = home.database_url() is None
    if is_embedded:
        engine.connect().close()  # with the schema brought up to date, so that psql finds the relations
    address = engine.url()
    return Reply({"url": address, "is_embedded": is_embedded}, address)


@db.command("migrate")
def migrate_() -> Reply:
    """Bring the schema up to date. The embedded database does this by itself."""
    with engine.connect(any_schema=True) as conn:
        lacking = migrate.missing(conn)
    engine.bring_up_to_date(engine.url())
    at = migrate.revisions()[-1]
    done = f"applied {', '.join(lacking)}" if lacking else "nothing to do"
    return Reply({"applied": lacking, "schema": at}, f"{done}; the schema is at {at}")


@db.command()
def check() -> Reply:
    """Say in one line whether the database is there, recent enough and complete."""
    with engine.connect(any_schema=home.database_url() is not None) as conn:
        lacking, absent = migrate.missing(conn), health.absent(conn)
        version = conn.info.parameter_status("server_version") or "?"
    document = {"postgres": version, "schema": migrate.revisions()[-1], "lacking": lacking, "absent": absent}
    if lacking:
        line = f"Postgres {version}: the schema lacks {', '.join(lacking)}"
        error = FeedmillError(line, code="SCHEMA_OUTDATED", hint="bring it up to date with: feedmill db migrate")
        return Reply({"ok": False, **document}, "", FAILED, error)
    if absent:
        line = f"Postgres {version}: missing {', '.join(absent)}"
        hint = "somebody dropped it or switched it off; how it was declared says: python -m db.schema"
        error = FeedmillError(line, code="SCHEMA_DAMAGED", hint=hint)
        return Reply({"ok": False, **document}, "", FAILED, error)
    return Reply({"ok": True, **document}, f"ok: Postgres {version}, schema {document['schema']}")


@db.command()
def stop() -> Reply:
    """Stop the embedded database now. The next command starts it again."""
    if home.database_url() is not None:
        message = "FEEDMILL_DATABASE_URL names a database that is not feedmill's to stop"
        raise BadRequestError(message, code="NOT_EMBEDDED")
    was_running = embedded.stop()
    return Reply({"stopped": was_running}, "stopped" if was_running else "it was not running")
