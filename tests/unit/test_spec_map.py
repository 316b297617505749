"""The map from the specification to the tests is red while a due section has none."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = """
import pytest

@pytest.mark.spec("002 2.1")
def test_feeds():
    pass
"""


@pytest.mark.parametrize(
    "asked, code",
    [
        pytest.param(["--spec", "--numprocesses", "1"], 1, id="asked for, in a worker"),
        pytest.param([], 0, id="not asked for"),
    ],
)
def test_due_section_without_a_test_fails_the_run_that_asks_for_the_map(tmp_path, asked, code):
    (tmp_path / "test_feeds.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--config-file", ROOT / "pyproject.toml"]
    done = subprocess.run(
        [*command, *asked, tmp_path], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == code, done.stdout
    assert "1 passed" in done.stdout
    if asked:
        lines = done.stdout.splitlines()
        assert next(line for line in lines if line.startswith("002 2.1 ")).split()[2] == "1"
        assert next(line for line in lines if line.startswith("002 2.2 ")).split()[2] == "0"
