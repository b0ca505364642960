"""docs/mechanisms.md and the README's table agree with the docstrings, and mechanisms fit the models that they should fit."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from script_loader import load_script

from dpbench.base.options import options_of
from dpbench.data.geometry import Geometry

ROOT = Path(__file__).parents[2]
MODELS = ("linear", "ridge", "lasso", "elastic_net", "logistic", "robust")
POLYNOMIAL = ("linear", "ridge", "lasso", "elastic_net", "logistic")
SUPPORT = {
    "no_privacy": MODELS,
    "drop_sensitive": MODELS,
    "truncated": ("logistic",),
    "fm": POLYNOMIAL,
    "ssp": POLYNOMIAL,
    "best": POLYNOMIAL,
    "boosted_adassp": ("linear", "ridge", "lasso", "elastic_net"),
    "adassp": POLYNOMIAL,
    "dpba": POLYNOMIAL,
    "dpc": POLYNOMIAL,
    "privr": POLYNOMIAL,
    "dpme": MODELS,
    "fp": MODELS,
    "cdp_irls": ("linear", "robust"),
    "dp_gd": MODELS,
    "binagg": ("linear", "ridge", "lasso", "elastic_net"),
    "dp_newton": ("logistic",),
    "frank_wolfe": MODELS,
    "objective_perturbation": ("linear", "ridge", "logistic", "robust"),
    "output_perturbation": ("linear", "ridge", "logistic", "robust"),
}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script("mechanisms_page")


@pytest.fixture(scope="module")
def written() -> str:
    return (ROOT / "docs" / "mechanisms.md").read_text(encoding="utf-8")


def section(page: str, name: str) -> str:
    return page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def test_every_docstring_has_its_parts(script: ModuleType) -> None:
    assert list(script.missing_parts()) == []


def test_the_page_is_not_stale(script: ModuleType, written: str) -> None:
    assert written == script.page(), "run python scripts/mechanisms_page.py"


def test_the_table_in_the_readme_is_not_stale(script: ModuleType) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text == script.readme(text), "run python scripts/mechanisms_page.py"


def test_a_docstring_without_a_part_is_named(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    class Vague:
        """Does something.

        Formula: w.

        Guarantee: ε-DP.

        Cost: little.

        Reference: Nobody 2030, unpublished.
        """

        name = "vague"

    monkeypatch.setattr(script, "shipped", lambda kind: [Vague])
    assert list(script.missing_parts()) == ["The docstring of vague has no paragraph that begins with 'Public:'."]
    assert script.paper(Vague) == "Nobody 2030"


def test_every_mechanism_that_ships_has_a_section_with_every_option_and_its_default(script: ModuleType, written: str) -> None:
    mechanisms = script.shipped("mechanism")
    assert SUPPORT.keys() <= {one.name for one in mechanisms}
    for one in mechanisms:
        text = section(written, one.name)
        rows = [line.split(" | ")[:2] for line in text.splitlines() if line.startswith("| `mechanism.")]
        assert rows == [[f"| `mechanism.{opt.name}`", f"`{script.default_text(opt)}`"] for opt in options_of(one)]
        facts = {line.split(" | ")[0].removeprefix("| ") for line in text.splitlines()}
        assert {"formula", "guarantee", "assumed public", "cost", "reference"} <= facts


def test_markup_in_docstrings_is_escaped(script: ModuleType) -> None:
    assert script.markdown("A~ and ``a*b<c`` in *two* <words>, |x| <= 1") == r"A\~ and `a*b<c` in \*two\* \<words>, |x| <= 1"
    assert script.table(("a",), [("|x|",)]) == "| a |\n| --- |\n| \\|x\\| |\n"


def sentence(make: Any, mechanism: str, model: str) -> str | None:
    chosen = make("model", model)
    names = ("age", "income", "married")
    table = Geometry(names, (), True, "box", chosen.target, attributes=names, sensitive=("married",))
    reason: str | None = make("mechanism", mechanism).unsupported(chosen, table)
    return reason


@pytest.mark.parametrize("mechanism", SUPPORT)
def test_a_mechanism_fits_the_models_it_should_fit_and_no_others(make: Any, mechanism: str, written: str) -> None:
    fitted = tuple(model for model in MODELS if sentence(make, mechanism, model) is None)
    assert fitted == SUPPORT[mechanism]
    for model in set(MODELS) - set(fitted):
        reason = sentence(make, mechanism, model)
        assert reason is not None
        assert reason.startswith(f"{mechanism} does not fit {model}: ")
        assert reason.endswith(".")
    lines = written.partition("## What fits what")[2].splitlines()
    (head,) = [line for line in lines if line.startswith("|  | `")]
    (row,) = [line for line in lines if line.startswith(f"| `{mechanism}` |")]
    columns = [cell.strip(" `") for cell in head.split("|")]
    printed = {name for name, cell in zip(columns, row.split("|"), strict=True) if cell.strip() == "yes"}
    assert printed == set(fitted)
