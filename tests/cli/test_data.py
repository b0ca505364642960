"""`data` lists the datasets, drafts a bounds file with a warning, and fetches what is not here; what is wrong is one sentence."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dpbench.__main__ import main
from dpbench.registry.lookup import registry

Capture = pytest.CaptureFixture[str]
SECRET = "Zq7Secret"
ONE_EACH = ({}, {"table": "airfoil"}, {"design": "n2000_d5"})


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty working folder and an empty cache, without plugins from outside."""
    for name in ("DPBENCH_PLUGINS_DIR", "MLFLOW_TRACKING_URI", "IPUMS_API_KEY"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv("DPBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    registry.cache_clear()
    yield tmp_path
    registry.cache_clear()


def run(capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


def refused(capsys: Capture, *arguments: str) -> str:
    """One sentence, exit code 2."""
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, ""), (out, err)
    assert err.count("\n") == 1, err
    assert "Traceback" not in err
    assert SECRET not in err
    return err


def test_every_dataset_is_listed_with_what_is_public_about_it(capsys: Capture) -> None:
    code, out, _ = run(capsys, "data", "list", "--json")
    assert code == 0
    facts_of_tables = json.loads(out)
    listed: dict[str, dict[str, Any]] = {facts["name"]: facts for facts in facts_of_tables if facts["options"] in ONE_EACH}
    assert set(listed) == set(registry().names("dataset"))
    assert listed["wine"]["rows"] == 4_898
    assert listed["wine"]["synthetic"] is False
    assert (listed["census"]["rows"], listed["census"]["synthetic"]) == (370_000, True)
    assert listed["wine"]["target"] == "quality, 3 to 9 points"
    assert listed["acs"]["rows"] is None
    assert (listed["open"]["rows"], listed["open"]["licence"]) == (1_503, "CC BY 4.0")
    assert sum(facts["name"] == "open" for facts in facts_of_tables) == 33
    for name in ("table", "acs"):
        assert listed[name]["note"].endswith(".")
    for facts in facts_of_tables:
        assert facts["licence"]
        assert facts["rows"] is None or (facts["attributes"] and facts["threshold"] is not None and facts["citation"])


def test_people_are_told_what_is_synthetic(capsys: Capture) -> None:
    _, out, _ = run(capsys, "data", "list")
    assert "census: SYNTHETIC, 370,000 rows" in out
    assert "wine: 4,898 rows" in out
    assert "open dataset.table=airfoil: 1,503 rows" in out
    assert "acs: not available yet" in out
    assert "binary: above 5" in out
    assert run(capsys, "data") == (0, out, ""), "the list is also what is printed when no command is named"


PEOPLE = "age,sex,note,empty,kind,income\n" + "".join(
    f"{17 + index},{'fm'[index % 2]},{SECRET}{index},,x,{1000.5 + index * 321}\n" for index in range(70)
)


def test_a_draft_is_rounded_and_warns_loudly(folder: Path, capsys: Capture) -> None:
    (folder / "people.csv").write_text(PEOPLE)
    code, out, err = run(capsys, "data", "describe", "people.csv")
    assert code == 0
    assert "WARNING: these bounds and levels were read from the private rows." in err
    assert out.startswith("# THE NUMBERS AND LEVELS BELOW WERE READ FROM THE DATA")
    assert "  age: {low: 15, high: 90, kind: integer}\n" in out
    assert "  sex: {levels: [f, m]}\n" in out
    assert "  note: ignore  # more than 50 different texts; if it says whose rows these are, dataset.person" in out
    assert "  empty: ignore  # no value at all\n" in out
    assert "  kind: ignore  # the same value in every row\n" in out
    assert "  income: [0, 25000]\n" in out
    assert "target: income  # a guess" in out
    assert SECRET not in out
    assert "1000.5" not in out


def test_a_draft_runs_as_it_stands(folder: Path, capsys: Capture) -> None:
    from dpbench.base.random_streams import stream

    (folder / "people.csv").write_text(PEOPLE)
    code, out, _ = run(capsys, "data", "describe", "people.csv", "--out", "people.yaml")
    assert code == 0
    assert "python -m dpbench dataset=table dataset.path=people.csv dataset.bounds=people.yaml" in out
    table = registry().get("dataset", "table").build({"path": "people.csv", "bounds": "people.yaml"}).select(stream(0))
    assert table.attributes == ("age", "sex")
    assert "already exists" in refused(capsys, "data", "describe", "people.csv", "--out", "people.yaml")


def test_an_odd_name_or_delimiter_survives_the_draft(folder: Path, capsys: Capture) -> None:
    from dpbench.base.random_streams import stream

    (folder / "odd.csv").write_text('"a: b";no;y\n1;no;5\n2;yes;6\nN;no;8\n')
    assert run(capsys, "data", "describe", "odd.csv", "--delimiter", ";", "--null", "N", "--out", "odd.yaml")[0] == 0
    options = {"path": "odd.csv", "bounds": "odd.yaml", "missing": "drop"}
    table = registry().get("dataset", "table").build(options).select(stream(0))
    assert table.attributes == ("a: b", "no")
    assert [column.name for column in table.columns] == ["a: b", "no=no", "no=yes"]
    assert table.rows == 2


def test_a_codebook_drafts_bounds_without_a_warning_and_open_ones_are_all_named(cps: Any, folder: Path, capsys: Capture) -> None:
    from dpbench.base.random_streams import stream

    pytest.importorskip("ipumspy", reason="the extra `ipums` is not installed")
    rows = cps.rows(60)
    rows[0]["INCTOT"], rows[1]["HOURS"], rows[2]["SEX"] = 99_999_998, 999, 9
    cps.write(rows, "cps_00001")
    assert "named 'INCTO'. Did you mean INCTOT?" in refused(capsys, "data", "describe", "cps_00001.xml", "--target", "INCTO")
    code, out, err = run(capsys, "data", "describe", "cps_00001.xml", "--target", "INCTOT", "--out", "cps.yaml")
    assert (code, err) == (0, "")
    assert out.endswith("dataset.path=cps_00001.xml dataset.bounds=cps.yaml dataset.missing=drop\n")
    command = [*out.split()[6:], "mechanism=fm", "splits.repeats=1"]
    assert "The bounds of 'HOURS', 'WAGE', 'INCTOT' are open: fill in low and high" in refused(capsys, *command)
    draft = (folder / "cps.yaml").read_text()
    for name, low, high in (("HOURS", 0, 99), ("WAGE", 0, 999), ("INCTOT", 0, 100_000)):
        draft = draft.replace(f"  {name}: {{low: , high: ", f"  {name}: {{low: {low}, high: {high}")
    (folder / "cps.yaml").write_text(draft)
    assert run(capsys, "plan", *command)[0] == 0
    options = {"path": "cps_00001.xml", "bounds": "cps.yaml", "missing": "drop"}
    table = registry().get("dataset", "table").build(options).select(stream(0))
    assert (table.rows, table.dropped, [leak.what for leak in table.leaks]) == (57, 3, ["rows_dropped"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["describe", "no.xml"], "There is no file 'no.xml'."),
        (["describe", "no.csv"], "There is no file 'no.csv'."),
        (["describe", "semi.csv", "--delimiter", ","], "set --delimiter"),
        (["describe", "torn.csv.gz"], "torn.csv.gz cannot be read"),
        (["describe", "rows.csv", "--header"], "must name the columns"),
        (["describe", "good.csv", "--target", "incme"], "There is no column of good.csv named 'incme'. Did you mean income?"),
        (["describe", "."], "must be a file. Got a folder instead"),
        (["describe", "good.csv", "--out", "no/where.yaml"], "cannot be written"),
        (["describe", "good.csv", "--delimiter", "ab"], "must be one character"),
        (["describe"], "Missing argument"),
        (["fetch", "wine"], "There is nothing to fetch for dataset=wine."),
        (["fetch", "winee"], "There is no dataset named 'winee'. Did you mean wine?"),
        (["fetch", "acs", "stat=vt"], "There is no option of acs named 'stat'. Did you mean state?"),
        (["fetch", "acs", "year=soon"], "The 'year' option of acs must be an int"),
        (["fetch", "acs", "state=vt,ny"], "must give one value"),
        (["fetch", "census"], "IPUMS_API_KEY"),
        (["lst"], "No such command 'lst'"),
    ],
)
def test_a_wrong_request_is_one_sentence(arguments: list[str], words: str, folder: Path, capsys: Capture) -> None:
    (folder / "good.csv").write_text("age,income\n1,2\n2,4\n")
    (folder / "semi.csv").write_text("age;income\n1;2\n")
    (folder / "rows.csv").write_text(f"1,{SECRET}\n2,b\n")
    (folder / "torn.csv.gz").write_bytes(gzip.compress(PEOPLE.encode())[:300])
    assert words in refused(capsys, "data", *arguments)


BOUNDS = "dataset.bounds={age:[0,100],income:[0,99]}"


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["dataset.path=no.csv", BOUNDS], "There is no file 'no.csv'."),
        (["dataset.path=good.csv"], "The bounds of dataset=table must be declared"),
        (["dataset.path=good.csv", "dataset.bounds={age:[9,1],income:[0,99]}"], "the lower one first. Got [9.0, 1.0]"),
        (["dataset.path=good.csv", "dataset.bounds={agee:[0,9],income:[0,99]}"], "named 'agee'. Did you mean age?"),
        (["dataset.path=text.csv", BOUNDS], "The column 'age' of text.csv must hold numbers. Row 2 holds something else."),
        (["dataset.path=holes.csv", BOUNDS], "holes.csv has missing values, the first in column 'age', row 1"),
        (["dataset.path=none.csv", BOUNDS, "dataset.missing=drop"], "The column 'age' of none.csv has no values"),
        (["dataset.path=same.csv", BOUNDS], "The column 'age' of same.csv has the same value"),
        (["dataset.path=torn.csv.gz", BOUNDS], "torn.csv.gz cannot be read"),
        (["dataset.path=good.csv", BOUNDS, "dataset.missing=maybe"], "must be one of 'refuse', 'drop'"),
    ],
)
@pytest.mark.parametrize("command", [[], ["-m"], ["plan"]], ids=["single", "sweep", "plan"])
def test_a_wrong_table_is_refused_before_anything_is_written(
    command: list[str], overrides: list[str], words: str, folder: Path, capsys: Capture
) -> None:
    (folder / "good.csv").write_text("age,income\n1,2\n2,4\n")
    (folder / "text.csv").write_text(f"age,income\n1,2\n{SECRET},4\n")
    (folder / "holes.csv").write_text("age,income\n,2\n2,4\n")
    (folder / "none.csv").write_text("age,income\n,2\n,4\n")
    (folder / "same.csv").write_text("age,income\n5,2\n5,4\n")
    (folder / "torn.csv.gz").write_bytes(gzip.compress(PEOPLE.encode())[:300])
    before = sorted(folder.iterdir())
    assert words in refused(capsys, *command, "dataset=table", "dataset.target=income", *overrides)
    assert sorted(folder.iterdir()) == before
