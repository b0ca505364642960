"""Presets of papers and of a user's folder are read and listed, and a paper that cannot be read stops no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from dpbench.base.errors import Refused
from dpbench.contracts.paper import Paper
from dpbench.experiments.presets import (
    broken_papers,
    experiments,
    fault_in,
    preset_configs,
    read_mapping,
    read_presets,
    select,
    values_of,
)
from dpbench.sweeps.hydra.composition import grid_points
from dpbench.sweeps.plan import plan


def write(folder: Path, params: dict[str, Any], **preset: Any) -> Path:
    """Write a user's own preset, as the documentation says."""
    path = folder / "experiment" / "mine.yaml"
    path.parent.mkdir(exist_ok=True)
    config = {**({"preset": preset} if preset else {}), "hydra": {"sweeper": {"params": params}}}
    path.write_text("# @package _global_\n" + yaml.safe_dump(config))
    return folder


def test_a_preset_of_ones_own_is_listed_and_expands(tmp_path: Path) -> None:
    params = {"mechanism": "fm,dpba", "mechanism.alpha": "opt,paper", "dataset": "wine", "epsilon": "1,2", "splits.repeats": 4}
    write(tmp_path, params, title="Mine", shows="something")
    (found,) = select("mine", experiments(str(tmp_path)))
    assert (found.cells, found.runs, found.facts()["shows"]) == (6, 20, "something")
    assert len(grid_points(["experiment=mine"], str(tmp_path))) == 6


def test_a_preset_that_says_nothing_is_a_grid_too(tmp_path: Path) -> None:
    (found,) = select("mine", experiments(str(write(tmp_path, {"dataset.attributes": "[age,gender],[age]"}))))
    assert (found.preset, found.cells, found.runs) == (None, 2, 250)


def test_a_wrong_option_in_a_preset_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"mechanism": "fm,dpba", "mechanism.rigde": 4})
    with pytest.raises(Refused, match="ridge"):
        grid_points(["experiment=mine"], str(tmp_path))
    write(tmp_path, {"mechanism": "fm", "splitz.folds": 4})
    with pytest.raises(Refused, match="splitz"):
        grid_points(["experiment=mine"], str(tmp_path))


def test_a_preset_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "torn.yaml").write_text("preset: [")
    with pytest.raises(Refused, match=r"torn\.yaml is not YAML"):
        experiments(str(tmp_path))
    with pytest.raises(Refused, match="must be a folder"):
        experiments(str(tmp_path / "nowhere"))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1", ["1"]),
        ("0.1, 0.2", ["0.1", "0.2"]),
        ("[a,b],[c]", ["[a,b]", "[c]"]),
        ("'a,b',c", ["'a,b'", "c"]),
        ("{a: [1,2], b: 3}", ["{a: [1,2], b: 3}"]),
    ],
)
def test_commas_separate_values_but_not_within_brackets_and_quotes(text: str, values: list[str]) -> None:
    assert values_of(text) == values


def test_a_users_preset_has_no_paper_whose_choices_it_could_name(tmp_path: Path) -> None:
    write(tmp_path, {"mechanism": "fm"}, title="Mine", choices=["rows"])
    with pytest.raises(Refused, match="no choice for the preset mine named 'rows'"):
        experiments(str(tmp_path))


def test_a_preset_of_a_broken_paper_is_refused_with_the_reason(broken_paper: None) -> None:
    for refuse in (lambda: select("mine/fig1", experiments()), lambda: grid_points(["experiment=mine/fig1"])):
        with pytest.raises(Refused, match=r"no experiment named 'mine/fig1'.*fig1\.yaml is not YAML"):
            refuse()


@pytest.fixture
def paper(tmp_path: Path) -> Paper:
    """A paper with two presets that share a choice."""
    write_figure(tmp_path, "fig1", "preset: {title: Figure 1, choices: [rows]}")
    write_figure(tmp_path, "fig2", "preset: {title: Figure 2, choices: [rows, epsilon], chosen: And more.}")
    (tmp_path / "choices.yaml").write_text("rows: All rows are used.\nepsilon: ε is 1.\n", encoding="utf-8")
    return Paper("mine", "Mine 2020", tmp_path)


