"""A paper has a name, a title and a folder that exists; it need not be a publication."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dpbench.base.errors import Refused
from dpbench.contracts.paper import Paper


def test_its_presets_are_named_by_the_paper_and_their_files(tmp_path: Path) -> None:
    (tmp_path / "presets").mkdir()
    for name in ("fig2.yaml", "fig1.yaml", "notes.txt"):
        (tmp_path / "presets" / name).touch()
    paper = Paper("mine", "Mine 2020", tmp_path)
    assert list(paper.preset_files) == ["mine/fig1", "mine/fig2"]
    assert paper.summary() == "Mine 2020"


def test_the_scores_of_a_study_lie_in_its_folder(tmp_path: Path) -> None:
    assert Paper("mine", "Mine", tmp_path).scores_file == tmp_path / "scores.csv"


def test_an_empty_folder_is_a_paper_without_presets(tmp_path: Path) -> None:
    assert Paper("leaderboard", "A study", tmp_path).preset_files == {}


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"name": "Mine"}, "name"),
        ({"name": "a/b"}, "name"),
        ({"name": 1}, "name"),
        ({"title": " "}, "title"),
        ({"folder": "nowhere"}, "folder"),
    ],
)
def test_nonsense_is_refused_in_one_sentence(tmp_path: Path, fields: dict[str, Any], word: str) -> None:
    with pytest.raises(Refused, match=word) as refusal:
        Paper(**{"name": "mine", "title": "Mine", "folder": tmp_path, **fields})
    assert "\n" not in str(refusal.value)
