"""The rules of the tree, read from its source. Each takes a path and a text, so that each is shown to go red."""

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("blocks", "db", "deployments", "feedmill", "flows", "tasks")
MOST_LINES = 300

MAY_IMPORT = {
    "db": {"db"},
    "blocks": {"blocks", "db"},
    "tasks": {"tasks", "db", "blocks"},
    "flows": {"flows", "tasks", "db", "blocks"},
    "deployments": {"deployments", "flows", "tasks", "db", "blocks"},
    "feedmill": {"feedmill", "flows", "tasks", "db", "blocks"},
}
VALUES = ("db.enums", "db.errors", "db.clock")  # pure, free to all
DRIVERS = ("psycopg", "psycopg_pool", "sqlalchemy", "alembic")
NETWORK = (
    "fsspec",
    "sshfs",
    "asyncssh",
    "socket",
    "ftplib",
    "http.client",
    "httpx",
    "requests",
    "urllib.request",
    "urllib3",
)
NETWORK_DOORS = (
    "tasks/network.py", "tasks/transport*.py", "feedmill/sftp_server.py", "feedmill/prefect_*.py",
    "feedmill/prefect/*.py",
)  # fmt: skip
CLOCKS = (
    "datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today",
    "time.time", "time.time_ns",
)  # fmt: skip
FILE_MODULES = ("tempfile", "shutil")
FILE_CALLS = ("open", "read_bytes", "read_text", "write_bytes", "write_text", "fdopen")
NOT_PATHS = ("self._server", "self.source")  # their open() leads to a server, or to the door
SQL = re.compile(
    r"^\s*(SELECT|WITH|INSERT INTO|UPDATE|DELETE FROM|TRUNCATE|COPY|LOCK|LISTEN|NOTIFY|BEGIN|COMMIT|SET)\s"
    r"|\b(CREATE|ALTER|DROP)\s+(OR\s+REPLACE\s+)?(TEMP\s+)?(TABLE|VIEW|INDEX|FUNCTION|TRIGGER|DATABASE|SCHEMA|ROLE)\b"
    r"|\bSELECT\b.+\bFROM\b|\bINSERT INTO\b|\bDELETE FROM\b|\bUPDATE\s+\w+\s+SET\b|\bpg_\w+\(",
    re.DOTALL,
)


