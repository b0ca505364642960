"""The command line of a run: Hydra's flags and overrides."""

from __future__ import annotations

from typing import Any

import pytest
from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException

from dpbench.sweeps import grid, recording
from dpbench.sweeps.hydra import app, composition, overrides

SMALL = ("splits.repeats=2", "splits.folds=2", "dataset=gaussian", "dataset.n=60", "dataset.d=2")


def test_a_swept_preset_takes_null_for_an_option(home: Any) -> None:
    """An option that is null was once handed to Hydra as a sweep, whose grammar has no null there."""
    answer = home.run("-m", *SMALL, "mechanism=fm,dpba", "dataset.sample_n=null")
    assert (answer.code, answer.counted) == (0, "Cells: 2 run.")


@pytest.mark.parametrize("error", [HydraException, OmegaConfBaseException])
@pytest.mark.parametrize("flags", [("-m",), (), ("--cfg", "job")])
def test_no_traceback_of_hydras_reaches_the_user(
    empty: Any, monkeypatch: pytest.MonkeyPatch, error: type[Exception], flags: tuple[str, ...]
) -> None:
    def fails(*_: object) -> None:
        raise error("It cannot be composed.\nSee the manual.")

    monkeypatch.setattr(composition.HydraComposer, "compose", fails)
    answer = empty.run(*flags, "epsilon=1")
    assert answer.refused()
    assert answer.err == "It cannot be composed.\n"


def test_a_file_that_is_not_yaml_is_refused(empty: Any) -> None:
    (empty.folder / "splits").mkdir()
    (empty.folder / "splits" / "mine.yaml").write_text("scheme: [\n")
    assert empty.run("--config-dir", ".", "splits=mine").refused("is not YAML")


def test_the_grid_is_expanded_once_and_every_override_parsed_once(home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    expanded, parsed = [], []
    expand, parse = grid.expand, overrides._axis
    monkeypatch.setattr(composition, "expand", lambda *given: expanded.append(given) or expand(*given))
    monkeypatch.setattr(overrides, "_axis", lambda text: parsed.append(text) or parse(text))
    request = ("mechanism=fm,dpba", "epsilon=0.1,0.8", *SMALL)
    assert home.run("-m", *request).code == 0
    assert len(expanded) == 1
    assert parsed == list(request)


def test_overrides_for_hydra_act_as_hydra_says_and_do_not_change_the_preset(home: Any) -> None:
    """Here: Hydra changes into the folder of its job."""
    uri = f"tracking.uri=sqlite:///{home.folder / 'mlflow.db'}"
    answer = home.run("mechanism=fm", uri, *SMALL, "hydra.run.dir=inside", "hydra.output_subdir=notes")
    assert (answer.code, answer.counted) == (0, "Cells: 1 run.")
    assert (home.folder / "inside" / "notes" / "overrides.yaml").exists()
    assert home.run("mechanism=fm", uri, *SMALL, "hydra.job.name=mine").counted.startswith("Cells: 0 run, 1 already")


def test_a_mode_of_hydras_that_dpbench_does_not_have_is_refused(empty: Any) -> None:
    assert empty.run("hydra.mode=MULTIRUN", "epsilon=0.1").refused()
    assert empty.files == []


def test_a_refusal_within_a_job_of_hydras_is_one_sentence(empty: Any) -> None:
    assert empty.run("hydra.job.name=mine", "tracking.uri=5", *SMALL).refused("The tracking store must be a URI")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--hydra-help"], "Show the Hydra config"),
        (["--cfg=job", "-p", "splits", "splits.folds=3"], "folds: 3"),
        (["--cfg", "hydra", "epsilon=1"], "sweeper:"),
        (["--shell-completion", "install=bash"], "hydra_bash_completion dpbench"),
    ],
)
def test_hydra_answers_its_own_flags_and_nothing_runs(
    empty: Any, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.setattr(app, "execute", pytest.fail)
    answer = empty.run(*arguments)
    assert answer.code == 0
    assert words in answer.out
    assert empty.files == []


def test_the_shell_completes_names_and_keys(empty: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMP_LINE", "dpbench -m mechanism=dpb")
    assert empty.run("-sc", "query=bash").out.split() == ["mechanism=dpba"]


def test_hydras_folder_that_cannot_be_made_is_refused_and_an_error_of_the_job_is_not_taken_for_it(
    empty: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert empty.run("hydra.run.dir=/proc/x/y", *SMALL).refused("Hydra cannot make its folder /proc/x")

    def fails(*_: object, **__: object) -> None:
        raise OSError("of the job")

    monkeypatch.setattr(app, "execute", fails)
    with pytest.raises(OSError, match="of the job"):
        empty.run("hydra.job.name=mine", *SMALL)


def test_a_printed_command_can_be_pasted_into_a_shell() -> None:
    assert app._ui_command("sqlite:////a b/x.db", "it's") == (
        "python -m dpbench ui --uri 'sqlite:////a b/x.db' --experiment 'it'\"'\"'s'"
    )


def test_an_interruption_ends_with_its_exit_code(home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(recording, "run_cells", interrupted)
    for more in ([], ["hydra.job.name=mine"]):
        answer = home.run("-m", "mechanism=fm,dpba", *SMALL, *more)
        assert (answer.code, answer.err.splitlines()[-1]) == (130, "Interrupted.")
