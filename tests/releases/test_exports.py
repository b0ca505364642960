"""A release is written in other forms, and nothing else is replaced."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from dpbench.base.errors import PackageMissing, Refused, Unfinished
from dpbench.releases.exports import Exports
from dpbench.releases.model_card import is_card
from dpbench.releases.release_file import Release

TODAY = date(2026, 1, 2)


def test_each_file_is_written_and_said(wages: Callable[..., Release], tmp_path: Path) -> None:
    exports = Exports(card=tmp_path / "card.md", registry=tmp_path / "wages_2026.yaml")
    exports.check()
    lines = list(exports.write(wages(), tmp_path / "model.json", TODAY))
    assert lines[:2] == [f"Model card: {tmp_path / 'card.md'}", f"Registry entry: {tmp_path / 'wages_2026.yaml'}"]
    assert "  deployment.basic.intended_use" in lines
    assert is_card((tmp_path / "card.md").read_text(encoding="utf-8"))
    assert "url_slug: wages-2026\n" in (tmp_path / "wages_2026.yaml").read_text(encoding="utf-8")


def test_only_a_card_is_replaced_by_a_card(wages: Callable[..., Release], tmp_path: Path) -> None:
    card = tmp_path / "model_card.md"
    list(Exports(card=card).write(wages(), tmp_path / "model.json", TODAY))
    with pytest.raises(Refused, match="exists already"):
        list(Exports(card=card).write(wages(), tmp_path / "model.json", TODAY))
    Exports(card=card, overwrite=True).check()
    list(Exports(card=card, overwrite=True).write(wages(), tmp_path / "model.json", TODAY))
    card.write_text("My notes\n")
    with pytest.raises(Refused, match="replaces a model card"):
        Exports(card=card, overwrite=True).check()


def test_what_cannot_be_written_is_refused_before_there_is_a_release(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(PackageMissing, match="onnx"):
        Exports(onnx=tmp_path / "m.onnx").check()
    for exports, words in (
        (Exports(registry=tmp_path / "A.yaml"), "The registry wants"),
        (Exports(mlflow="a/b"), "The name of a model"),
        (Exports(mlflow="wages", store="ftp://there"), "The tracking store must be"),
    ):
        with pytest.raises(Refused, match=words):
            exports.check()


def test_a_folder_that_cannot_be_written_to_is_said(wages: Callable[..., Release], tmp_path: Path) -> None:
    with pytest.raises(Unfinished, match="could not be written"):
        list(Exports(card=tmp_path / "nowhere" / "card.md").write(wages(), tmp_path / "model.json", TODAY))
