"""docs/records.md has every declared name and every metric that ships."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from script_loader import load_script

from dpbench.registry.lookup import registry

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script("records_page")


def test_the_page_is_not_stale(script: ModuleType) -> None:
    written = (ROOT / "docs" / "records.md").read_text(encoding="utf-8")
    assert written == script.page(), "run python scripts/records_page.py"


def test_the_metrics_of_every_model_and_attack_are_on_the_page(script: ModuleType) -> None:
    page = script.page()
    for name in ("mae", "error_rate", "auc", "log_loss"):
        assert f"| `utility/{name}` |" in page
    for attack in registry().names("attack"):
        for info in registry().get("attack", attack).metrics:
            assert f"| `attack/{info.name}` |" in page


def test_a_column_that_is_empty_is_left_out(script: ModuleType) -> None:
    assert script.lines(["name", "unit"], [("a|b", ""), ("c", "")]) == "| name |\n| --- |\n| a\\|b |\n| c |\n"
