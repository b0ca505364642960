"""A tilde is the home folder, and an unknown user's is no error."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbench.base.user_path import user_path


def test_a_tilde_is_the_home_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_path("~/x.csv") == tmp_path / "x.csv"


def test_the_tilde_of_no_user_stays() -> None:
    assert user_path("~nobody2/x.csv") == Path("~nobody2/x.csv")
