"""A value of a user's own row is found nowhere but in the user's file: not in the store, the artifacts, the logs, the errors.

The commands below run in a folder of their own, well and badly. Then every byte that they wrote or printed is searched for two
marks that stand in one row of the table: a name, and a number in each of the forms that a program gives a number.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import struct
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas
import pyarrow
import pytest

from dpbench.registry.lookup import registry

NAME = "Zq7Quixote"
NUMBER = 41927.8125
SCALED = 41927 / 65536
"""The number under the bounds below, as mechanisms see it: on a grid of 2^-16."""

TEXTS = (NAME, "41927.8", "41,927.8", "41928.", "4.1927", f"{SCALED:.9f}"[:9])
BYTES = tuple(struct.pack(form, value) for value in (NUMBER, SCALED) for form in ("<d", ">d"))

BOUNDS = "dataset.bounds={age:[0,100],wealth:[-65536,65536],income:[-65536,65536]}"


def own(*more: str) -> list[str]:
    """A run on the user's table; what is said again takes the place of what stands here."""
    keys = {item.partition("=")[0] for item in more}
    usual = ["dataset=table", "dataset.path=../people.csv", "dataset.target=income", BOUNDS, "dataset.attributes=[age,wealth]"]
    return [*(item for item in usual if item.partition("=")[0] not in keys), *more]


FEW = ["splits.repeats=2", "splits.folds=2"]

CRASHES = f'''
"""Mechanisms that quote what they should not."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench import Mechanism, hookimpl, option


@dataclass(frozen=True)
class Gossip(Mechanism):
    """It gets hold of the rows, and cannot keep quiet."""

    name: ClassVar[str] = "gossip"
    guarantee: ClassVar[str] = "none"

    how: str = option("raise", help="what it does")

    def fit(self, curator, problem, budget):
        rows = curator.reveal("rows", lambda sample: sample.rows(0).z, "gossip")
        at = int(np.abs(rows - {SCALED!r}).min(axis=1).argmin())
        told = str(rows[at].tolist())
        if self.how == "raise":
            raise ValueError(told)
        if self.how == "convert":
            float(told)
        if self.how == "exit":
            raise SystemExit(told)
        if self.how == "chain":
            try:
                raise KeyError(told)
            except KeyError as error:
                raise RuntimeError(f"again {{told}}") from error
        return told


@hookimpl
def dpbench_mechanisms():
    return [Gossip]
'''

GOOD = {
    "a sweep": ["-m", "mechanism=fm,no_privacy", *own(), *FEW],
    "a single cell": ["mechanism=dpba", *own(), *FEW],
    "worker processes": ["-m", "mechanism=fm", "epsilon=0.1,0.2", *own(), *FEW, "engine=local", "engine.workers=1"],
    "out of its bounds": ["mechanism=fm", *own("dataset.bounds={age:[0,100],wealth:[0,10000],income:[0,10000]}"), *FEW],
    "bounds from the data": ["mechanism=fm", *own("dataset.bounds=data"), *FEW],
    "a binary target": ["mechanism=fm", "model=logistic", "dataset.threshold=100", *own(), *FEW],
    "rows dropped": ["mechanism=fm", *own("dataset.path=../holes.csv", "dataset.missing=drop"), *FEW],
    "a plan": ["plan", "-m", "mechanism=fm,dpba", *own(), *FEW],
}
WAYS = [*((how, "serial") for how in ("raise", "convert", "exit", "chain", "return")), ("raise", "local")]
FAILED = {
    f"a crash: {how}, {engine}": ["-m", "mechanism=gossip", f"mechanism.how={how}", *own(), *FEW, f"engine={engine}"]
    for how, engine in WAYS
}
NAMES = "dataset.attributes=[age,name]"
REFUSED = {
    "text in a numeric column": ["mechanism=fm", *own("dataset.path=../texts.csv")],
    "a column of names without levels": ["mechanism=fm", *own(NAMES, "dataset.bounds={age:[0,9],name:[0,9],income:[0,9]}")],
    "another level": ["mechanism=fm", *own(NAMES, "dataset.bounds={age:[0,9],income:[0,9]}", "dataset.levels={name:[a,b]}")],
    "a column without bounds": ["mechanism=fm", *own("dataset.attributes=null")],
    "no header": ["-m", "mechanism=fm", *own("dataset.path=../headless.csv")],
    "no header, all texts": ["-m", "mechanism=fm", *own("dataset.path=../names.csv")],
    "a wrong delimiter": ["mechanism=fm", *own("dataset.delimiter=';'")],
    "a missing value": ["mechanism=fm", *own("dataset.path=../holes.csv")],
    "a row too long": ["mechanism=fm", *own("dataset.path=../long.csv")],
    "a constant column": ["mechanism=fm", *own("dataset.path=../constant.csv")],
    "a constant column and its bounds": ["mechanism=fm", *own("dataset.path=../constant.csv", "dataset.bounds=data")],
    "too many levels": ["mechanism=fm", *own(NAMES, "dataset.bounds=data")],
    "no UTF-8": ["mechanism=fm", *own("dataset.path=../latin.csv")],
    "no Parquet": ["mechanism=fm", *own("dataset.path=../people.parquet")],
    "a bounds file that is the table": ["mechanism=fm", *own("dataset.bounds=../people.csv")],
    "too small a sample": ["mechanism=fm", *own("dataset.sample_n=100000")],
    "a draft of a torn file": ["data", "describe", "../long.csv"],
}

