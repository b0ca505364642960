"""A draft from a codebook declares what the codebook knows, leaves the rest open, and reads no row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dpbench.base.errors import Refused
from dpbench.files.bounds_file import ColumnDeclaration, read_bounds
from dpbench.files.codebook import read_codebook
from dpbench.files.codebook_draft import draft_from_codebook

pytest.importorskip("ipumspy", reason="the extra `ipums` is not installed")


def test_a_draft_needs_no_row_and_can_be_read_back(cps: Any, tmp_path: Path) -> None:
    codebook = cps.write(cps.rows(2))
    codebook.with_suffix(".dat.gz").unlink()
    draft = draft_from_codebook(read_codebook(codebook), "INCTOT")
    assert "No row was read" in draft
    (tmp_path / "b.yaml").write_text(draft, encoding="utf-8")
    bounds = read_bounds(str(tmp_path / "b.yaml"))
    assert bounds.columns == {
        "AGE": ColumnDeclaration(0, 99, kind="integer"),
        "SEX": ColumnDeclaration(levels=("1", "2"), nulls=("9",)),
        "REGION": ColumnDeclaration(levels=("NE", "SO")),
        "KIDS": ColumnDeclaration(0, 2, kind="integer", nulls=("9", "8")),
    }
    assert bounds.open == {"HOURS", "WAGE", "INCTOT"}
    assert bounds.ignored == {"YEAR", "STATE", "HWT", "NAME"}
    assert (bounds.target, bounds.from_data) == ("INCTOT", False)


def test_a_draft_quotes_what_the_codebook_says(cps: Any) -> None:
    draft = draft_from_codebook(read_codebook(cps.write(cps.rows(2))))
    for line in (
        "  # SEX. 1 Male; 2 Female. Missing: 9 NIU\n  SEX: {levels: [1, 2], nulls: [9]}\n",
        "  # WAGE. 5 digits, 2 of them decimals. Missing: 999.99 N.I.U.\n  WAGE: {low: , high: , nulls: [999.99]}\n",
        "  # AGE. 0 Under 1 year\n  AGE: {low: 0, high: 99, kind: integer}\n",
        "  HOURS: {low: , high: , kind: integer, nulls: [999]}\n",
        "  STATE: ignore  # 60 labelled codes: too many to be levels\n",
        "  NAME: ignore  # texts without labels\n",
        "  YEAR: ignore  # technical: it identifies, dates or weighs rows\n",
        "\ntarget:   # the variable to predict\n",
    ):
        assert line in draft
    assert max(map(len, draft.splitlines())) <= 128


def test_a_target_that_is_no_variable_is_refused(cps: Any) -> None:
    with pytest.raises(Refused, match=r"There is no variable in usa\.xml named 'INCTO'\. Did you mean INCTOT\?"):
        draft_from_codebook(read_codebook(cps.write(cps.rows(2))), "INCTO")
