"""Standard streams that are closed, full, narrow or left early: the work is done and the exit code stays."""

import json
import os
import shlex
import signal
import subprocess
import sys

import pytest

from feedmill import cli, contract

FEEDMILL = f"{shlex.quote(sys.executable)} -m feedmill"
ADD = "feeds add {} --retailer Zelt --url file:///nowhere.csv"


@pytest.fixture
def shell(database):
    """Runs a line of shell in which $F is feedmill."""

    def run(line):
        return subprocess.run(
            ["bash", "-c", line.replace("$F", FEEDMILL)], capture_output=True, text=True, check=False, timeout=60
        )

    assert contract.run(cli.app, [*ADD.format("a").split(), "--account-id", "ü€"]) == 0
    return run


@pytest.mark.parametrize(
    "arguments, code, words",
    [
        pytest.param("feeds list", 0, "", id="a table"),
        pytest.param("feeds list --json", 0, "", id="a document"),
        pytest.param(ADD.format("b"), 0, "", id="a card"),
        pytest.param("feeds show nosuch --json", 2, "there is no feed", id="an error document"),
        pytest.param("--help", 0, "", id="help"),
    ],
)
def test_a_reader_who_leaves_changes_no_exit_code(shell, arguments, code, words):
    ended = shell(f"($F {arguments}; echo rc=$? >&2) | true")
    *told, last = ended.stderr.splitlines()
    assert last == f"rc={code}"
    assert len(told) == bool(words)
    assert words in "".join(told)


def test_a_reader_who_leaves_is_still_told_the_error_beside_the_document(shell, conn):
    conn.execute("DROP VIEW active_offers CASCADE")
    ended = shell("($F db check --json; echo rc=$? >&2) | true")
    told, last = ended.stderr.splitlines()
    assert (last, "missing" in told) == ("rc=1", True)


@pytest.mark.parametrize(
    "line, code",
    [
        pytest.param("$F feeds show nosuch --json >&-", 2, id="no output"),
        pytest.param("$F feeds show nosuch 2>&-", 2, id="no standard error"),
        pytest.param("$F feeds show nosuch 2>/dev/full", 2, id="full standard error"),
        pytest.param("$F feeds show a >&-", 0, id="no output for a card"),
        pytest.param("$F feeds show a >/dev/full", 1, id="full output"),
        pytest.param("$F feeds set a --password-stdin --expiry-hours 9 <&-", 0, id="no input"),
        pytest.param("PYTHONIOENCODING=ascii $F feeds show a", 0, id="narrow output"),
    ],
)
def test_streams_that_cannot_be_used_change_no_exit_code(shell, line, code):
    ended = shell(line)
    assert ended.returncode == code, ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stderr.count("\n") == (code > 0 and "2>" not in line)


def test_narrow_output_shows_what_it_cannot_write(shell):
    assert r"\xfc\u20ac" in shell("PYTHONIOENCODING=ascii $F feeds show a").stdout
    document = json.loads(shell("PYTHONIOENCODING=ascii $F feeds show a --json").stdout)
    assert document["account_id"] == "ü€"


@pytest.mark.parametrize("module", ["click", "psycopg", "rich"])
def test_ctrl_c_before_the_command_line_is_up_is_told_in_one_line(tmp_path, module):
    (tmp_path / f"{module}.py").write_text("raise KeyboardInterrupt")
    ended = subprocess.run(
        [sys.executable, "-m", "feedmill", "--help"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (-signal.SIGINT, "", "\nfeedmill: stopped\n")
