"""Claims are read from YAML and a wrong file is refused; a verdict counts places, and says what it rests on."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cell_factory import unbudgeted
from made_cells import AB, A, B, C, cell, claimed, level, places

from dpbench.base.errors import Refused
from dpbench.contracts.paper import Paper
from dpbench.experiments.claims import Claim, claims_in, claims_of, judge, paper_fault, papers_with_claims
from dpbench.experiments.scorecard import markdown, print_scorecard
from dpbench.records.cell_record import CellRecord
from dpbench.records.preset import Preset
from dpbench.records.sweep_record import SweepRecord


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- 1", ["must be a mapping"]),
        ("claims: [{says: x, check: {belo: {}}}]", ["no check named 'belo'", "below"]),
        ("claims: [{says: x, check: {below: {agains: 1}}}]", ["agains", "against"]),
        ("claims: [{says: x, check: {below: {}}}]", ["check below needs the option 'against'"]),
        ("claims: [{says: x, check: {}}]", ["one check"]),
        ("claims: [{say: x}]", ["say", "says"]),
        ("claims: [{check: {below: {against: {mechanism: fm}}}}]", ["says"]),
        ("claims: [{says: x, check: {within: {}}}]", ["reference"]),
        ("claims: [1]", ["mapping"]),
        ("claim: []", ["list 'claims'"]),
        ("{", ["YAML"]),
    ],
)
def test_a_wrong_claims_file_is_refused_in_one_sentence(tmp_path: Path, text: str, words: list[str]) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(Refused) as refusal:
        claims_in(str(path))
    assert all(word in str(refusal.value) for word in words)
    assert "\n" not in str(refusal.value)


def paper(folder: Path, claims: str | None, name: str = "mine") -> Paper:
    """A paper of this name with one preset."""
    (folder / "presets").mkdir()
    (folder / "presets" / "fig1.yaml").write_text("preset: {title: Mine}\n", encoding="utf-8")
    if claims is not None:
        (folder / "claims.yaml").write_text(claims, encoding="utf-8")
    return Paper(name, "Mine: a title", folder)


CLAIM = "{says: x, presets: [%s], check: {below: {against: {mechanism: fm}}}}"


def test_a_papers_claims_have_its_title_and_name_presets_that_exist(tmp_path: Path) -> None:
    shipped = next(iter(papers_with_claims().values()))
    name = next(iter(shipped.preset_files))
    (claim,) = claims_of(paper(tmp_path, f"claims: [{CLAIM % name}]"))
    assert (claim.paper, claim.title, claim.presets) == ("mine", "Mine: a title", (name,))


def test_a_claim_about_an_unknown_preset_makes_the_paper_broken(tmp_path: Path) -> None:
    broken = paper(tmp_path, f"claims: [{CLAIM % 'mine/fig9'}]")
    with pytest.raises(Refused, match="no preset named 'mine/fig9'"):
        claims_of(broken)
    assert "mine/fig9" in paper_fault(broken)


def test_a_paper_may_have_no_claims(tmp_path: Path) -> None:
    silent = paper(tmp_path, None)
    assert claims_of(silent) == []
    assert paper_fault(silent) == ""


def test_a_wrong_preset_makes_the_paper_broken(tmp_path: Path) -> None:
    broken = paper(tmp_path, None)
    (tmp_path / "presets" / "fig2.yaml").write_text("preset: [", encoding="utf-8")
    assert "fig2.yaml is not YAML" in paper_fault(broken)


def test_a_users_file_has_a_title_of_its_own_or_its_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("claims: [{says: x, check: {skewed: {}}}]", encoding="utf-8")
    assert claims_in(str(path))[0].title == "mine"
    path.write_text("title: Ours\nclaims: [{says: x, check: {skewed: {}}}]", encoding="utf-8")
    assert claims_in(str(path))[0].title == "Ours"


BELOW = {"below": AB}


def test_all_some_and_none() -> None:
    assert claimed(places(0.1, 0.1)).text == "holds (2 of 2)"
    assert claimed(places(0.1, -0.1)).text == "holds in 1 of 2"
    assert claimed(places(0.1, -0.1, 0)).text == "holds in 1 of 3, 1 against, 1 not decided"
    assert claimed(places(-0.1, -0.1)).text == "does not hold (2 of 2 against)"
    assert claimed(places(0.0)).text.startswith("not decided")
    assert claimed([]).text == "not run"


def test_a_quick_sweep_is_a_first_look() -> None:
    assert "first look" in claimed(places(0.1), quick=True).text
    assert "first look" not in claimed(places(0.1)).text


def test_the_worst_and_the_best_place_are_named() -> None:
    worst, best = claimed(places(0.1, 0.05, -0.1)).evidence
    assert worst.startswith("worst: linear on wine, ε = 3")
    assert best.startswith("best: linear on wine, ε = 1")


def test_synthetic_data_and_cells_that_are_not_ranked_are_said() -> None:
    rows = places(0.1)
    tags = {**rows[0].tags, "dpbench.synthetic": "true", "dpbench.leaks": "bounds"}
    found = claimed([replace(row, tags=tags) for row in rows])
    assert found.datasets == ["wine (SYNTHETIC)"]
    assert any("a: LEAKS bounds" in note for note in found.notes)


def test_at_limits_the_cells() -> None:
    assert claimed(places(0.1, -0.1), {"at": {"epsilon": "<= 1"}}).text == "holds (1 of 1)"


def test_a_cell_that_stands_in_two_sweeps_counts_once() -> None:
    rows = [replace(row, run_id=str(index)) for index, row in enumerate(places(0.1, 0.1))]
    sweep = SweepRecord(tuple(rows), "command")
    claim = Claim(paper="p", says="s", presets=["x", "y", "z"], check=BELOW)
    found = judge(claim, {"x": sweep, "y": sweep})
    assert (found.text, found.missing) == ("holds (2 of 2)", ("z",))


def test_of_several_presets_the_changed_one_is_named() -> None:
    rows = [replace(row, run_id=str(index)) for index, row in enumerate(places(0.1, 0.1))]
    changed = SweepRecord(tuple(rows[:2]), "command", ("experiment=y", "dataset=gaussian"), Preset(name="y", title="Y"))
    own = SweepRecord(tuple(rows[2:]), "command", ("experiment=x", "quick=true"), Preset(name="x", title="X"))
    found = judge(Claim(paper="p", says="s", presets=("x", "y"), check=BELOW), {"x": own, "y": changed})
    assert found.changed_grids == ["not the preset's own grid (y): dataset=gaussian"]


def test_a_preset_as_it_is_has_nothing_to_say_of_its_grid() -> None:
    own = SweepRecord(tuple(places(0.1)), "command", ("experiment=x", "quick=true"), Preset(name="x", title="X"))
    assert judge(Claim(paper="p", says="s", presets=("x",), check=BELOW), {"x": own}).text == "holds (1 of 1)"


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        (
            {"check": {"below": {"cells": {"mechanism": ["x", "y"]}, "against": B}}},
            "no finished cell with mechanism = x or y",
        ),
        ({"check": {"below": {"cells": A, "against": {"mechanism": "z"}}}}, "no finished cell with mechanism = z"),
        ({"at": {"epsilon": ">= 5"}}, "no finished cell with epsilon >= 5"),
        ({"check": {"falls": {"along": "dataset.n"}}}, "differ only in dataset.n"),
        ({"check": {"below": {"cells": A, "against": {"epsilon": 1}}}}, "what 'against' names"),
    ],
)
def test_what_a_sweep_lacks_is_said(claim: dict[str, Any], words: str) -> None:
    rows = [cell("a", level(0.1), epsilon=2), cell("b", level(0.2), epsilon=1)]
    found = claimed(rows, claim, run_id="abc123")
    assert found.text == "not run"
    assert words in found.notes[-1]
    out = io.StringIO()
    print_scorecard([found], out)
    assert "Read: sweep abc123, 2 cells: command\n" in out.getvalue()
    assert "Read: sweep abc123, 2 cells: command\n" in markdown([found])
    assert "Not run yet" not in out.getvalue()


def test_without_sweeps_nothing_is_decided() -> None:
    assert judge(Claim(paper="p", says="s", presets=("x",), check=BELOW), {}).text == "not run"


def attacked(dataset: str, advantage: float, *, synthetic: bool, epsilon: float = 1) -> list[CellRecord]:
    """Cells of A, below B, and of an exact fit C whose metric lies this far above its control."""
    options: dict[str, Any] = {"dataset": dataset, "epsilon": epsilon}
    exact = cell("c", level(0.5 + advantage, 0.001), more={"control/rmse": level(0.5, 0.001, 1)}, **options)
    rows = [cell("a", level(0.1), **options), cell("b", level(0.2, index=1), **options), exact]
    return [replace(row, tags={**row.tags, "dpbench.synthetic": str(synthetic).lower()}) for row in rows]


PRECONDITION = {"precondition": {"exceeds": {"cells": C, "reference": "control/", "by": 0.05}}}


def test_a_claim_is_tested_only_where_its_precondition_holds() -> None:
    rows = [*attacked("real", 0.1, synthetic=False), *attacked("made", 0.001, synthetic=True)]
    found = claimed(rows, PRECONDITION)
    assert found.text == "holds (1 of 1), 1 not testable"
    assert {title: part.text for title, part in found.by_data.items()} == {
        "on real tables": "holds (1 of 1)",
        "on synthetic tables": "not testable here (1 of 1)",
    }
    (reason,) = found.by_data["on synthetic tables"].evidence
    assert reason.startswith("not testable: linear on made, ε = 1, c against ")
    assert "rmse higher by +0.00" in reason
    assert "(needed: above 0.05)" in reason
    assert "holds (2 of 2)" in claimed(rows).text


def test_a_reason_that_is_the_same_everywhere_is_named_once_and_else_the_closest_and_the_farthest() -> None:
    same = [row for epsilon in (1, 2) for row in attacked("real", 0.01, synthetic=False, epsilon=epsilon)]
    assert len(claimed(same, PRECONDITION).evidence) == 1
    more = [*same, *attacked("real", 0.03, synthetic=False, epsilon=3), *attacked("real", 0.02, synthetic=False, epsilon=4)]
    first, last = claimed(more, PRECONDITION).evidence
    assert "+0.01" in first
    assert "ε = 3" in last


def test_a_precondition_counts_at_its_own_setting() -> None:
    rows = [*attacked("real", 0.1, synthetic=False, epsilon=1), *attacked("real", 0.01, synthetic=False, epsilon=2)]
    assert claimed(rows, PRECONDITION).text == "holds (1 of 1), 1 not testable"
    assert claimed(rows, {**PRECONDITION, "at": {"epsilon": 2}}).text == "not testable here (1 of 1)"


def test_a_precondition_that_is_not_decided_or_has_no_cells_decides_nothing() -> None:
    open_ = claimed(attacked("real", 0.05, synthetic=False), PRECONDITION)
    assert open_.state == "not decided"
    assert any(line.startswith("precondition not decided: ") for line in open_.evidence)
    missing = claimed([row for row in attacked("real", 0.1, synthetic=False) if row.params["mechanism"] != "c"], PRECONDITION)
    assert missing.state == "not decided"
    assert "no cell for the precondition" in missing.evidence[-1]


def test_a_wrong_precondition_is_refused() -> None:
    with pytest.raises(Refused, match="must name one check, as in precondition"):
        claimed([], {"precondition": {}})
    with pytest.raises(Refused, match="no check named 'exceed'"):
        claimed([], {"precondition": {"exceed": {}}})


def test_a_claim_may_compare_the_cells_of_two_presets() -> None:
    """Neither sweep has both kinds of cells: only together they can decide, and only if both were run."""
    first = SweepRecord((cell("a", level(0.1)),), "command")
    other = SweepRecord((cell("b", level(0.2)),), "command")
    options = {"paper": "p", "says": "A is below B.", "presets": ("one", "two"), "check": {"below": AB}}
    apart, together = Claim(**options), Claim(**options, together=True)
    assert judge(apart, {"one": first, "two": other}).state == "not run"
    verdict = judge(together, {"one": first, "two": other})
    assert (verdict.state, verdict.missing) == ("holds", ())
    assert judge(together, {"one": first}).state == "not run"
    assert judge(together, {"one": first}).missing == ("one", "two")


def test_a_precondition_on_a_cell_without_a_budget_counts_at_every_epsilon() -> None:
    """So it does for a claim about such a cell, which is one place whatever the number of ε."""
    rows = [row for epsilon in (1, 2) for row in attacked("real", 0.1, synthetic=False, epsilon=epsilon)[:2]]
    exact = unbudgeted(replace(attacked("real", 0.1, synthetic=False)[2], run_id="exact"))
    assert claimed([*rows, exact], PRECONDITION).text == "holds (2 of 2)"
    low = unbudgeted(attacked("real", 0.01, synthetic=False)[2])
    assert claimed([*rows, low], PRECONDITION).text == "not testable here (2 of 2)"
    alone = {**PRECONDITION, "check": {"in_range": {"cells": C, "high": 1.0}}}
    assert claimed([*rows, exact], alone).text == "holds (1 of 1)"