def imported(text: str) -> Iterator[tuple[str, str]]:
    """Every import as local name and dotted origin, lazy ones and those by name too."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield (name.asname, name.name) if name.asname else (name.name.partition(".")[0], name.name)
        elif isinstance(node, ast.ImportFrom):
            for name in node.names:
                yield name.asname or name.name, f"{node.module or '.'}.{name.name}"
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            yield from (("", arg.value) for arg in node.args[:1] if isinstance(arg, ast.Constant))


def origins(text: str) -> list[str]:
    return [origin for _, origin in imported(text)]


def within(name: str, modules: tuple[str, ...]) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in modules)


def dotted(node: ast.expr, names: dict[str, str]) -> str:
    """The full name of `a.b.c`, with `a` as it was imported."""
    head, dot, rest = ast.unparse(node).partition(".")
    return f"{names.get(head, head)}{dot}{rest}"


def texts(text: str) -> Iterator[str]:
    """Every string but the docstrings; the parts of an f-string as one."""
    tree = ast.parse(text)
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    silent = {id(node.body[0].value) for node in ast.walk(tree)
              if isinstance(node, holders) and node.body and isinstance(node.body[0], ast.Expr)}  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "x" for part in node.values)
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent:
            yield node.value


def imports_go_one_way(path: str, text: str) -> list[str]:
    allowed = MAY_IMPORT[path.partition("/")[0]]
    tops = {origin.partition(".")[0] for origin in origins(text)}
    return sorted(tops & {*PACKAGES, "tests", "benchmarks"} - allowed)


def imports_are_absolute(_path: str, text: str) -> list[str]:
    return [ast.unparse(node) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom) and node.level]


def blocks_enter_tasks_through_steps(path: str, text: str) -> list[str]:
    if not path.startswith("tasks/") or path.endswith("/steps.py"):
        return []
    return [origin for origin in origins(text) if within(origin, ("blocks",))]


def a_pipeline_meets_prefect_in_its_steps(path: str, text: str) -> list[str]:
    if not in_pipeline(path) or path.endswith("/steps.py"):
        return []
    return [origin for origin in origins(text) if origin.partition(".")[0].startswith("prefect")]


def a_pipeline_meets_the_database_in_steps_and_register(path: str, text: str) -> list[str]:
    if not in_pipeline(path) or path.endswith(
        ("/steps.py", "/registry.py", "/switches.py", "/approval.py", "/watch.py", "/archive.py", "/planning.py")
    ):
        return []
    return [origin for origin in origins(text) if within(origin, ("db",)) and not within(origin, VALUES)]


def in_pipeline(path: str) -> bool:
    return path.startswith("tasks/") and path.count("/") > 1


def the_driver_is_used_below_db(path: str, text: str) -> list[str]:
    if path.startswith("db/"):
        return []
    return [origin for origin in origins(text) if within(origin, DRIVERS)]


def the_network_has_one_door(path: str, text: str) -> list[str]:
    if any(fnmatch(path, door) for door in NETWORK_DOORS):
        return []
    return [origin for origin in origins(text) if within(origin, NETWORK)]


def files_have_one_door(path: str, text: str) -> list[str]:
    if not path.startswith("tasks/") or path == "tasks/files.py":
        return []
    names, tree = dict(imported(text)), ast.parse(text)
    opened = {  # what the door has opened may be handed on, for example to gzip
        ast.unparse(item.optional_vars)
        for node in ast.walk(tree)
        if isinstance(node, ast.With)
        for item in node.items
        if item.optional_vars and ast.unparse(item.context_expr).startswith("files.")
    }
    found = [origin for origin in names.values() if within(origin, FILE_MODULES)]
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        receiver, _, method = dotted(call.func, names).rpartition(".")
        handed_on = bool(call.args) and ast.unparse(call.args[0]) in opened
        if method in FILE_CALLS and receiver not in NOT_PATHS and not handed_on:
            found.append(ast.unparse(call))
    return found


def there_is_one_clock(path: str, text: str) -> list[str]:
    if path == "db/clock.py":
        return []
    names = dict(imported(text))
    named = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute | ast.Name))
    return [ast.unparse(node) for node in named if dotted(node, names) in CLOCKS]


def packages_are_empty(path: str, text: str) -> list[str]:
    exempt = {"db/sql/__init__.py", "feedmill/__init__.py"}  # the way to SQL, and the reading API of notebooks
    return ["not empty"] if path.endswith("__init__.py") and path not in exempt and text.strip() else []


def modules_are_short(_path: str, text: str) -> list[str]:
    lines = len(text.splitlines())
    return [f"{lines} lines"] if lines > MOST_LINES else []


def sql_is_written_below_db(path: str, text: str) -> list[str]:
    if path.startswith("db/"):
        return []
    return [found[:60] for found in texts(text) if SQL.search(found)]


RULES = (
    imports_go_one_way, imports_are_absolute, blocks_enter_tasks_through_steps, a_pipeline_meets_prefect_in_its_steps,
    a_pipeline_meets_the_database_in_steps_and_register, the_driver_is_used_below_db, the_network_has_one_door,
    files_have_one_door, there_is_one_clock, packages_are_empty, modules_are_short, sql_is_written_below_db,
)  # fmt: skip


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_tree_keeps(rule):
    files = [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]
    assert files
    broken = {
        path: found
        for file in files
        if (found := rule(path := file.relative_to(ROOT).as_posix(), file.read_text(encoding="utf-8")))
    }
    assert broken == {}


def test_sql_files_lie_below_db():
    found = {file.relative_to(ROOT).parts[0] for package in PACKAGES for file in (ROOT / package).rglob("*.sql")}
    assert found <= {"db"}


def test_every_package_is_installed():
    """What `pip install` would leave out is missing only where nobody looks: on the machine of a user."""
    listed = re.search(r"^packages = \[(.*?)\]", (ROOT / "pyproject.toml").read_text("utf-8"), re.DOTALL | re.MULTILINE)
    there = {
        file.parent.relative_to(ROOT).as_posix().replace("/", ".")
        for package in PACKAGES
        for file in (ROOT / package).rglob("*.py")
    }
    assert set(re.findall(r'"([\w.]+)"', listed.group(1))) == there


STEPS, PURE = "tasks/catalogue/steps.py", "tasks/catalogue/diff.py"
BAD = [
    (imports_go_one_way, "db/feeds.py", "from tasks.errors import classify"),
    (imports_go_one_way, "db/embedded/cluster.py", "import feedmill"),
    (imports_go_one_way, "tasks/steps.py", "from flows.ingest_feed import ingest_feed"),
    (imports_go_one_way, PURE, "def f():\n    import feedmill.views as v"),
    (imports_go_one_way, "flows/dispatch.py", "from feedmill import contract"),
    (imports_go_one_way, "blocks/sftp.py", "from tasks import network"),
    (imports_go_one_way, "feedmill/cli.py", "from tests.builders import feed"),
    (imports_go_one_way, "feedmill/cli.py", "from deployments import register_blocks"),
    (imports_go_one_way, "db/engine.py", "import importlib\nimportlib.import_module('tasks.files')"),
    (imports_are_absolute, "db/feeds.py", "from . import engine"),
    (imports_are_absolute, "db/feeds.py", "from .engine import Row"),
    (blocks_enter_tasks_through_steps, PURE, "from blocks.sftp import SftpCredentials"),
    (blocks_enter_tasks_through_steps, "tasks/secrets.py", "import blocks.sftp"),
    (a_pipeline_meets_prefect_in_its_steps, PURE, "from prefect import task"),
    (a_pipeline_meets_prefect_in_its_steps, "tasks/news/registry.py", "import prefect.logging"),
    (a_pipeline_meets_the_database_in_steps_and_register, PURE, "from db import feeds, enums"),
    (a_pipeline_meets_the_database_in_steps_and_register, PURE, "from db.engine import Connection"),
    (the_driver_is_used_below_db, "tasks/exclusive.py", "import psycopg"),
    (the_driver_is_used_below_db, "feedmill/views.py", "from sqlalchemy.orm import Session"),
    (the_network_has_one_door, PURE, "import urllib.request"),
    (the_network_has_one_door, "tasks/exclusive.py", "from socket import gethostname"),
    (the_network_has_one_door, "feedmill/cli.py", "import httpx"),
    (files_have_one_door, PURE, "import tempfile"),
    (files_have_one_door, PURE, "from shutil import rmtree"),
    (files_have_one_door, PURE, "text = open('x').read()"),
    (files_have_one_door, PURE, "def f(path):\n    with path.open('rb') as file:\n        return file"),
    (files_have_one_door, PURE, "path.write_text('x')"),
    (files_have_one_door, PURE, "Path('x').read_bytes()"),
    (files_have_one_door, PURE, "import gzip\ngzip.open('x')"),
    (files_have_one_door, PURE, "from io import open as look\nlook('x')"),
    (there_is_one_clock, PURE, "from datetime import datetime\ndatetime.now()"),
    (there_is_one_clock, "db/keeper.py", "import datetime as dt\ndt.datetime.utcnow()"),
    (there_is_one_clock, PURE, "import datetime\nx = datetime.date.today"),
    (there_is_one_clock, "feedmill/demo.py", "import time\nbegan = time.time()"),
    (there_is_one_clock, "feedmill/demo.py", "from time import time as t\nbegan = t()"),
    (packages_are_empty, "tasks/__init__.py", '"""Tasks."""'),
    (packages_are_empty, "db/embedded/__init__.py", "from db.embedded.cluster import Cluster"),
    (modules_are_short, PURE, "x = 1\n" * 301),
    (sql_is_written_below_db, "feedmill/views.py", "rows = conn.execute('SELECT relname FROM pg_class')"),
    (sql_is_written_below_db, PURE, "query = f'UPDATE {table} SET x = 1'"),
    (sql_is_written_below_db, PURE, "query = '''\n  INSERT INTO prices VALUES (1)'''"),
    (sql_is_written_below_db, STEPS, "conn.execute('SELECT 1')"),
    (sql_is_written_below_db, STEPS, "conn.execute('DROP TABLE prices')"),
]
GOOD = [
    (imports_go_one_way, "db/feeds.py", "import psycopg\nfrom db import engine"),
    (imports_go_one_way, "feedmill/cli.py", "from flows import ingest_feed\nfrom tasks import files\nimport db.engine"),
    (imports_go_one_way, "flows/dispatch.py", "from blocks import sftp\nfrom tasks.catalogue import steps"),
    (imports_go_one_way, "tasks/secrets.py", "from db.home import home"),
    (blocks_enter_tasks_through_steps, STEPS, "from blocks.sftp import SftpCredentials"),
    (a_pipeline_meets_prefect_in_its_steps, STEPS, "from prefect import task"),
    (a_pipeline_meets_the_database_in_steps_and_register, STEPS, "from db import feeds"),
    (a_pipeline_meets_the_database_in_steps_and_register, "tasks/catalogue/registry.py", "from db import feeds"),
    (a_pipeline_meets_the_database_in_steps_and_register, PURE, "from db.enums import Stage\nfrom db import errors"),
    (the_driver_is_used_below_db, "db/embedded/cluster.py", "import psycopg"),
    (the_driver_is_used_below_db, "blocks/postgres.py", "import prefect_sqlalchemy"),
    (the_network_has_one_door, "tasks/transport_ftp.py", "import ftplib"),
    (the_network_has_one_door, "feedmill/prefect_server.py", "import socket"),
    (the_network_has_one_door, PURE, "from urllib.parse import quote"),
    (files_have_one_door, "tasks/transport.py", "self._server.open(self._path, 'rb')"),
    (files_have_one_door, PURE, "import gzip\nwith files.open_for_read(p) as raw:\n    gzip.open(raw)"),
    (files_have_one_door, "db/programs.py", "import shutil\nopen('x')"),
    (
        there_is_one_clock,
        PURE,
        "import time\nfrom datetime import datetime\ntime.monotonic()\ndatetime.fromisoformat('x')",
    ),
    (there_is_one_clock, PURE, "def f(clock, time):\n    return clock.now() + time.now"),
    (packages_are_empty, "db/sql/__init__.py", '"""The only way to reach SQL."""'),
    (modules_are_short, PURE, "x = 1\n" * 300),
    (sql_is_written_below_db, PURE, 'def f():\n    """SELECT x FROM y is what this does."""\n    return "select it"'),
    (sql_is_written_below_db, "feedmill/views.py", "text = 'Update the feed, then set it; select one from the list'"),
]


@pytest.mark.parametrize("rule, path, text", BAD, ids=[f"{rule.__name__}: {text}" for rule, _, text in BAD])
def test_a_rule_goes_red(rule, path, text):
    assert rule(path, text)


@pytest.mark.parametrize("rule, path, text", GOOD, ids=[f"{rule.__name__}: {text}" for rule, _, text in GOOD])
def test_a_rule_stays_green(rule, path, text):
    assert rule(path, text) == []


def test_every_rule_is_shown_to_go_red():
    assert {rule for rule, _, _ in BAD} == set(RULES)
