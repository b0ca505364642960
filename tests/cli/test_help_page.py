"""The help page has every name that can be typed, read from where it is defined."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dpbench.__main__ import main
from dpbench.registry.lookup import registry


@pytest.fixture(autouse=True)
def _no_plugins_dir(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("DPBENCH_PLUGINS_DIR", "")  # so that what main sets is undone
    registry.cache_clear()
    yield
    registry.cache_clear()


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["-m", "mechanism=fm", "--help"]])
def test_help_is_a_page_of_80_columns_with_every_name(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert main(arguments) == 0
    page = capsys.readouterr().out
    assert max(map(len, page.splitlines())) <= 80
    for kind in ("mechanism", "model", "dataset", "attack"):
        assert f"  {kind}=" in page
        assert all(name in page for name in registry().names(kind))
    for key in (
        "epsilon",
        "delta",
        "budget",
        "seed",
        "splits.repeats",
        "splits.folds",
        "tracking.uri",
        "engine.workers",
        "quick",
    ):
        assert f"  {key}=" in page, key
    for word in ("plugins", "plan", "ui", "--plugins-dir", "130"):
        assert f"  {word} " in page, word
