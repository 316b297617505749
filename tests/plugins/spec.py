"""The map from the specification to the tests: which section is proved by which tests, and which one by none yet."""

from collections import defaultdict
from pathlib import Path

import pytest

DUE = Path(__file__).parents[1] / "spec_due.txt"


def pytest_addoption(parser):
    parser.addoption("--spec", action="store_true", help="print the map, and fail for a due section without a test")


def pytest_collection_modifyitems(items):
    for item in items:
        for marker in item.iter_markers("spec"):
            item.user_properties.extend(("spec", section) for section in marker.args)


def due_sections():
    """Section and title, in the order of the file."""
    lines = (line.partition("#")[0].strip() for line in DUE.read_text(encoding="utf-8").splitlines())
    return dict((part.strip() for part in line.split("|", 1)) for line in lines if line)


def proved(reporter):
    """How many tests passed, failed or were skipped for each section."""
    outcomes = defaultdict(lambda: defaultdict(int))
    for outcome in ("passed", "failed", "skipped"):
        for report in reporter.stats.get(outcome, []):
            for name, section in getattr(report, "user_properties", []):
                if name == "spec":
                    outcomes[section][outcome] += 1
    return outcomes


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not session.config.getoption("--spec") or reporter is None or hasattr(session.config, "workerinput"):
        return
    outcomes = proved(reporter)
    if exitstatus == 0 and any(not outcomes[section]["passed"] for section in due_sections()):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config):
    if not config.getoption("--spec"):
        return
    outcomes, due = proved(terminalreporter), due_sections()
    terminalreporter.section("specification")
    for section, title in due.items():
        passed = outcomes[section]["passed"]
        terminalreporter.line(f"{section:<14} {passed:>4} passed  {title}", red=not passed)
    others = sorted(set(outcomes) - set(due))
    if others:
        terminalreporter.line(f"not listed in {DUE.name}: {', '.join(others)}", red=True)