def write_figure(folder: Path, name: str, text: str) -> None:
    (folder / "presets").mkdir(exist_ok=True)
    (folder / "presets" / f"{name}.yaml").write_text(text, encoding="utf-8")


def test_a_preset_has_its_name_and_the_sentences_of_its_choices(paper: Paper) -> None:
    presets = {name: config["preset"] for name, config in read_presets(paper).items()}
    assert presets == {
        "mine/fig1": {"name": "mine/fig1", "title": "Figure 1", "chosen": "All rows are used."},
        "mine/fig2": {"name": "mine/fig2", "title": "Figure 2", "chosen": "All rows are used. ε is 1. And more."},
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("preset: {title: x, choices: [row]}", "no choice for the preset mine/fig3 named 'row'. Did you mean rows?"),
        ("preset: {title: x, figure: {z: epsilon}}", "no option of preset.figure named 'z'"),
        ("preset: {shows: x}", "must say which figure"),
        ("preset: 3", "section 'preset' of mine/fig3 must be a mapping"),
        ("preset: {title: x, choices: rows}", "choices of the preset mine/fig3 must be a list"),
        ("hydra: {sweeper: {params: 3}}", "grid of the preset mine/fig3 must be a mapping"),
        ("preset: [", "fig3.yaml is not YAML"),
        ("- 1", "fig3.yaml must be a mapping"),
    ],
)
def test_a_wrong_preset_is_the_fault_of_its_paper(paper: Paper, text: str, words: str) -> None:
    write_figure(paper.folder, "fig3", text)
    assert words in fault_in(read_presets, paper)


def test_a_paper_that_can_be_read_has_no_fault(paper: Paper) -> None:
    assert fault_in(read_presets, paper) == ""


def test_a_preset_may_be_a_grid_alone(paper: Paper) -> None:
    write_figure(paper.folder, "fig3", "hydra: {sweeper: {params: {epsilon: '1,2'}}}")
    assert read_presets(paper)["mine/fig3"]["preset"] is None


def test_a_broken_paper_is_named_and_the_others_stay(broken_paper: None) -> None:
    names = set(preset_configs())
    assert names
    assert "mine/fig1" not in names
    assert list(broken_papers()) == ["mine"]
    assert "The paper 'mine' cannot be used: The file fig1.yaml is not YAML" in broken_papers()["mine"]


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    for name in ("none.yaml", "binary.yaml"):
        with pytest.raises(Refused, match=name):
            read_mapping(tmp_path / name)


def test_the_cells_of_a_preset_are_counted_as_its_plan_has_them(tmp_path: Path) -> None:
    """With keys that vary together, combinations that are left out, and a mechanism that uses no budget."""
    params = {"mechanism": "fm,dpba,no_privacy", "mechanism.alpha": "opt,paper", "mechanism.ridge": "1,2", "dataset": "wine"}
    params |= {"epsilon": "1,2,4", "splits.repeats": "4,2,1", "model": "linear,ridge"}
    rules: list[dict[str, Any]] = [
        {},
        {"zip": ["epsilon", "splits.repeats"]},
        {"zip": [["mechanism", "epsilon"], ["mechanism.alpha", "model"]]},
        {"skip": {"mechanism": "dpba", "model": "ridge"}},
        {"skip": [{"mechanism": "dpba", "epsilon": "< 3"}, {"mechanism": ["fm", "no_privacy"], "mechanism.ridge": 2}]},
    ]
    for rule in rules:
        write(tmp_path, {**params, **rule})
        (found,) = select("mine", experiments(str(tmp_path)))
        assert found.cells == len(plan(grid_points(["experiment=mine"], str(tmp_path))).cells), rule


@pytest.mark.parametrize("rule", [{"zip": "epsilon,seed"}, {"skip": "{epsilon:1}"}])
def test_a_preset_s_rules_are_yaml(rule: dict[str, Any], tmp_path: Path) -> None:
    write(tmp_path, {"epsilon": "1,2", "seed": "0,1", **rule})
    with pytest.raises(Refused, match=r"of the preset .*mine must be a list or a mapping in YAML\. Got"):
        experiments(str(tmp_path))
