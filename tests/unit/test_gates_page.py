"""docs/gates.md says what the code does: its tables come from the results, its limits are the defaults."""

import json
import re
from pathlib import Path

from benchmarks import false_alarms
from tasks.catalogue.breaker import DEFAULTS, GATES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "gates.md").read_text(encoding="utf-8")
RESULT = json.loads((ROOT / "benchmarks" / "results" / "false_alarms.json").read_text(encoding="utf-8"))


def test_tables_are_made_from_the_results():
    assert "\n".join(false_alarms.tables(RESULT)) in PAGE


def test_results_are_of_the_gates_as_they_come():
    for found in (RESULT["chosen_from"], RESULT["tested_on"]):
        assert {gate: one["share"] for gate, one in found["figures"].items()} == {
            gate: limits.share for gate, limits in DEFAULTS.items()
        }


def test_results_are_of_fifty_shops_over_twelve_weeks():
    assert (RESULT["data"]["shops"], RESULT["data"]["weeks"]) == (50, 12)
    assert RESULT["tested_on"]["runs"] == 50 * (12 * 7 - 1)


def test_table_of_gates_has_the_defaults_in_their_order():
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \|.*\| (\d+)%[^|]*\| (\d*) ?\|$", PAGE, flags=re.MULTILINE)
    told = [(gate, code, int(share) / 100, int(least or 0)) for gate, code, share, least in rows]
    assert told == [(gate, false_alarms.CODES[gate], DEFAULTS[gate].share, DEFAULTS[gate].least) for gate in GATES]
