"""Every command block of the README runs as it stands, in order, in a home of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from db import embedded

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands() -> list[str]:
    blocks = re.findall(r"^```console\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def python() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture
def shell(tmp_path, monkeypatch, prefect_session):
    """Runs one line as a person would, from the root of the project."""
    monkeypatch.setenv("FEEDMILL_HOME", str(tmp_path / "home"))
    binaries = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
        "SFTP_PASSWORD": "correct horse",
    }

    def run(line: str) -> str:
        done = subprocess.run(
            ["bash", "-c", line], cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        return done.stdout

    yield run
    embedded.remove()


def test_the_two_commands_are_targets_of_the_makefile(shell):
    made = [line for line in commands() if line.startswith("make ")]
    assert made == ["make demo", "make test"]
    assert "feedmill demo" in shell("make --dry-run demo")
    assert "pytest" in shell("make --dry-run test")


def test_every_command_runs_in_the_order_of_the_page(shell):
    lines = [line for line in commands() if not line.startswith(("make ", ". .venv"))]
    printed = {line: shell(line) for line in lines}
    assert "4 products + 1 rejected" in printed["feedmill run trailhead"]
    assert "4 offers" in printed["feedmill offers trailhead"]
    assert "199.00 USD" in printed["feedmill prices trailhead sku:TENT-2"]
    assert "northfork" in printed["feedmill feeds list"]
    notebook = "\n".join(python())
    assert (
        shell(f"{sys.executable} - <<'END'\n{notebook}\nprint(len(feedmill.offers('trailhead')))\nEND").strip() == "4"
    )


def test_every_file_of_the_way_of_a_row_is_there():
    table = README[README.index("## The way of one row") : README.index("## Where things live")]
    named = re.findall(r"`((?:tasks|db|flows)/[\w/.]+\.\w+)`", table)
    assert len(named) >= 8
    assert [name for name in named if not (ROOT / name).exists()] == []