DRIVER = """
import json, sys
from dpbench.__main__ import main
commands = json.load(open(sys.argv[1]))
codes = {name: main(arguments) for name, arguments in commands.items()}
import pandas, dpbench
frame = pandas.read_csv("../people.csv")
for how in ("good", "bad"):
    bounds = {"age": [0, 100], "wealth": [-65536, 65536], "income": [-65536, 65536]}
    options = {"dataset.path": frame, "dataset.target": "income", "dataset.attributes": ("age", "wealth"),
               "dataset.bounds": bounds, "splits.repeats": 2, "splits.folds": 2}
    if how == "bad":
        options["dataset.attributes"] = ("age", "name")
        bounds["name"] = [0, 1]
    try:
        codes[f"a frame, {how}"] = list(dpbench.sweep(options, dataset="table", mechanism="fm", engine="serial").full["state"])
    except dpbench.base.errors.Refused as refusal:
        print(refusal)
        codes[f"a frame, {how}"] = "refused"
json.dump(codes, open(sys.argv[2], "w"))
"""


def table() -> pandas.DataFrame:
    generator = np.random.default_rng(1)
    frame = pandas.DataFrame({"name": [f"n{index}" for index in range(80)], "age": generator.integers(18, 90, 80)})
    frame["wealth"] = generator.integers(0, 30_000, 80) + 0.5
    frame["income"] = generator.integers(0, 30_000, 80) + 0.5
    frame.loc[3, ["name", "wealth", "income"]] = [NAME, NUMBER, NUMBER]
    return frame


def write_tables(folder: Path) -> None:
    frame = table()
    frame.to_csv(folder / "people.csv", index=False)
    text = (folder / "people.csv").read_text()
    header, _, body = text.partition("\n")
    texts = frame["wealth"].astype(object).where(frame.index != 3, f"{NAME}{NUMBER}")
    frame.assign(wealth=texts).to_csv(folder / "texts.csv", index=False)
    frame.assign(age=frame["age"].where(frame.index != 5)).to_csv(folder / "holes.csv", index=False)
    (folder / "headless.csv").write_text(f"{NAME},30,{NUMBER},{NUMBER}\n{body}")
    (folder / "names.csv").write_text(f"{NAME},b{NUMBER},c,d\n{body}")
    (folder / "long.csv").write_text(f"{header}\n{body}{NAME},30,{NUMBER},{NUMBER},{NUMBER}\n")
    frame.assign(wealth=NUMBER).to_csv(folder / "constant.csv", index=False)
    (folder / "latin.csv").write_bytes(text.encode() + f"{NAME},\xff30,{NUMBER},{NUMBER}\n".encode("latin-1"))
    (folder / "people.parquet").write_text(text)


