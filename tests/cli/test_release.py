"""The subcommand ``release``: what must be said, and what it refuses before it fits."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from release_factory import make_release

from dpbench.__main__ import main
from dpbench.privacy.ledger import Budget
from dpbench.registry.lookup import build
from dpbench.releases import exports, fit_release
from dpbench.releases.budget_book import Payer
from dpbench.releases.release_file import Release, load_release

pytestmark = pytest.mark.usefixtures("alone")

WINE = ("mechanism=fm", "dataset=wine", "epsilon=1")


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (("dataset=wine", "epsilon=1", "out=m.json"), "must say its mechanism"),
        (("mechanism=fm", "epsilon=1", "out=m.json"), "must say its dataset"),
        (("mechanism=fm", "dataset=wine", "out=m.json"), "must say its epsilon"),
        ((*WINE,), "needs a file to write"),
        ((*WINE, "out=nowhere/m.json"), "does not exist"),
        ((*WINE, "out=."), "is a folder"),
        ((*WINE, "out=m.json", "seed=1"), "takes no seed"),
        ((*WINE, "out=m.json", "noise=simulation"), "draws secure noise"),
        ((*WINE, "out=m.json", "epsilon=1,2"), "gives several values"),
        ((*WINE, "out=m.json", "mechanism.ridge=2,4"), "select=private lets the data choose among several, and pays for it"),
        ((*WINE, "out=m.json", "epsilon=1,2", "select=private"), "among mechanisms, models and their options only"),
        ((*WINE, "out=m.json", "select=best"), "The key 'select' must be 'private'. Got 'best' instead"),
        ((*WINE, "out=m.json", "overwrite=maybe"), "must be true or false"),
        ((*WINE, "out=m.json", "sensitivity=paper"), "must be one of 'tight', 'published'"),
        ((*WINE, "out=m.json", "inference.level=2"), "The 'level' option of inference must be"),
        ((*WINE, "out=m.json", "attack=membership"), "There is no key of release named 'attack'"),
    ],
)
def test_a_wrong_release_is_refused_and_writes_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, overrides: tuple[str, ...], words: str
) -> None:
    assert main(["release", *overrides]) == 2
    assert words in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_not_replaced(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text("precious")
    assert main(["release", *WINE, "out=m.json"]) == 2
    assert "overwrite=true replaces it" in capsys.readouterr().err
    assert (tmp_path / "m.json").read_text() == "precious"


def test_no_file_but_a_released_model_is_replaced(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,wage\n30,1000\n")
    assert main(["release", *WINE, "out=people.csv", "overwrite=true"]) == 2
    assert "overwrite=true replaces a released model, and no other file" in capsys.readouterr().err
    assert (tmp_path / "people.csv").read_text() == "age,wage\n30,1000\n"


@pytest.mark.parametrize("length", [0, 1, 40, 400])
def test_what_an_interrupted_release_left_is_replaced(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, length: int
) -> None:
    pytest.importorskip("opendp")
    make_release().save(tmp_path / "whole.json")
    (tmp_path / "m.json").write_bytes((tmp_path / "whole.json").read_bytes()[:length])
    (tmp_path / "m_card.md").touch()
    monkeypatch.setattr(fit_release, "release", lambda *_, **__: make_release())
    monkeypatch.setattr(exports, "model_card", lambda *_: "a card")
    assert main(["release", *WINE, "out=m.json"]) == 2
    assert "overwrite=true replaces it" in capsys.readouterr().err
    assert main(["release", *WINE, "out=m.json", "overwrite=true"]) == 0
    assert load_release(tmp_path / "m.json").weights == make_release().weights


def test_a_full_disk_leaves_no_file_and_the_entry_in_the_budget_book(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("opendp")
    monkeypatch.setenv("DPBENCH_BUDGET_BOOK", str(tmp_path / "book.jsonl"))

    def made(config: dict[str, Any], *, reserve: Any) -> Release:
        reserve(Payer.of(build("dataset", config["dataset"])), Budget(1.0, currency="pure"), "replace_one")
        return make_release()

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(fit_release, "release", made)
    with monkeypatch.context() as patch:
        patch.setattr(os, "link", full)
        patch.setattr(os, "replace", full)
        assert main(["release", *WINE, "out=m.json"]) == 1
    assert "Its ε is spent nevertheless" in capsys.readouterr().err
    assert not (tmp_path / "m.json").exists()
    monkeypatch.setattr(exports, "model_card", lambda *_: "a card")
    assert main(["release", *WINE, "out=m.json"]) == 0
    capsys.readouterr()
    assert main(["budget"]) == 0
    assert "ε = 2 spent" in capsys.readouterr().out


@pytest.mark.parametrize("taken_back", [False, True])
def test_an_interrupted_release_says_whether_its_epsilon_is_spent(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, taken_back: bool
) -> None:
    pytest.importorskip("opendp")
    monkeypatch.setenv("DPBENCH_BUDGET_BOOK", str(tmp_path / "book.jsonl"))

    def interrupted(config: dict[str, Any], *, reserve: Any) -> None:
        take_back = reserve(Payer.of(build("dataset", config["dataset"])), Budget(1.0, currency="pure"), "replace_one")
        if taken_back:
            take_back()
        raise KeyboardInterrupt

    monkeypatch.setattr(fit_release, "release", interrupted)
    assert main(["release", *WINE, "out=m.json"]) == 130
    assert ("ε stays spent" in capsys.readouterr().err) == (not taken_back)
    assert main(["budget"]) == 0
    assert ("ε = 1 spent" in capsys.readouterr().out) == (not taken_back)
