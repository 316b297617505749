"""Flows with and without a Prefect server: what is started, what works on it, and that nothing stays behind."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from prefect import flow, get_client, get_run_logger, task
from prefect.artifacts import create_markdown_artifact
from prefect.client.schemas.filters import LogFilter, LogFilterFlowRunId, TaskRunFilter, TaskRunFilterName
from prefect.concurrency.sync import concurrency
from prefect.runtime import flow_run
from prefect.settings import get_current_settings

from feedmill.prefect_server import PrefectUnavailableError, temporary_server
from feedmill.prefect_template import DATABASE, copy_template, keep_template

IN_CONTEXT = """
import json, psutil
from feedmill.prefect_api import prefect_api
with prefect_api() as url:
    servers = [(child.pid, child.cwd()) for child in psutil.Process().children()]
    print(json.dumps([url, servers]), flush=True)
"""


@dataclass(frozen=True)
class Script:
    process: subprocess.Popen[str]
    url: str
    servers: list[tuple[int, str]]

    @property
    def has_left_nothing(self) -> bool:
        return not any(_is_alive(pid) or Path(folder).exists() for pid, folder in self.servers)


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., Iterator[Script]]:
    """Start a Python process that does something inside `prefect_api()`, in a group of its own like any command."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    isolated = {"PREFECT_HOME": str(tmp_path / "prefect"), "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "WARNING"}

    @contextmanager
    def start(body: str = "pass", **environment: str) -> Iterator[Script]:
        with subprocess.Popen(
            [sys.executable, "-c", IN_CONTEXT + textwrap.indent(textwrap.dedent(body), "    ")],
            env={**inherited, **isolated, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                yield Script(process, *json.loads(process.stdout.readline()))
            finally:
                process.kill()

    return start


def _is_alive(pid: int) -> bool:
    """A process that has ended may wait for long until whoever adopted it takes note."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def eventually(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "did not happen within a minute"
        time.sleep(0.05)


def test_prefect_api_uses_the_server_of_the_environment(script):
    with script(PREFECT_API_URL="http://prefect.example/api") as started:
        assert started.url == "http://prefect.example/api"
        assert started.servers == []


def test_prefect_api_uses_the_server_of_the_active_profile(script, tmp_path):
    profiles = tmp_path / "profiles.toml"
    profiles.write_text('active = "team"\n[profiles.team]\nPREFECT_API_URL = "http://prefect.example/api"\n')
    with script(PREFECT_PROFILES_PATH=str(profiles)) as started:
        assert started.url == "http://prefect.example/api"
        assert started.servers == []


def test_prefect_api_ends_quietly_and_as_it_began(script):
    """A flow has logged and sent events: nothing of that may still be under way when the server goes."""
    body = """
    import atexit, os
    from prefect.settings import get_current_settings
    atexit.register(lambda: print(os.environ.get("PREFECT_API_URL"), get_current_settings().api.url))
    from prefect import flow, get_run_logger, task
    from prefect.events import emit_event
    @task
    def step():
        get_run_logger().info("a line for the server")
        emit_event("feedmill.test", resource={"prefect.resource.id": "feedmill.test"})
    flow(lambda: step(), name="quiet")()
    """
    with script(body) as started:
        output, errors = started.process.communicate()
        assert started.process.returncode == 0, errors
        assert output == "None None\n"
        [line] = errors.splitlines()
        assert line.startswith("starting a temporary Prefect server (")
        assert len(started.servers) == 1
        assert started.has_left_nothing


def test_prefect_api_takes_its_server_along_when_killed(script):
    with script("import time; time.sleep(600)") as started:
        assert not started.has_left_nothing
        started.process.kill()
        eventually(lambda: started.has_left_nothing)


def test_prefect_api_keeps_its_server_through_ctrl_c(script):
    """The terminal interrupts the whole process group; the run still reaches its final state."""
    body = """
    import time
    from prefect import flow, get_client
    @flow
    def long_run():
        print("running", flush=True)
        time.sleep(600)
    try:
        long_run()
    except KeyboardInterrupt:
        with get_client(sync_client=True) as client:
            print([run.state_type.value for run in client.read_flow_runs()])
        raise
    """
    with script(body) as started:
        assert started.process.stdout.readline() == "running\n"
        os.killpg(started.process.pid, signal.SIGINT)
        output, errors = started.process.communicate()
        assert output == "['CRASHED']\n", errors
        assert errors.endswith("KeyboardInterrupt\n")
        assert "Error logging to API" not in errors
        assert started.has_left_nothing


def test_temporary_server_refuses_strangers():
    with temporary_server() as server:
        with pytest.raises(urllib.error.HTTPError, match="401") as refusal:
            urllib.request.urlopen(f"{server.url}/admin/version", timeout=30)  # noqa: S310 - our own server
        refusal.value.close()
        assert server.auth_string not in repr(server)


def test_temporary_server_says_why_it_did_not_start(tmp_path, monkeypatch):
    (tmp_path / "uvicorn.py").write_text("raise RuntimeError('not today')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("FEEDMILL_HOME", str(tmp_path / "home"))
    with pytest.raises(PrefectUnavailableError, match="RuntimeError: not today") as failure, temporary_server():
        pass
    assert failure.value.code == "PREFECT_UNAVAILABLE"
    assert "PREFECT_API_URL" in failure.value.hint


def test_temporary_server_replaces_a_template_it_cannot_use(tmp_path, monkeypatch):
    monkeypatch.setenv("FEEDMILL_HOME", str(tmp_path / "home"))
    made = template_from(tmp_path / "made", content="not a database")
    with temporary_server():
        pass
    with closing(sqlite3.connect(made)) as database:
        assert database.execute("SELECT count(*) FROM block_type").fetchone() > (0,)
        assert database.execute("SELECT count(*) FROM flow_run").fetchone() == (0,)


def template_from(folder: Path, *, content: str) -> Path:
    """A template as an earlier server would have left it; its database file, to look at or to break."""
    folder.mkdir()
    with closing(sqlite3.connect(folder / DATABASE)) as database:
        database.execute("CREATE TABLE made (by TEXT)")
    (folder / "memo_store.toml").write_text(content)
    keep_template(folder)
    [made] = (Path(os.environ["FEEDMILL_HOME"]) / "prefect").glob(f"*/{DATABASE}")
    made.write_text(content)
    return made


def test_keep_template_leaves_the_first_one_in_place(tmp_path, monkeypatch):
    monkeypatch.setenv("FEEDMILL_HOME", str(tmp_path / "home"))
    made = template_from(tmp_path / "first", content="first")
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / "memo_store.toml").write_text("second")
    keep_template(tmp_path / "second")
    assert made.read_text() == "first"
    assert [folder.name for folder in made.parent.parent.iterdir()] == [made.parent.name]
    assert made.parent.stat().st_mode & 0o077 == 0


def test_copy_template_leaves_nothing_of_half_a_template(tmp_path, monkeypatch):
    monkeypatch.setenv("FEEDMILL_HOME", str(tmp_path / "home"))
    made = template_from(tmp_path / "made", content="made")
    made.with_name("memo_store.toml").unlink()
    target = tmp_path / "target"
    target.mkdir()
    assert copy_template(target) is False
    assert list(target.iterdir()) == []


def test_temporary_prefect_api_reaches_threads(prefect_session):
    seen = []
    thread = threading.Thread(target=lambda: seen.append(get_current_settings().api.url))
    thread.start()
    thread.join()
    assert seen == [prefect_session]


@task
def say(words: str) -> None:
    get_run_logger().info(words)
    create_markdown_artifact(words, key="said")


@flow
def everything_we_use() -> str:
    """A task with a log line and an artifact, under a concurrency limit."""
    with concurrency("one-at-a-time", max_retries=0, strict=True):
        say("hello")
    return flow_run.get_id()


def test_temporary_server_serves_what_flows_use(prefect_session):
    with get_client(sync_client=True) as client:
        client.upsert_global_concurrency_limit_by_name("one-at-a-time", 1)
        run_id = everything_we_use()
        run = client.read_flow_run(run_id)
        assert run.state.is_completed()
        [limit] = [one for one in client.read_global_concurrency_limits() if one.name == "one-at-a-time"]
        assert limit.active_slots == 0
        assert [artifact.data for artifact in client.read_artifacts() if artifact.key == "said"] == ["hello"]
        tasks = TaskRunFilter(name=TaskRunFilterName(like_="say"))
        eventually(lambda: [one.state_name for one in client.read_task_runs(task_run_filter=tasks)] == ["Completed"])
        logs = LogFilter(flow_run_id=LogFilterFlowRunId(any_=[run_id]))
        eventually(lambda: "hello" in [line.message for line in client.read_logs(logs)])