@dataclass(frozen=True)
class Run:
    """What came of all commands: their exit codes, and everything that was written or printed."""

    codes: dict[str, object]
    folder: Path
    printed: str


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    home = tmp_path_factory.mktemp("sentinel")
    work, plugins, temporary = home / "work", home / "plugins", home / "temporary"
    for folder in (work, plugins, temporary):
        folder.mkdir()
    write_tables(home)
    (plugins / "gossip.py").write_text(textwrap.dedent(CRASHES))
    (home / "driver.py").write_text(DRIVER)
    (home / "commands.json").write_text(json.dumps({**GOOD, **FAILED, **REFUSED}))
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("DPBENCH", "MLFLOW"))},
        "DPBENCH_PLUGINS_DIR": str(plugins),
        "TMPDIR": str(temporary),
        "XDG_CONFIG_HOME": str(home / "configuration"),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    arguments = [sys.executable, "../driver.py", "../commands.json", "../codes.json"]
    result = subprocess.run(arguments, cwd=work, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert (home / "codes.json").is_file(), result.stderr
    (work / "stdout.log").write_text(result.stdout)
    (work / "stderr.log").write_text(result.stderr)
    return Run(json.loads((home / "codes.json").read_text()), home, result.stdout + result.stderr)


def test_the_commands_end_as_they_should(run: Run) -> None:
    wanted = {**dict.fromkeys(GOOD, 0), **dict.fromkeys(FAILED, 1), **dict.fromkeys(REFUSED, 2)}
    wanted |= {"a frame, good": ["run"], "a frame, bad": "refused"}
    assert run.codes == wanted, run.printed
    assert "Traceback" not in run.printed
    printed = " ".join(run.printed.split())
    assert "what it says is left out, since it may quote a private row" in printed
    assert "LEAKS in 1 cell: bounds_from_data: the bounds were read from the private rows" in printed
    assert "LEAKS in 1 cell: rows_dropped: 1 of 80 rows were left out for a missing value (age 1)" in printed


def test_the_marks_are_in_the_rows_that_mechanisms_see(tmp_path: Path) -> None:
    """The search below would find nothing else worth finding."""
    from dpbench.cells.loading import DatasetRows
    from dpbench.data.splits import Splits

    write_tables(tmp_path)
    bounds = {"age": [0, 100], "wealth": [-65536, 65536], "income": [-65536, 65536]}
    options = {"path": str(tmp_path / "people.csv"), "target": "income", "bounds": bounds, "attributes": ["age", "wealth"]}
    dataset = registry().get("dataset", "table").build(options)
    rows = DatasetRows(dataset, registry().get("model", "linear").build({}), Splits(repeats=1), 0).scaled(0).rows
    assert SCALED in rows.z


def test_the_marks_are_nowhere(run: Run) -> None:
    places = [path for folder in ("work", "temporary") for path in (run.folder / folder).rglob("*") if path.is_file()]
    names = {path.name for path in places}
    assert {"mlflow.db", "runs.parquet", "ledger.json", "config.yaml", "records.parquet", "plan.csv", "stderr.log"} <= names
    assert not any(path.suffix == ".parquet" for path in (run.folder / "temporary").rglob("*")), "a frame was left behind"
    for path in places:
        content = path.read_bytes()
        for mark in (*(text.encode(coding) for text in TEXTS for coding in ("utf-8", "utf-16-le")), *BYTES):
            assert mark not in content, f"{mark!r} is in {path.relative_to(run.folder)}"
        if path.suffix == ".parquet":  # compressed
            frame = pandas.read_parquet(path)
            values = frame.select_dtypes("number").to_numpy(dtype=float)
            assert not np.isin(values, [NUMBER, SCALED]).any(), path
            assert not any(text in str(frame.astype(str).to_numpy().tolist()) for text in TEXTS), path
        assert NAME not in str(path)


def test_no_digest_confirms_a_guess_about_the_table(run: Run) -> None:
    """Someone who guesses a row can compute every digest that needs no key: of the file, and of the frame."""
    rows = pyarrow.Table.from_pandas(pandas.read_csv(run.folder / "people.csv"), preserve_index=False)
    rows = rows.replace_schema_metadata(None).combine_chunks()
    content = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(content, rows.schema) as writer:
        writer.write_table(rows)
    contents = [content.getvalue().to_pybytes(), *(path.read_bytes() for path in run.folder.glob("*.csv"))]
    digests = [digest(content).hexdigest() for content in contents for digest in (hashlib.sha256, hashlib.md5, hashlib.blake2b)]
    places = [path for folder in ("work", "temporary") for path in (run.folder / folder).rglob("*") if path.is_file()]
    written = b"".join(str(path).encode() + path.read_bytes() for path in places) + run.printed.encode()
    assert written.count(b"frame:") > 0
    assert not [digest for digest in digests if digest[:16].encode() in written]
    (key,) = [path for path in (run.folder / "configuration").rglob("*") if path.is_file()]
    assert key.read_bytes().strip() not in written


def test_the_marks_are_in_no_cell_of_the_store(run: Run) -> None:
    with sqlite3.connect(run.folder / "work" / "mlflow.db") as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        cells = [cell for name in tables for row in connection.execute(f'SELECT * FROM "{name}"') for cell in row]
    connection.close()
    assert len(cells) > 1_000
    assert not [cell for cell in cells if isinstance(cell, float) and cell in (NUMBER, SCALED)]
    assert not [cell for cell in cells if isinstance(cell, str) and any(text in cell for text in TEXTS)]
