"""Papers are read from their folders, and one that cannot be read is named and stops nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbench.base.errors import Refused
from dpbench.contracts.paper import Paper
from dpbench.experiments.papers import broken_papers, fault_in, preset_configs, read_mapping, read_presets


@pytest.fixture
def paper(tmp_path: Path) -> Paper:
    """A paper with two presets that share a choice."""
    write(tmp_path, "fig1", "preset: {title: Figure 1, choices: [rows]}")
    write(tmp_path, "fig2", "preset: {title: Figure 2, choices: [rows, epsilon], chosen: And more.}")
    (tmp_path / "choices.yaml").write_text("rows: All rows are used.\nepsilon: ε is 1.\n", encoding="utf-8")
    return Paper("mine", "Mine 2020", tmp_path)


def write(folder: Path, name: str, text: str) -> None:
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
    write(paper.folder, "fig3", text)
    assert words in fault_in(read_presets, paper)


def test_a_paper_that_can_be_read_has_no_fault(paper: Paper) -> None:
    assert fault_in(read_presets, paper) == ""


def test_a_preset_may_be_a_grid_alone(paper: Paper) -> None:
    write(paper.folder, "fig3", "hydra: {sweeper: {params: {epsilon: '1,2'}}}")
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
