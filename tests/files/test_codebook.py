"""A codebook says of each variable which codes are answers, which are missing, and how its digits are read."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from dpbench.base.errors import Refused
from dpbench.files.codebook import codebook_of, read_codebook, source_files

pytest.importorskip("ipumspy", reason="the extra `ipums` is not installed")


def test_answers_and_missing_codes_come_from_the_labels_and_from_the_instructions(cps: Any) -> None:
    codebook = read_codebook(cps.write(cps.rows(2), "cps"))
    assert codebook.project == "cps"
    variables = codebook.variables
    assert list(variables) == [variable.name for variable in cps.variables]
    assert variables["SEX"].answers == {"1": "Male", "2": "Female"}
    assert variables["SEX"].missing == {"9": "NIU"}
    assert variables["INCTOT"].missing == {"99999999": "N.I.U. (Not in Universe).", "99999998": "Missing."}
    assert (variables["INCTOT"].width, variables["INCTOT"].answers, variables["INCTOT"].missing_codes) == (
        8,
        {},
        (1e8 - 1, 1e8 - 2),
    )
    assert variables["REGION"].answers == {"NE": "Northeast", "SO": "South"}
    assert [name for name, variable in variables.items() if variable.technical] == ["YEAR", "HWT"]


@pytest.mark.parametrize(
    ("note", "codes"),
    [
        ("9999998 = Unknown/missing. 9999999 = NIU.", ["9999998", "9999999"]),
        ("Codes99999999 = N/A\n\t\t\n99999998=Refused", ["99999999", "99999998"]),
        ("-7=Not applicable/not asked\n-8=Missing", ["-7", "-8"]),
        ("085:\tTop code for 85 years or older\n996:\tMissing", ["996"]),
        ("99,999,999 = Don't know", ["99999999"]),
        ("Top codes: Mexico 1970: 5,500,000+\nU.S.A. 1980: Missing in this sample", []),
        ("999999999 = NIU, where the variable has nine digits", []),
        ("0 = None. 1 = Not in universe", ["1"]),
        ("A 10-digit variable: values of 0012345600 mean 1,234.56.", []),
    ],
)
def test_codes_are_found_in_the_ways_in_which_projects_write_them(note: str, codes: list[str], cps: Any) -> None:
    cps.change("INCTOT", note=note)
    assert list(read_codebook(cps.write(cps.rows(2))).variables["INCTOT"].missing) == codes


@pytest.mark.parametrize(("note", "code"), [("999.99 = NIU", "999.99"), ("99999 = NIU", "999.99"), ("0 = NIU", "0")])
def test_a_code_is_in_the_unit_of_its_variable(note: str, code: str, cps: Any) -> None:
    """The five digits of WAGE end in two implied decimals."""
    cps.change("WAGE", note=note)
    assert list(read_codebook(cps.write(cps.rows(2))).variables["WAGE"].missing) == [code]


@pytest.mark.parametrize(
    ("label", "missing"),
    [
        ("NIU", True),
        ("NIU or no schooling", True),
        ("Not in universe", True),
        ("Unknown-refused", True),
        ("Not reported/missing", True),
        ("Refused to answer", True),
        ("Different house, place not reported", False),
        ("Two or three races, unspecified", False),
        ("None", False),
    ],
)
def test_a_label_says_whether_its_code_is_an_answer(label: str, missing: bool, cps: Any) -> None:
    cps.change("SEX", labels={1: "Male", 2: "Female", 7: label})
    assert ("7" in read_codebook(cps.write(cps.rows(2))).variables["SEX"].missing) is missing


def test_an_extract_is_named_by_its_codebook_or_by_the_data_next_to_it(cps: Any, tmp_path: Path) -> None:
    codebook = cps.write(cps.rows(2), "cps")
    data = codebook.with_suffix(".dat.gz")
    for path in (codebook, data):
        assert codebook_of(str(path)) == codebook
        assert source_files(str(path)) == (str(codebook), str(data))
    for name in ("people.csv", "alone.dat"):
        assert codebook_of(str(tmp_path / name)) is None
        assert source_files(name) == (name,)


def test_without_ipumspy_a_sentence_says_how_to_install_it(cps: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipumspy", None)
    with pytest.raises(Refused, match=r"needs ipumspy, which is not installed: pip install 'dp-regression-bench\[ipums\]'"):
        read_codebook(cps.write(cps.rows(2)))


def test_a_codebook_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "it.xml").write_text("<codeBook/>")
    for name, words in (("it.xml", r"it\.xml must be the XML codebook"), ("no.xml", "There is no file")):
        with pytest.raises(Refused, match=words):
            read_codebook(tmp_path / name)
