"""The single door to the database: which one it is, connections to it, and the driver's errors in our words."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import RowFactory, dict_row, tuple_row

from db import embedded, home, migrate
from db.errors import BadRequestError, ConnectionLostError, DatabaseError, StatementRefusedError

Row = dict[str, Any]
Connection = psycopg.Connection[Row]

OLDEST_POSTGRES = 15
CONNECT_SECONDS = 10

# A session that waits on a silent network notices within 90 s (30 + 3 x 10, and a margin for what was sent).
_KEEPALIVES = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}

# What a person can do about a statement that was refused, by SQLSTATE.
_HINTS = {
    "42501": "have the right granted to the role of FEEDMILL_DATABASE_URL, or name the role that owns the tables",
    "25006": "let FEEDMILL_DATABASE_URL name the primary server, not one that only reads",
    "42P01": "see what the database misses with: feedmill db check",
    "42703": "see what the database misses with: feedmill db check",
    "42883": "see what the database misses with: feedmill db check",
}


def url() -> str:
    """The address of the database; starts the embedded one if no other is named."""
    named = home.database_url()
    if named is None:
        return embedded.ensure()
    scheme, _, rest = named.partition("://")
    if scheme not in {"postgresql", "postgres", "postgresql+psycopg"} or not rest:
        message = "FEEDMILL_DATABASE_URL is not a Postgres address"
        raise BadRequestError(message, hint="it looks like postgresql://user@host:5432/database")
    return f"postgresql://{rest}"


def sqlalchemy_engine(address: str) -> sa.Engine:
    """For Alembic alone, everything else speaks psycopg; its connections come through the same door as ours."""

    def creator() -> psycopg.Connection[Any]:
        return _open(psycopg.Connection, address, row_factory=tuple_row, autocommit=False)

    return sa.create_engine("postgresql+psycopg://", creator=creator, poolclass=sa.NullPool)


class Session(psycopg.Connection[Row]):
    """A connection whose `with` block ends in our words, so that no command has to know the driver's."""

    def __exit__(self, *raised: Any) -> None:
        try:
            if isinstance(raised[1], psycopg.Error):
                with session_errors(self):
                    raise raised[1]
        finally:
            super().__exit__(*raised)


def connect(*, any_schema: bool = False) -> Connection:
    """A connection of its own, in autocommit, to a database whose schema is this version's."""
    address = url()
    conn = _open(Session, address, row_factory=dict_row, autocommit=True)
    if any_schema:
        return conn
    try:
        with session_errors(conn):
            _check_schema(conn, address)
    except BaseException:
        conn.close()
        raise
    return conn


def open_connection(address: str) -> Connection:
    """Connect, whatever is in the database; the driver's errors stay as they are."""
    return _open(psycopg.Connection, address, row_factory=dict_row, autocommit=True)


def _open(
    kind: type[psycopg.Connection[Any]], address: str, *, row_factory: RowFactory[Any], autocommit: bool
) -> psycopg.Connection[Any]:
    with driver_errors():
        conn = kind.connect(
            address,
            autocommit=autocommit,
            row_factory=row_factory,
            connect_timeout=CONNECT_SECONDS,
            application_name="feedmill",
            options=_options(address),
            **_KEEPALIVES,  # type: ignore[arg-type]  # settings of libpq, which the stub does not know
        )
    if conn.info.server_version < OLDEST_POSTGRES * 10_000:
        found = conn.info.server_version // 10_000
        conn.close()
        message = f"this Postgres is version {found}; feedmill needs {OLDEST_POSTGRES} or later"
        raise DatabaseError(message, code="POSTGRES_TOO_OLD")
    return conn


def _options(address: str) -> str:
    """The settings of a session: those that the user wants, such as a search_path, and ours, which win."""
    try:
        given = conninfo_to_dict(address).get("options") or os.environ.get("PGOPTIONS", "")
    except psycopg.ProgrammingError as error:
        message = "FEEDMILL_DATABASE_URL cannot be read as a Postgres address"
        raise BadRequestError(message, hint="it looks like postgresql://user@host:5432/database") from error
    return f"{given} -c timezone=UTC".strip()


def _check_schema(conn: Connection, address: str) -> None:
    lacking = migrate.missing(conn)
    if not lacking:
        return
    if home.database_url() is not None:
        message = f"the schema of the database lacks {len(lacking)} migration(s), the first is {lacking[0]}"
        raise DatabaseError(message, code="SCHEMA_OUTDATED", hint="bring it up to date with: feedmill db migrate")
    bring_up_to_date(address)


def bring_up_to_date(address: str) -> None:
    """Migrate the database at this address."""
    with driver_errors(), sqlalchemy_engine(address).connect() as connection:
        migrate.migrate(connection)


@contextmanager
def transaction(conn: Connection) -> Iterator[Connection]:
    """All or nothing, with the driver's errors in our words."""
    with session_errors(conn), conn.transaction():
        yield conn


@contextmanager
def snapshot(conn: Connection) -> Iterator[Connection]:
    """Every statement sees the same moment, and none can write."""
    with transaction(conn):
        conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield conn


@contextmanager
def session_errors(conn: Connection) -> Iterator[None]:
    """The driver's errors in our words, and one of their own for a session that is gone."""
    try:
        with driver_errors():
            yield
    except DatabaseError as error:
        if conn.closed:
            raise ConnectionLostError from error
        raise


@contextmanager
def driver_errors() -> Iterator[None]:
    """What the driver says of a server, in our words; without the address, which may hold a password."""
    try:
        yield
    except (psycopg.Error, sa.exc.DBAPIError) as error:
        said = error.orig if isinstance(error, sa.exc.DBAPIError) else error
        if not isinstance(said, psycopg.Error) or _is_our_mistake(said):
            raise
        raise _in_our_words(said) from error


def _is_our_mistake(error: psycopg.Error) -> bool:
    """Whether the driver itself refused a call, for example one with a parameter too few: no server has seen it."""
    return error.sqlstate is None and isinstance(error, psycopg.ProgrammingError)


def _in_our_words(error: psycopg.Error) -> DatabaseError:
    first_line = str(error).strip().partition("\n")[0]
    if isinstance(error, psycopg.OperationalError):
        message = f"the database does not answer: {first_line}"
        return DatabaseError(message, hint="check FEEDMILL_DATABASE_URL and the server with: feedmill db check")
    message = f"the database refused a statement: {first_line}"
    return StatementRefusedError(message, hint=_HINTS.get(error.sqlstate or "", ""))


def ping(conn: Connection) -> None:
    """Fails if the session is gone."""
    conn.execute("SELECT 1")


def only_row(cursor: psycopg.Cursor[Row]) -> Row:
    """The row of a statement that always returns one."""
    row = cursor.fetchone()
    if row is None:
        message = "the statement returned no row"
        raise AssertionError(message)
    return row


def shown(address: str) -> dict[str, Any]:
    """The parts of an address that may be shown: all but the password."""
    parts = conninfo_to_dict(address)
    parts.pop("password", None)
    return dict(parts)
