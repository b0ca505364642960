"""Every planted fault is refused, refuted or made impossible, or docs/privacy.md lists it; and none spoils another's numbers.

``run_faults.py`` runs each fault in a process of its own, in one sweep with built-in mechanisms.
"""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs" / "privacy.md"
MAX_OUT_OF_REACH = 4
OUT_OF_REACH = "out of reach"
CAUGHT = {"failed", "refuted", "refused"}
"""The states of a fault that is expected to be caught: an error that costs its own cell, a failed audit, or a refused command."""


def _load() -> ModuleType:
    """Load the module next to this file, which is not in a package."""
    spec = importlib.util.spec_from_file_location("run_faults", HERE / "run_faults.py")
    assert spec is not None
    assert spec.loader is not None
    sys.modules["run_faults"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["run_faults"])
    return sys.modules["run_faults"]


FAULTS = {fault.name: fault for fault in _load().faults()}
REACHABLE = [name for name, fault in FAULTS.items() if fault.expected != OUT_OF_REACH]


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Any]:
    """What became of each fault, by its name."""
    result = subprocess.run([sys.executable, str(HERE / "run_faults.py")], capture_output=True, text=True, timeout=900)
    assert result.returncode == 0, result.stderr[-3000:]
    return {outcome["name"]: outcome for outcome in json.loads(result.stdout.splitlines()[-1])}


def test_there_are_many_faults_and_each_says_what_it_does_and_what_is_expected() -> None:
    assert len(FAULTS) >= 40
    assert all(fault.meaning.endswith(".") and fault.expected for fault in FAULTS.values())


@pytest.mark.parametrize("name", REACHABLE)
def test_it_is_not_shown_as_sound_but_as_expected(name, outcomes) -> None:
    outcome = outcomes[name]
    assert not outcome["error"]
    expected = CAUGHT if FAULTS[name].expected == "caught" else {FAULTS[name].expected}
    assert outcome["states"]
    assert set(outcome["states"]) <= expected, outcome["reasons"]


@pytest.mark.parametrize("name", FAULTS)
def test_the_numbers_of_built_in_cells_are_unchanged_to_the_bit(name, outcomes) -> None:
    assert outcomes[name]["changed"] == []


@pytest.mark.parametrize("name", [name for name in REACHABLE if FAULTS[name].releasable])
def test_it_is_not_released_and_one_sentence_says_why(name, outcomes) -> None:
    code, _, text = outcomes[name]["release"].partition(": ")
    assert not outcomes[name]["released"]
    assert code == "2", text
    assert len(text.splitlines()) == 1
    assert "Traceback" not in text


def test_the_documentation_lists_what_is_out_of_reach() -> None:
    listed = set(re.findall(r"^\d\. \*\*`(\w+)`\*\*", DOCS.read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert listed == set(FAULTS) - set(REACHABLE)
    assert len(listed) <= MAX_OUT_OF_REACH
