"""The rows of an extract are the same numbers from fixed-width data and from CSV, and blanks stay blanks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.data.column_format import NUMBER, TEXT
from dpbench.files import extracts as extract_files
from dpbench.files.extracts import Extract

pytest.importorskip("ipumspy", reason="the extra `ipums` is not installed")


@pytest.mark.parametrize("suffix", [".dat", ".dat.gz", ".csv", ".csv.gz"])
def test_every_value_is_read_as_it_was_written(suffix: str, cps: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extract_files, "CHUNK_ROWS", 7)
    rows = cps.rows(30)
    rows[3]["WAGE"], rows[4]["WAGE"], rows[5]["INCTOT"], rows[6]["REGION"] = "", 5, "", "NA"
    extract = Extract(cps.write(rows, suffix=suffix))
    values = extract.read({"WAGE": NUMBER, "INCTOT": NUMBER, "REGION": TEXT, "HWT": NUMBER})
    np.testing.assert_array_equal(values["WAGE"], [np.nan if row["WAGE"] == "" else row["WAGE"] / 100 for row in rows])
    np.testing.assert_array_equal(values["INCTOT"], [np.nan if row["INCTOT"] == "" else row["INCTOT"] for row in rows])
    assert values["REGION"][:3].tolist() == [row["REGION"] for row in rows[:3]]
    np.testing.assert_array_equal(values["HWT"], [1234.56] * 30)
    (first, *_) = extract.batches(["REGION"])
    assert first.column("REGION").to_pylist() == [row["REGION"] for row in rows[:7]], "NA is a text, not a blank"


@pytest.mark.parametrize(("digits", "number"), [(-5, -0.05), ("-5", -0.05), ("7", 0.07), (-12345, -123.45), (0, 0)])
def test_implied_decimals_hold_for_short_and_negative_numbers(digits: int | str, number: float, cps: Any) -> None:
    cps.change("WAGE", width=6, values=(digits,))
    assert Extract(cps.write(cps.rows(2))).read({"WAGE": NUMBER})["WAGE"].tolist() == [number] * 2


def test_a_text_among_numbers_is_refused_by_its_row_without_a_value(cps: Any) -> None:
    rows = cps.rows(9)
    rows[6]["WAGE"] = "Zq7"
    with pytest.raises(
        Refused, match=r"The column 'WAGE' of usa\.xml must hold numbers\. Row 7 holds something else\."
    ) as refusal:
        Extract(cps.write(rows)).read({"WAGE": NUMBER})
    assert "Zq7" not in str(refusal.value)


@pytest.mark.parametrize("suffix", [".dat", ".dat.gz"])
def test_data_of_another_codebook_is_refused(suffix: str, cps: Any) -> None:
    """Otherwise numbers would be cut from the wrong places of each line."""
    path = cps.write(cps.rows(3), suffix=suffix)
    cps.change("AGE", width=3)
    path.write_text(cps.codebook("usa"))
    with pytest.raises(Refused, match=r"must have the 43 characters that usa\.xml describes\. Got 42: is it the data file"):
        Extract(path).read({"AGE": NUMBER})
