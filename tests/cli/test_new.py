"""The subcommand ``new``: what it writes works at once."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from dpbench.__main__ import main
from dpbench.contracts.hooks import OFFERS
from dpbench.registry.lookup import registry
from dpbench.sweeps.hydra.config_groups import register

pytestmark = pytest.mark.usefixtures("alone")


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in OFFERS if kind != "paper"])
def test_a_single_file_is_healthy_and_the_sweep_it_prints_can_be_planned(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", kind, "my_own", "--single-file"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Written: my_own.py\n")
    (sweep,) = (line for line in out.splitlines() if "epsilon=" in line or "splits.repeats=" in line)
    words = shlex.split(sweep)
    assert words[:3] == ["python", "-m", "dpbench"]
    registry.cache_clear()
    register.cache_clear()
    assert main(["--plugins-dir", ".", "plugins"]) == 0
    assert re.search(rf"^{kind} .*\n+my_own .*\bok\b", capsys.readouterr().out, re.MULTILINE)
    assert main([*words[3:5], "plan", *words[5:]]) == 0
    assert ", 0 pruned" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("mechanism fm", "There is a mechanism named 'fm' already"),
        ("nonsense mine", "There is no kind of component named 'nonsense'. Known: attack, dataset"),
        ("metric My-Own", "must be small letters"),
        ("paper mine --single-file", "cannot be a single file"),
        ("metric", "Missing argument"),
    ],
)
def test_what_cannot_be_written_is_refused(line: str, words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    before = set(tmp_path.iterdir())
    assert main(["new", *line.split()]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert words in err
    assert set(tmp_path.iterdir()) == before
