"""The entry point passes a command line to the right part, refuses a wrong one in one sentence, and imports what it needs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from dpbench.__main__ import main
from dpbench.base.errors import Refused
from dpbench.registry.lookup import registry

HEAVY = ("hydra", "omegaconf", "mlflow", "cvxpy", "pandas", "pyarrow", "matplotlib")


@pytest.fixture(autouse=True)
def _no_plugins_dir(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("DPBENCH_PLUGINS_DIR", "")  # so that what main sets is undone
    registry.cache_clear()
    yield
    registry.cache_clear()


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What Hydra's application was given, instead of running it."""
    calls: list[list[str]] = []
    application = SimpleNamespace(main=lambda arguments: calls.append(arguments) or 0)
    monkeypatch.setitem(sys.modules, "dpbench.sweeps.hydra.app", application)
    return calls


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def run(arguments: list[str]) -> int:
        raise error

    monkeypatch.setitem(sys.modules, "dpbench.sweeps.hydra.app", SimpleNamespace(main=run))


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["epsilon=1"],
        ["-m", "mechanism=fm,dpba", "epsilon=0.1,0.8"],
        ["--cfg", "job"],
        ["+extra=1"],
        ["~attack"],
        ["epsilon=1", "--multirun"],
    ],
)
def test_overrides_and_flags_are_hydras(given: list[list[str]], arguments: list[str]) -> None:
    assert main(arguments) == 0
    assert given == [arguments]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--plugins-dir", "{}", "epsilon=1"],
        ["epsilon=1", "--plugins-dir={}"],
        ["--plugins-dir", "elsewhere", "epsilon=1", "--plugins-dir", "{}"],
    ],
)
def test_the_plugin_folder_is_taken_out_and_put_where_workers_see_it(
    given: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path.parent)
    assert main([argument.format(tmp_path.name) for argument in arguments]) == 0
    assert given == [["epsilon=1"]]
    assert os.environ["DPBENCH_PLUGINS_DIR"] == str(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["plugns"], "There is no subcommand named 'plugns'. Did you mean plugins"),
        (["fm"], "There is no subcommand named 'fm'."),
        (["plugins", "--jsn"], "No such option"),
        (["plugins", "extra"], "Got unexpected extra argument (extra)"),
        (["epsilon=1", "--plugins-dir"], "The option --plugins-dir must be followed by a folder. Got nothing instead."),
        (["plugins", "--plugins-dir=nowhere"], "The plugin folder must be an existing folder."),
    ],
)
def test_a_request_that_is_wrong_is_refused_in_one_line(
    given: list[list[str]], capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert main(arguments) == 2
    output, error = capsys.readouterr()
    assert output == ""
    assert error.startswith(sentence)
    assert error.count("\n") == 1
    assert given == []


def test_a_refusal_below_is_one_line_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    failing(monkeypatch, Refused("The 'epsilon' option of the command must be\na float."))
    assert main(["epsilon=0"]) == 2
    assert capsys.readouterr() == ("", "The 'epsilon' option of the command must be a float.\n")


def test_an_interruption_has_its_own_exit_code(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    failing(monkeypatch, KeyboardInterrupt())
    assert main(["epsilon=1"]) == 130
    assert capsys.readouterr().err == "Interrupted.\n"


def test_any_other_error_is_ours_and_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        main(["epsilon=1"])


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["plugins"], ["plugins", "--json"], ["plugns"]])
def test_nothing_heavy_is_imported_to_answer_a_question(arguments: list[str], python: Callable[[str], str]) -> None:
    code = f"import sys; from dpbench.__main__ import main; main({arguments}); print([m for m in {HEAVY} if m in sys.modules])"
    assert python(code).splitlines()[-1] == "[]"


def test_a_reader_that_leaves_early_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        result = subprocess.run([sys.executable, "-m", "dpbench", "plugins"], stdout=writing, stderr=subprocess.PIPE, text=True)
    finally:
        os.close(writing)
    assert (result.returncode, result.stderr) == (0, "")


def test_a_terminal_that_lacks_a_letter_shows_its_name() -> None:
    assert "ε = 1 ≤ δ ☃".encode("cp1252", errors="dpbench") == b"eps = 1 <= delta ?"


def test_control_characters_of_a_name_never_reach_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing(monkeypatch, Refused("There is no column named \x1b[31mred\x9b."))
    assert main(["mechanism=fm"]) == 2
    assert capsys.readouterr().err == "There is no column named \\u001b[31mred\\u009b.\n"
