"""The presets of Fang et al. 2019 have the grids that the paper prints."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dpbench.experiments.claims import claims_of
from dpbench.experiments.presets import experiments, papers
from dpbench.sweeps.hydra.composition import grid_points
from dpbench.sweeps.plan import plan

SIX = "0.1 0.2 0.4 0.8 1.6 3.2"
COMMON = {
    "dataset": "census brazil adult",
    "dataset.scaling": "corner",
    "dataset.coding": "numeric",
    "model.intercept": "false",
    "splits": "holdout",
    "splits.repeats": "50",
    "splits.test_fraction": "0.2",
    "dataset.attributes": "14",
}
ALPHAS = "0.05 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 0.95 0.98"
SPLIT = {
    "dataset.scaling": "corner",
    "mechanism": "dpba",
    "mechanism.alpha": ALPHAS,
    "mechanism.sensitivity": "fang tight",
    "epsilon": "0.1 1 2 4",
}
COMPARED = {**COMMON, "mechanism": "no_privacy fm dpc privr dpba", "epsilon": SIX}
CURVES = {**COMMON, "mechanism": "no_privacy fm dpba", "model": "logistic", "epsilon": "0.1"}
ATTACK = {"attack": "model_inversion", "attack.sensitive": "is_married"}
ATTACKED = {**COMMON, **ATTACK, "mechanism": "no_privacy dpc dpba", "mechanism.ridge": "auto code", "epsilon": SIX}
ON_ADULT = {key: value for key, value in ATTACKED.items() if key != "dataset.attributes"} | {"dataset": "adult"}
"""The attack is tested with the smallest proven bounds where it can be tested: on the real table."""
RULES = {"": {"mechanism.sensitivity": "fang"}, "_tight": {"mechanism.sensitivity": "tight"}}
"""What the figure that the paper has, and the one with the smallest proven bounds, use for every mechanism."""
GRIDS = {
    "fang2019/fig3": {**SPLIT, "model": "linear", "dataset": "census brazil", "dataset.attributes": "14"},
    "fang2019/fig4": {**SPLIT, "model": "logistic", "dataset": "census brazil", "dataset.attributes": "14"},
    "fang2019/fig3_adult": {**SPLIT, "model": "linear", "dataset": "adult", "dataset.coding": "numeric"},
    "fang2019/fig4_adult": {**SPLIT, "model": "logistic", "dataset": "adult", "dataset.coding": "numeric"},
    **{f"fang2019/fig5{end}": {**COMPARED, **rule, "model": "linear"} for end, rule in RULES.items()},
    **{f"fang2019/fig6{end}": {**COMPARED, **rule, "model": "logistic"} for end, rule in RULES.items()},
    **{f"fang2019/fig7{end}": {**CURVES, **rule} for end, rule in RULES.items()},
    "fang2019/fig8": {**ATTACKED, **RULES[""], "model": "linear"},
    "fang2019/fig9": {**ATTACKED, **RULES[""], "model": "logistic"},
    "fang2019/fig8_tight": {**ON_ADULT, **RULES["_tight"], "model": "linear"},
    "fang2019/fig9_tight": {**ON_ADULT, **RULES["_tight"], "model": "logistic"},
    "fang2019/fig8_box": {**ATTACK, "model": "linear", "dataset": "adult", "dataset.scaling": "box", "epsilon": SIX},
    "fang2019/fig9_box": {**ATTACK, "model": "logistic", "dataset": "adult", "dataset.scaling": "box", "epsilon": SIX},
    "fang2019/unknown": {**ATTACK, "attack.unknown": "[] [is_single]", "dataset": "adult", "dataset.scaling": "corner"},
    "fang2019/alpha": {**ATTACK, "mechanism": "dpba", "mechanism.alpha": ALPHAS, "dataset": "adult", "dataset.scaling": "corner"},
}


@pytest.mark.parametrize("name", GRIDS)
def test_a_grid_is_the_one_of_the_paper(name: str, grid: Callable[[str, dict[str, str]], dict[str, str]]) -> None:
    assert grid(name, GRIDS[name]) == GRIDS[name]


def test_every_figure_of_its_evaluation_is_there() -> None:
    assert {name for name in experiments() if name.startswith("fang2019/")} == set(GRIDS)


@pytest.mark.parametrize("end", RULES)
def test_the_roc_curves_are_those_of_cells_of_figure_6(end: str, cells: Callable[..., list[str]]) -> None:
    assert cells(f"fang2019/fig7{end}")
    assert set(cells(f"fang2019/fig7{end}")) <= set(cells(f"fang2019/fig6{end}"))


@pytest.mark.parametrize(("end", "rule"), [("", "fang"), ("_tight", "tight")])
@pytest.mark.parametrize("number", range(5, 10))
def test_every_mechanism_of_a_figure_has_the_bounds_of_one_rule(number: int, end: str, rule: str) -> None:
    cells = plan(grid_points([f"experiment=fang2019/fig{number}{end}", "dataset=adult", "epsilon=0.1"])).cells
    rules = [cell.cell.config["mechanism"].get("sensitivity") for cell in cells]
    assert set(rules) - {None} == {rule}


def test_a_claim_that_compares_mechanisms_reads_presets_of_one_rule() -> None:
    for claim in claims_of(next(paper for paper in papers() if paper.name == "fang2019")):
        others = str(claim.check.get(next(iter(claim.check))).get("against", {}).get("mechanism", ""))
        if any(name in others for name in ("fm", "dpc", "privr")):
            assert len({"_tight" in preset for preset in claim.presets}) == 1
            assert "privr" not in others or "_tight" in claim.presets[0]
