"""The command line answers ``--version`` and ``--help``, for the program and for each subcommand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dpbench.__main__ import main
from dpbench.base.version import __version__
from dpbench.registry.lookup import registry


@pytest.fixture(autouse=True)
def _no_plugins_dir(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("DPBENCH_PLUGINS_DIR", "")  # so that what main sets is undone
    registry.cache_clear()
    yield
    registry.cache_clear()


@pytest.mark.parametrize("arguments", [["--version"], ["epsilon=1", "--version"]])
def test_the_version_is_printed(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert main(arguments) == 0
    assert capsys.readouterr().out == f"dpbench {__version__}\n"


def test_a_subcommand_has_a_page_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugins", "--help"]) == 0
    assert "--json" in capsys.readouterr().out
