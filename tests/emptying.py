"""A used database made as good as new: its rows as in the template, or the word that more than rows was changed."""

from dataclasses import dataclass

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

_MOST_ROWS = 5_000  # more than this leaves tables of dead rows, and a new database costs less

# Everything that statements of a test could have changed besides rows. Triggers by their content: emptying switches
# those that refuse to delete off and on again.
_SCHEMA = """
SELECT md5(string_agg(line, ' ' ORDER BY line))
  FROM (SELECT concat_ws(':', 'relation', oid, relname, relkind, relchecks, reloptions, relacl, relrowsecurity)
          FROM pg_class WHERE relnamespace = 'public'::regnamespace
        UNION ALL SELECT concat_ws(':', 'column', attrelid, attnum, a.xmin) FROM pg_attribute a
          JOIN pg_class c ON c.oid = attrelid AND relnamespace = 'public'::regnamespace
        UNION ALL SELECT concat_ws(':', 'function', oid, xmin) FROM pg_proc
         WHERE pronamespace = 'public'::regnamespace
        UNION ALL SELECT concat_ws(':', 'type', oid, xmin) FROM pg_type WHERE typnamespace = 'public'::regnamespace
        UNION ALL SELECT concat_ws(':', 'constraint', oid, xmin) FROM pg_constraint
        UNION ALL SELECT concat_ws(':', 'rule', oid, xmin) FROM pg_rewrite WHERE oid >= 16384
        UNION ALL SELECT concat_ws(':', 'trigger', oid, tgrelid, tgname, tgenabled, tgfoid, tgtype) FROM pg_trigger
        UNION ALL SELECT concat_ws(':', 'sequence', pg_sequence) FROM pg_sequence
        UNION ALL SELECT concat_ws(':', 'policy', oid, xmin) FROM pg_policy
        UNION ALL SELECT concat_ws(':', 'index', indexrelid, indisunique, indisvalid) FROM pg_index
        UNION ALL SELECT concat_ws(':', 'comment', objoid, objsubid, description) FROM pg_description
         WHERE objoid >= 16384
        UNION ALL SELECT concat_ws(':', 'schema', oid, nspname) FROM pg_namespace WHERE nspname !~ '^pg_'
        UNION ALL SELECT concat_ws(':', 'setting', setrole, setconfig) FROM pg_db_role_setting
         WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())) AS lines (line)
"""
_TABLES = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname"
_REFUSING = """
SELECT tgrelid::regclass::text, tgname FROM pg_trigger
 WHERE tgenabled = 'A' AND tgrelid::regclass::text = ANY(%s)
"""
_OTHERS = """
SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


@dataclass(frozen=True)
class Original:
    """What a database is like before anybody used it."""

    schema: str
    tables: tuple[str, ...]
    rows: dict[str, Jsonb]  # of the few tables that begin with some

    @classmethod
    def of(cls, url: str) -> "Original":
        with psycopg.connect(url) as conn:
            [schema] = conn.execute(_SCHEMA).fetchone()
            tables = tuple(name for (name,) in conn.execute(_TABLES))
            rows = {name: _rows(conn, name) for name in _filled(conn, tables)}
        return cls(schema, tables, rows)


def give_back(url: str, original: Original) -> bool:
    """Whether the database is now as it was; False if it is better thrown away."""
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(_OTHERS)
        if conn.execute(_SCHEMA).fetchone() != (original.schema,):
            return False
        with conn.transaction():
            deleted = _empty(conn, original)
            conn.execute("SELECT setval(seqrelid::regclass, seqstart, false) FROM pg_sequence")
    return deleted <= _MOST_ROWS


def _empty(conn: psycopg.Connection, original: Original) -> int:
    """Number of rows that are gone; the first ones are there again."""
    conn.execute("SET LOCAL session_replication_role = replica")  # no foreign key asks for an order
    filled = _filled(conn, original.tables)
    refusing = [(sql.Identifier(table), sql.Identifier(name)) for table, name in conn.execute(_REFUSING, [filled])]
    for table, name in refusing:
        conn.execute(sql.SQL("ALTER TABLE {} DISABLE TRIGGER {}").format(table, name))
    deleted = [conn.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table))).rowcount for table in filled]
    for table, name in refusing:
        conn.execute(sql.SQL("ALTER TABLE {} ENABLE ALWAYS TRIGGER {}").format(table, name))
    for table, rows in original.rows.items():
        again = sql.SQL("INSERT INTO {0} SELECT * FROM jsonb_populate_recordset(NULL::{0}, %s)")
        conn.execute(again.format(sql.Identifier(table)), [rows])
    return sum(deleted)


def _filled(conn: psycopg.Connection, tables: tuple[str, ...]) -> list[str]:
    asked = sql.SQL(", ").join(sql.SQL("EXISTS (SELECT FROM {})").format(sql.Identifier(table)) for table in tables)
    answers = conn.execute(sql.SQL("SELECT {}").format(asked)).fetchone()
    return [table for table, is_filled in zip(tables, answers, strict=True) if is_filled]


def _rows(conn: psycopg.Connection, table: str) -> Jsonb:
    every = sql.SQL("SELECT jsonb_agg(to_jsonb(t)) FROM {} AS t").format(sql.Identifier(table))
    [rows] = conn.execute(every).fetchone()
    return Jsonb(rows)
