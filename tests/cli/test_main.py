"""The command line is answered by the right part, in one sentence when it is wrong, and cheaply when nothing is to be run."""

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
from dpbench.base.version import __version__
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


@pytest.mark.parametrize("arguments", [["--version"], ["epsilon=1", "--version"]])
def test_the_version_is_printed(capsys: pytest.CaptureFixture[str], given: list[list[str]], arguments: list[str]) -> None:
    assert main(arguments) == 0
    assert capsys.readouterr().out == f"dpbench {__version__}\n"


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


def test_a_subcommand_has_a_page_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugins", "--help"]) == 0
    assert "--json" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["plugins"], ["plugins", "--json"], ["plugns"]])
def test_nothing_heavy_is_imported_to_answer_a_question(arguments: list[str], python: Callable[[str], str]) -> None:
    code = f"import sys; from dpbench.__main__ import main; main({arguments}); print([m for m in {HEAVY} if m in sys.modules])"
    assert python(code).splitlines()[-1] == "[]"


def test_importing_the_package_imports_nothing(python: Callable[[str], str]) -> None:
    assert python("import sys, dpbench; print([m for m in ('numpy', 'pluggy', 'click') if m in sys.modules])") == "[]\n"


def test_the_names_for_plugins_and_notebooks_are_there(python: Callable[[str], str]) -> None:
    names = "Mechanism, OneRunMechanism, Model, Dataset, Attack, hookimpl, option"
    assert python(f"from dpbench import {names}; import dpbench; print(set(dpbench.__all__) <= set(dir(dpbench)))") == "True\n"


def test_sweep_is_a_function_with_its_real_signature(python: Callable[[str], str]) -> None:
    """``help(dpbench.sweep)`` shows the arguments, also after modules of the sweeps room were imported."""
    asked = (
        "import inspect, dpbench, dpbench.sweeps.plan; print(inspect.isfunction(dpbench.sweep), inspect.signature(dpbench.sweep))"
    )
    assert python(asked).startswith("True (options: ")


def test_an_unknown_name_of_the_package_is_an_attribute_error(python: Callable[[str], str]) -> None:
    assert python("import dpbench; print(hasattr(dpbench, 'Mechansim'))") == "False\n"


def test_a_reader_that_leaves_early_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        result = subprocess.run([sys.executable, "-m", "dpbench", "plugins"], stdout=writing, stderr=subprocess.PIPE, text=True)
    finally:
        os.close(writing)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.fixture
def python(tmp_path: Path) -> Callable[[str], str]:
    """Run a line in a fresh interpreter, in an empty folder, and give what it printed."""

    def run(code: str) -> str:
        result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert result.returncode == 0, result.stderr
        return result.stdout

    return run
