"""The user's own IPUMS extract, from generated extracts: no row is a person."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.files import extracts as extract_files

pytest.importorskip("ipumspy", reason="the extra `ipums` is not installed")

FIXTURE = Path(os.environ.get("DPBENCH_SHARED_DATA", "nowhere"), "ipums_fixture", "ipumsi_fixture.xml")
SECRET = "Zq7Secret"


def test_every_code_becomes_what_it_means(extracts: Any, read: Any) -> None:
    row = extracts.rows(1)[0]
    rows = [
        {**row, "AGE": 100, "SEX": 2, "MARST": 1, "EDATTAIN": 4, "DISABLED": 1, "NATIVITY": 2, "HRSWORK1": 140, "MIGYRS1": 95},
        {**row, "AGE": 16, "SEX": 1, "MARST": 2, "EDATTAIN": 1, "DISABLED": 2, "NATIVITY": 1, "HRSWORK1": 0, "MIGYRS1": 0},
        {**row, "AGE": 16, "SEX": 1, "MARST": 4, "EDATTAIN": 1, "DISABLED": 2, "NATIVITY": 1, "HRSWORK1": 0, "MIGYRS1": 0},
    ]
    last: dict[str, int | str] = {"OWNERSHIP": 1, "FAMSIZE": 17, "NCHILD": 9, "AUTOS": 6, "INCTOT": -20_000}
    table = read(extracts.write([{**variable, **last} for variable in rows]))
    expected = [
        [100, 1, 1, 0, 4, 1, 1, 140, 95, 1, 17, 9, 6],
        [16, 0, 0, 1, 1, 0, 0, 0, 0, 1, 17, 9, 6],
        [16, 0, 0, 0, 1, 0, 0, 0, 0, 1, 17, 9, 6],
    ]
    np.testing.assert_array_equal(table.features, expected)
    np.testing.assert_array_equal(table.response, [-20_000] * 3)
    assert table.leaks == ()


@pytest.mark.parametrize("position", range(2, 15))
def test_a_row_without_an_answer_is_left_out(position: int, extracts: Any, read: Any) -> None:
    """Every code of a variable that means "missing", and a blank."""
    variable = extracts.variables[position]
    for code in (*variable.missing, ""):
        rows = extracts.rows(6)
        rows[2][variable.name] = code
        table = read(extracts.write(rows))
        assert (table.rows, table.dropped) == (5, 1), f"{variable.name} {code}"
        (leak,) = table.leaks
        assert leak.what == "rows_dropped"
        assert "1 of 6 rows" in leak.why


def test_codes_of_an_income_of_another_width_are_known_without_a_note(extracts: Any, read: Any) -> None:
    """INCEARN has 8 digits, and nothing in ipumspy says which of its values are none."""
    extracts.change("INCTOT", name="INCEARN", width=8, note="", values=(9_999_999, 25_000))
    rows = extracts.rows(9)
    rows[0]["INCEARN"], rows[1]["INCEARN"], rows[2]["INCEARN"] = 99_999_999, 99_999_998, 9_999_999
    table = read(extracts.write(rows))
    assert table.dropped == 2
    assert 9_999_999 in table.response


def test_another_name_of_a_variable_is_found(extracts: Any, read: Any) -> None:
    renamed = {"HRSWORK1": "HRSUSUAL1", "MIGYRS1": "MGYRS1", "DISABLED": "DISINDEP", "INCTOT": "INCWAGE"}
    for name, new_name in renamed.items():
        extracts.change(name, name=new_name)
    assert read(extracts.write(extracts.rows(5))).rows == 5


@pytest.mark.parametrize("suffix", [".dat", ".dat.gz", ".csv", ".csv.gz"])
def test_the_data_file_may_be_of_either_format(suffix: str, extracts: Any, read: Any) -> None:
    rows = extracts.rows(8)
    table = read(extracts.write(rows, suffix=suffix))
    np.testing.assert_array_equal(table.response, [row["INCTOT"] for row in rows])


def test_only_the_variables_of_the_selected_attributes_are_needed_and_may_be_missing(extracts: Any, read: Any) -> None:
    rows = extracts.rows(8)
    rows[0]["HRSWORK1"], rows[1]["AGE"] = 999, 999
    whole = read(extracts.write(rows), attributes=["age", "family_size"])
    assert (whole.attributes, whole.rows, whole.dropped) == (("age", "family_size"), 7, 1)
    path = _without("AUTOS", "NATIVITY", "HRSWORK1", "MARST")(extracts)
    assert read(path, attributes=5).attributes == ("age", "gender", "education", "family_size")
    assert read(path, attributes=["gender"]).sensitive == ()
    with pytest.raises(Refused, match=r"lacks MARST \(marital status\), NATIVITY \(nativity\), AUTOS \(automobiles\): add them"):
        read(path, attributes=11)
    with pytest.raises(Refused, match=r"There is no attribute named 'ag'\. Did you mean age\? Known: age, automobiles, children"):
        read(path, attributes=["ag"])


def test_only_the_persons_of_the_country_count(extracts: Any, read: Any) -> None:
    rows = extracts.rows(10)
    for row in rows[:4]:
        row["COUNTRY"] = 76
    rows[0]["SEX"] = 9
    path = extracts.write(rows)
    assert (read(path).rows, read(path).dropped) == (6, 0)
    assert (read(path, "brazil").rows, read(path, "brazil").dropped) == (3, 1)


def test_a_sample_of_declared_size_is_drawn_from_the_complete_rows_and_leaks_nothing(extracts: Any, read: Any) -> None:
    rows = extracts.rows(60)
    for index, row in enumerate(rows):
        row["INCTOT"] = index
        row["SEX"] = 9 if index % 5 == 0 else row["SEX"]
    path = extracts.write(rows)
    small, large = (set(read(path, sample_n=n).response) for n in (10, 30))
    assert len(small) == 10
    assert small < large
    assert not any(income % 5 == 0 for income in large)
    assert read(path, sample_n=10).leaks == ()
    assert set(read(path, sample_n=10, seed=1).response) != small
    with pytest.raises(Refused, match=r"sample_n=49 needs more rows than the extract usa\.xml has without a missing value: 48"):
        read(path, sample_n=49)


def test_the_size_of_the_chunks_changes_nothing(extracts: Any, read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = extracts.rows(50)
    for index, row in enumerate(rows):
        row["INCTOT"] = index
    rows[33]["AGE"] = 999
    path = extracts.write(rows)
    whole = [read(path).response, read(path, sample_n=11).response]
    monkeypatch.setattr(extract_files, "CHUNK_ROWS", 7)
    for before, after in zip(whole, [read(path).response, read(path, sample_n=11).response], strict=True):
        np.testing.assert_array_equal(before, after)
    rows[40]["AGE"] = "x"
    with pytest.raises(Refused, match=r"The column 'AGE' of usa\.xml must hold numbers\. Row 41 holds something else"):
        read(extracts.write(rows))


def test_an_extract_is_not_synthetic_and_cites_its_source(extracts: Any, make: Any) -> None:
    path = extracts.write(extracts.rows(5))
    own, stand_in = make("dataset", "census", extract=str(path)), make("dataset", "census")
    assert (own.synthetic, own.public, stand_in.synthetic, stand_in.public) == (False, False, True, True)
    assert "IPUMS" in own.licence
    assert "IPUMS International" in own.citation
    first = own.fingerprint()
    extracts.write(extracts.rows(5, seed=1))
    assert own.fingerprint() not in (first, stand_in.fingerprint())


def test_the_whole_design_sweeps(extracts: Any) -> None:
    import dpbench

    path = extracts.write(extracts.rows(300))
    options = {"dataset.extract": str(path), "dataset.attributes": 11, "splits.repeats": 2}
    frame = dpbench.sweep(options, dataset="census", mechanism=["fm", "no_privacy"], engine="serial", record=False).full
    assert list(frame["state"]) == ["run", "run"]
    assert list(frame["dpbench.synthetic"]) == [False, False]


def _without(*names: str) -> Callable[[Any], Path]:
    def change(extracts: Any) -> Path:
        extracts.variables = tuple(variable for variable in extracts.variables if variable.name not in names)
        return extracts.write(extracts.rows(5))

    return change


def _of_cps(extracts: Any) -> Path:
    extracts.project = "cps"
    return _without("NATIVITY", "AUTOS")(extracts)


def _no_data(extracts: Any) -> Path:
    path = extracts.write(extracts.rows(5))
    path.with_suffix(".dat.gz").unlink()
    return path


def _truncated(extracts: Any) -> Path:
    path = extracts.write(extracts.rows(500))
    data = path.with_suffix(".dat.gz")
    data.write_bytes(data.read_bytes()[:2_000])
    return path


def _not_zipped(extracts: Any) -> Path:
    path = extracts.write(extracts.rows(5))
    path.with_suffix(".dat.gz").write_text(SECRET)
    return path


def _texts(extracts: Any) -> Path:
    rows = extracts.rows(5)
    rows[3]["SERIAL"], rows[3]["AGE"] = "", SECRET[:3]
    return extracts.write(rows)


def _hierarchical(extracts: Any) -> Path:
    extracts.structure = "hierarchical"
    return extracts.write(extracts.rows(5))


def _incomplete(extracts: Any) -> Path:
    path = extracts.write(extracts.rows(5))
    path.write_text("<codeBook><stdyDscr/></codeBook>")
    return path


def _no_xml(extracts: Any) -> Path:
    path = extracts.write(extracts.rows(5))
    path.write_text(SECRET)
    return path


def _brazil(extracts: Any) -> Path:
    return extracts.write([{**row, "COUNTRY": 76} for row in extracts.rows(5)])


def _nobody(extracts: Any) -> Path:
    return extracts.write([{**row, "SEX": 9} for row in extracts.rows(5)])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda extracts: extracts.folder / "no.xml", "There is no file"),
        (_no_data, "The data file of the extract usa.xml must be in the same folder, as usa.dat.gz or .dat. There is none."),
        (_truncated, "The data file usa.dat.gz of the extract usa.xml cannot be read: it is truncated."),
        (_not_zipped, "The data file usa.dat.gz of the extract usa.xml cannot be read: it is damaged"),
        (_texts, "The column 'AGE' of usa.xml must hold numbers. Row 4 holds something else"),
        (_hierarchical, "The extract usa.xml must be rectangular, one row per person. Got hierarchical instead: choose another"),
        (_incomplete, "The file usa.xml must be the XML codebook (DDI) of an IPUMS extract."),
        (_no_xml, "The file usa.xml must be the XML codebook (DDI) of an IPUMS extract."),
        (
            _without("INCTOT", "AUTOS"),
            "The extract usa.xml lacks AUTOS (automobiles), INCTOT or INCWAGE or INCEARN (income): add them to the extract",
        ),
        (
            _of_cps,
            "Got one of the IPUMS project 'cps': dataset=table reads it, with the bounds that `python -m dpbench data describe",
        ),
        (_brazil, "The extract usa.xml holds no row of country 840."),
        (_nobody, "None of the 5 rows of the extract usa.xml is complete. Missing values: gender 5."),
    ],
)
def test_a_wrong_extract_is_one_sentence(change: Any, words: str, extracts: Any, read: Any) -> None:
    path = change(extracts)
    with pytest.raises(Refused) as refusal:
        read(path)
    assert words in str(refusal.value)
    assert SECRET[:3] not in str(refusal.value)
    assert refusal.value.__cause__ is None
    assert refusal.value.__suppress_context__ or refusal.value.__context__ is None


def test_heads_of_household_have_no_extract(make: Any) -> None:
    with pytest.raises(Refused, match=r"dataset\.variant must be 'persons'"):
        make("dataset", "census", extract="usa.xml", variant="heads")


@pytest.mark.skipif(not FIXTURE.is_file(), reason="the shared fixture is not on this machine")
def test_the_shared_fixture_has_the_rows_it_should(read: Any) -> None:
    expected = json.loads((FIXTURE.parent / "expected.json").read_text())
    table = read(FIXTURE, "brazil")
    assert table.rows == expected["clean_rows"]
    assert table.dropped == expected["rows_with_missing_code"]
