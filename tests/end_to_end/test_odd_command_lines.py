"""Hundreds of odd command lines: each is refused in one sentence with exit code 2, or is a documented success; none writes."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from dpbench.__main__ import main
from dpbench.registry.lookup import registry
from dpbench.sweeps.hydra.config_groups import register

TABLE: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("odd_command_lines.yaml").read_text(encoding="utf-8"))
MIN_LINES = 350


@pytest.fixture(autouse=True)
def _folder_with_files(alone: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The working folder of all lines, with the files that they name."""
    (tmp_path / "work" / "folder").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    for name, text in TABLE["files"].items():
        Path(name).write_text(text, encoding="utf-8")
    return tmp_path / "work"


def files(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*")}


def run(line: str, capture: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> tuple[int, str, str]:
    """Run a command line in this process, with the variables that stand before its first argument."""
    words = shlex.split(line)
    with monkeypatch.context() as patch:
        while words and (variable := re.fullmatch(r"([A-Z_]+)=(.*)", words[0])):
            patch.setenv(variable[1], variable[2])
            words.pop(0)
        patch.setenv("DPBENCH_PLUGINS_DIR", os.environ.get("DPBENCH_PLUGINS_DIR", ""))  # --plugins-dir sets it
        if "DPBENCH_" in line or "--plugins-dir" in line:
            registry.cache_clear()
            register.cache_clear()
        capture.readouterr()
        code = main(words)
    out, err = capture.readouterr()
    return code, out, err


@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning")
@pytest.mark.parametrize("group", TABLE["refused"])
def test_each_line_is_refused_in_one_sentence_and_writes_nothing(
    group: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = files(tmp_path)
    faults = []
    for line, words in TABLE["refused"][group].items():
        try:
            code, out, err = run(line, capsys, monkeypatch)
        except Exception as error:  # noqa: BLE001  every line is tried
            faults.append(f"{line}: {type(error).__name__} {error}")
            continue
        if code != 2 or out or err.count("\n") != 1 or words not in err:
            faults.append(f"{line}: code {code}, {out[:80]!r}, {err!r}, expected {words!r}")
        if files(tmp_path) != before:
            faults.append(f"{line}: wrote {files(tmp_path).keys() - before.keys()}")
            before = files(tmp_path)
    assert not faults, "\n".join(faults)


@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning")
def test_documented_successes_print_their_answer_and_write_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = files(tmp_path)
    for line, words in TABLE["successes"].items():
        code, out, err = run(line, capsys, monkeypatch)
        assert (code, err) == (0, ""), (line, code, err)
        assert words in out, (line, out)
    assert files(tmp_path) == before


def test_the_table_has_enough_lines() -> None:
    assert sum(map(len, TABLE["refused"].values())) + len(TABLE["successes"]) >= MIN_LINES
