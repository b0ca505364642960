"""A wrong request is one clear sentence and exit code 2, and nothing is written."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DropIn = Callable[[str, str], Path]

EPSILON = "The 'epsilon' option of the command must be a float in the range (0, inf). Got"


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("epsilon=0", f"{EPSILON} 0 instead."),
        ("epsilon=-1", f"{EPSILON} -1 instead."),
        ("epsilon=nan", f"{EPSILON} nan instead."),
        ("epsilon=inf", f"{EPSILON} inf instead."),
        ("epsilon=much", f"{EPSILON} 'much' instead."),
        ("epsilon='0.8'", f"{EPSILON} '0.8' instead."),
        ("epsilon=", f"{EPSILON} '' instead."),
        ("epsilon=null", f"{EPSILON} None instead."),
        ("epsilon=true", f"{EPSILON} True instead."),
        ("epsilon=[0.1,0.8]", f"{EPSILON} [0.1, 0.8] instead."),
        ("delta=0", "The 'delta' option of the command must be a float in the range (0, 1). Got 0 instead."),
        ("seed=-1", "The 'seed' option of the command must be an int in the range [0, 9.22337e+18]. Got -1 instead."),
        ("budget=unlimited", "Got 'unlimited' instead."),
        ("noise=none", "Got 'none' instead."),
        ("splits.repeats=0", "The 'repeats' option of splits must be an int in the range [1, inf). Got 0 instead."),
        ("splits.repeats=2.5", "Got 2.5 instead."),
        ("splits.folds=1", "The 'folds' option of splits must be an int in the range [2, inf). Got 1 instead."),
        ("splits.folds=5000", "Splitting 4898 rows into 5000 parts leaves a part empty."),
        ("mechanism=fmm", "There is no mechanism named 'fmm'. Did you mean fm"),
        ("mechanism=", "There is no mechanism named ''. Known: "),
        ("model=rigde", "There is no model named 'rigde'. Did you mean ridge"),
        ("engine=loca", "There is no engine named 'loca'. Did you mean local"),
        ("engine.workers=0", "The 'engine.workers' key must be an int in the range [1, 1024] or null. Got 0 instead."),
        ("mechanism.rigde=4", "There is no option of fm named 'rigde'. Did you mean ridge?"),
        (
            "mechanism.ridge=-1",
            "The 'ridge' option of fm must be one of 'auto' or a float in the range [0, inf). Got -1 instead.",
        ),
        ("dataset.color=blue", "The 'color' option of wine must be one of 'white', 'red'. Got 'blue' instead."),
        ("dataset.attributes=[alcool]", "There is no attribute named 'alcool'. Did you mean alcohol?"),
        ("dataset.attributes=[]", "A table needs at least 2 rows and 1 feature."),
        ("dataset.sample_rate=0.0001", "leaves 0 of 4898 rows. At least 2 are needed."),
        ("rerun=maybe", "'maybe'"),
        ("quick=maybe", "'maybe'"),
        ("tracking.uri=nonsense", "The tracking store must be a URI of one of sqlite, postgresql,"),
        ("tracking.uri=5", "The tracking store must be a URI"),
        ("tracking.uri=http://127.0.0.1:9", "The tracking store 'http://127.0.0.1:9' cannot be used: no server answers there."),
        ("tracking.uri=sqlite:////proc/nowhere/mlflow.db", "/proc/nowhere"),
        ("tracking.experiment=5", "experiment"),
        ("tracking.experiment=''", "experiment"),
        ("+epsilon=1", "The override '+epsilon=1' adds or deletes a key."),
        ("~attack", "The override '~attack' adds or deletes a key."),
        ("epsilon='0.8", "cannot be read"),
        ("epsilon=${nope}", "nope"),
        ("mechanism@other=fm", "mechanism"),
        ("hydra/sweeper=nope", "dpbench runs its sweeps itself"),
        ("hydra.nope=1", "hydra.nope"),
    ],
)
def test_a_wrong_value_is_refused(empty: Any, override: str, words: str) -> None:
    assert empty.run("dataset=wine", override).refused(words)
    assert empty.files == []


@pytest.mark.parametrize(
    "override",
    [
        "epsilon=0",
        "mechanism=fmm",
        "mechanism.ridge=-1",
        "splits.repeats=0",
        "dataset.attributes=[alcool]",
        "rerun=maybe",
        "tracking.uri=5",
        "tracking.experiment=''",
        "epsilon=${nope}",
        "mechanism@other=fm",
        "+epsilon=1",
    ],
)
def test_it_is_refused_in_the_same_words_in_a_sweep(empty: Any, override: str) -> None:
    single = empty.run("dataset=wine", override)
    sweep = empty.run("-m", "dataset=wine", override)
    assert single.refused()
    assert sweep.refused()
    assert sweep.err == single.err or "${nope}" in override
    assert empty.files == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-m", "dataset=wine", "epsilon=0.1,0"], f"{EPSILON} 0 instead."),
        (["-m", "mechanism=fm,dbpa"], "There is no mechanism named 'dbpa'. Did you mean dpba"),
        (["-m", "epsilon=interval(0.1,0.8)"], "epsilon"),
        (["-m", "engine=serial,local"], "engine"),
        (["-m", "tracking.experiment=a,b"], "tracking.experiment"),
        (["-m", "rerun=true,false"], "rerun"),
        (["-m", "--cfg", "job", "epsilon=0.1,0.2"], "--cfg"),
        (["epsilon=0.1,0.8"], "'epsilon=0.1,0.8' gives several values: add -m to sweep them."),
        (["mechanism=fm,dpba"], "gives several values: add -m"),
        (["experiment=zhang2012/fig9"], "The experiment sweeps 60 combinations: add -m to run them."),
        (["--config-dir", "nowhere", "epsilon=1"], "nowhere"),
        (["--config-name", "nope"], "nope"),
        (["--nope"], "There is no flag '--nope'."),
    ],
)
def test_a_wrong_request_is_refused(empty: Any, arguments: list[str], words: str) -> None:
    assert empty.run(*arguments).refused(words)
    assert empty.files == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["epsilon=0.1,0.8"], "gives several values: add -m"),
        (["mechanism=fmm"], "There is no mechanism named 'fmm'. Did you mean fm"),
        (["mechanism.rigde=4"], "There is no option of fm named 'rigde'. Did you mean ridge?"),
        (["experiment=mien"], "There is no experiment named 'mien'. Did you mean mine?"),
        (["-m", "experiment=mien"], "There is no experiment named 'mien'. Did you mean mine?"),
        (["-m", "mechanism=fmm"], "There is no mechanism named 'fmm'. Did you mean fm"),
    ],
)
def test_typos_beside_a_configuration_folder_are_refused_as_clearly(
    empty: Any, tmp_path: Path, arguments: list[str], words: str
) -> None:
    folder = tmp_path / "presets"
    (folder / "experiment").mkdir(parents=True)
    (folder / "experiment" / "mine.yaml").write_text("# @package _global_\nepsilon: 0.5\n")
    assert empty.run("--config-dir", str(folder), *arguments).refused(words)
    assert empty.files == []


BAD_TABLES = '''
    from dataclasses import dataclass

    import numpy as np

    from dpbench import Dataset, hookimpl, option
    from dpbench.data.table import Column, Table

    SECRET = 41927.8125

    @dataclass(frozen=True)
    class Bad(Dataset):
        """A table with something wrong."""

        name = "bad"
        what: str = option("nothing", help="what is wrong")
        low: float = option(-1.0, help="a bound")
        high: float = option(1.0, help="the other")

        def load(self, generator):
            columns = (Column("a", self.low, self.high), Column("b", -1, 1))
            features = np.array([[SECRET, 0.5]] * 40)
            response = np.linspace(-1, 1, 40)
            if self.what == "missing":
                features[3, 1] = np.nan
            if self.what == "infinite":
                response[3] = np.inf
            if self.what == "text":
                features = features.astype(str)
            if self.what == "objects":
                features = features.astype(object)
            if self.what == "no rows":
                features, response = features[:0], response[:0]
            if self.what == "one row":
                features, response = features[:1], response[:1]
            if self.what == "lengths":
                response = response[:-1]
            if self.what == "width":
                features = features[:, :1]
            if self.what == "lists":
                features = features.tolist()
            if self.what == "missing file":
                open("no-such-file.csv")
            if self.what == "twins":
                columns = (columns[1], columns[1])
            return Table(columns, Column("y", -1, 1), features, response)

    @hookimpl
    def dpbench_datasets():
        return [Bad]
'''


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (
            ["dataset.low=1", "dataset.high=1"],
            "The bounds of column 'a' must be two finite numbers, the lower one first. Got [1.0, 1.0]",
        ),
        (
            ["dataset.low=2", "dataset.high=1"],
            "The bounds of column 'a' must be two finite numbers, the lower one first. Got [2.0, 1.0]",
        ),
        (["dataset.what=missing"], "A table must hold finite numbers only. Got 1 missing or infinite values."),
        (["dataset.what=infinite"], "A table must hold finite numbers only. Got 1 missing or infinite values."),
        (["dataset.what=text"], "A table's columns must be numbers. Got the type <U"),
        (["dataset.what=objects"], "A table's columns must be numbers. Got the type object"),
        (["dataset.what='no rows'"], "A table needs at least 2 rows and 1 feature. Got 0 rows, 2 features."),
        (["dataset.what='one row'"], "A table needs at least 2 rows and 1 feature. Got 1 rows"),
        (["dataset.what=lengths"], "one target of equal length"),
        (["dataset.what=width"], "2 feature columns"),
        (["dataset.what=twins"], "Column names must differ. Got b, b, y instead."),
        (["dataset.what=lists"], "bad"),
        (["dataset.what='missing file'"], "no-such-file.csv"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_wrong_table_is_refused_and_no_value_of_it_is_shown(
    empty: Any, drop_in: DropIn, overrides: list[str], words: str
) -> None:
    drop_in("bad", textwrap.dedent(BAD_TABLES))
    answer = empty.run("-m", "mechanism=fm,dpba", "dataset=bad", *overrides)
    assert answer.refused(words)
    assert "41927" not in answer.err
    assert empty.files == []


def test_a_good_table_of_that_dataset_runs(home: Any, drop_in: DropIn) -> None:
    drop_in("bad", textwrap.dedent(BAD_TABLES))
    answer = home.run("dataset=bad", "splits.repeats=1")
    assert answer.code == 0, answer.err
    assert "41927" not in answer.out + answer.err


def test_a_table_that_turns_bad_later_fails_its_cells_and_no_others(home: Any, drop_in: DropIn) -> None:
    """A dataset that draws a table for each repeat is checked on its first one before anything runs."""
    drop_in(
        "moody",
        '''
        from dataclasses import dataclass

        import numpy as np

        from dpbench import Dataset, hookimpl
        from dpbench.data.table import Column, Table

        @dataclass(frozen=True)
        class Moody(Dataset):
            """Good at first."""

            name = "moody"

            def load(self, generator):
                self.__dict__["loads"] = self.__dict__.get("loads", 0) + 1
                features = generator.uniform(-1, 1, (40, 1))
                if self.__dict__["loads"] > 1:
                    features[0] = np.nan
                return Table((Column("a", -1, 1),), Column("y", -1, 1), features, features[:, 0])

            def redrawn(self):
                return True

        @hookimpl
        def dpbench_datasets():
            return [Moody]
        ''',
    )
    answer = home.run("-m", "dataset=gaussian,moody", "splits.repeats=3", "epsilon=0.8")
    assert (answer.code, answer.counted) == (1, "Cells: 1 run, 1 FAILED.")
    assert "A table must hold finite numbers only. Got 2 missing or infinite values." in " ".join(answer.out.split())


def test_the_configuration_is_shown_without_running(empty: Any) -> None:
    answer = empty.run("--cfg", "job", "mechanism=dpba", "mechanism.alpha=0.3", "epsilon=0.8")
    assert answer.code == 0
    assert "name: dpba\n  alpha: 0.3\n" in answer.out
    assert "\nepsilon: 0.8\n" in answer.out
    assert empty.files == []
