"""Reads the user's own extract of IPUMS International, chunk by chunk. Rows with a missing code are left out and counted.

A variable may have another name in another sample. Missing values are codes: those in the table below, and those that the
extract's codebook describes as missing. IPUMS rows may not be redistributed; results computed from many rows may.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from dpbench.base.errors import Refused, check_known
from dpbench.base.user_path import user_path
from dpbench.data.table import Column, Table
from dpbench.files.codebook import source_files
from dpbench.files.complete_rows import CompleteRows
from dpbench.files.download_cache import user_file_checksum
from dpbench.files.extracts import Extract
from dpbench.files.values import ColumnChunk

PROJECT = "ipumsi"
COUNTRY_VARIABLE = "COUNTRY"
LICENCE = "IPUMS International: registered users only, no redistribution of rows"
CITATION = "IPUMS International, Minnesota Population Center, DOI 10.18128/D020"


@dataclass(frozen=True)
class ExtractVariable:
    """The names of an attribute in extracts, and the range of the codes that are answers."""

    names: tuple[str, ...]
    low: float
    high: float | None
    """The last code that is an answer. None if it depends on the width of the variable: then the last two codes are missing."""


VARIABLES: Mapping[str, ExtractVariable] = {
    "age": ExtractVariable(("AGE",), 0, 100),
    "gender": ExtractVariable(("SEX",), 1, 2),
    "marital status": ExtractVariable(("MARST",), 1, 4),
    "education": ExtractVariable(("EDATTAIN",), 1, 4),
    "disability": ExtractVariable(("DISABLED", "DISINDEP"), 1, 2),
    "nativity": ExtractVariable(("NATIVITY",), 1, 2),
    "hours": ExtractVariable(("HRSWORK1", "HRSUSUAL1"), 0, 140),
    "years residing": ExtractVariable(("MIGYRS1", "MGYRS1", "MIGYRS2"), 0, None),
    "ownership": ExtractVariable(("OWNERSHIP",), 1, 2),
    "family size": ExtractVariable(("FAMSIZE",), 1, None),
    "children": ExtractVariable(("NCHILD",), 0, 9),
    "automobiles": ExtractVariable(("AUTOS",), 0, 6),
    "income": ExtractVariable(("INCTOT", "INCWAGE", "INCEARN"), -np.inf, None),
}

COLUMNS = (
    Column("age", 0, 100, "years", kind="integer", meaning="100 = 100 or more"),
    Column("gender", 0, 1, kind="binary", meaning="1 = female"),
    Column("is_single", 0, 1, kind="binary", meaning="1 = never married"),
    Column("is_married", 0, 1, kind="binary", meaning="1 = married or in union; neither: separated, divorced or widowed"),
    Column("education", 1, 4, "level", kind="ordinal", meaning="1 less than primary, 2 primary, 3 secondary, 4 university"),
    Column("disability", 0, 1, kind="binary", meaning="1 = has a disability"),
    Column("nativity", 0, 1, kind="binary", meaning="1 = foreign-born"),
    Column("hours_per_week", 0, 99, "hours", kind="integer"),
    Column("years_residing", 0, 90, "years", kind="integer", meaning="years in the present locality"),
    Column("owns_dwelling", 0, 1, kind="binary", meaning="1 = owned by the household"),
    Column("family_size", 1, 15, "persons", kind="integer"),
    Column("children", 0, 9, "children", kind="integer"),
    Column("automobiles", 0, 6, "vehicles", kind="integer", meaning="6 = 6 or more"),
)


ATTRIBUTES: Mapping[str, tuple[str, int | None]] = {
    "age": ("age", None),
    "gender": ("gender", 2),
    "is_single": ("marital status", 1),
    "is_married": ("marital status", 2),
    "education": ("education", None),
    "disability": ("disability", 1),
    "nativity": ("nativity", 2),
    "hours_per_week": ("hours", None),
    "years_residing": ("years residing", None),
    "owns_dwelling": ("ownership", 1),
    "family_size": ("family size", None),
    "children": ("children", None),
    "automobiles": ("automobiles", None),
    "annual_income": ("income", None),
}
"""For each column the variable that it is read from, and the code that is a 1 in a binary column."""


def read_extract(
    path: str,
    country: int,
    income: Column,
    threshold: float,
    attributes: tuple[str, ...] | None,
    sample_n: int | None,
    generator: np.random.Generator,
) -> Table:
    """Read the persons of a country from the extract with this XML codebook; the data file must be in the same folder.

    Only the variables of the selected attributes are read. Rows without a value for one of them are left out. Their number and
    the missing attributes are in the table's leak ``rows_dropped``. With ``sample_n``, this many complete rows are drawn, and n
    is public.
    """
    check_known("attribute", attributes or (), [column.name for column in COLUMNS])
    columns = [column for column in COLUMNS if attributes is None or column.name in attributes]
    extract = Extract(user_path(path))
    variables = _variables(extract, [ATTRIBUTES[column.name][0] for column in [*columns, income]])
    complete = CompleteRows(sample_n, generator)
    for codes in _chunks(extract, variables, country):
        missing = {name: _is_missing(extract, VARIABLES[name], variable, codes[name]) for name, variable in variables.items()}
        meanings = [ATTRIBUTES[column.name] for column in [*columns, income]]
        values = [codes[name] if code is None else codes[name] == code for name, code in meanings]
        complete.add(np.column_stack(values).astype(float), missing)
    if not complete.rows:
        raise Refused(f"The extract {extract.label} holds no row of country {country:03d}.")
    rows = complete.values(f"the extract {extract.label}")
    return Table(
        tuple(columns),
        income,
        rows[:, :-1],
        np.ascontiguousarray(rows[:, -1]),
        sensitive=tuple(column.name for column in columns if column.name == "is_married"),
        threshold=threshold,
        leaks=complete.leaks,
        dropped=complete.dropped,
        declared_n=complete.sample_n is not None,
    )


def extract_digest(path: str) -> str:
    """Return a text that changes whenever the codebook or the data file changes."""
    return " ".join(map(user_file_checksum, source_files(path)))


def _variables(extract: Extract, attributes: list[str]) -> dict[str, str]:
    """Return the name of the variable that holds each attribute, or refuse an extract that lacks some."""
    codebook = extract.codebook
    if codebook.project != PROJECT:
        raise Refused(
            f"The extract {extract.label} must be one of IPUMS International. Got one of the IPUMS project {codebook.project!r}: "
            f"dataset=table reads it, with the bounds that `python -m dpbench data describe {extract.label}` drafts."
        )
    found = {
        attribute: next((name for name in VARIABLES[attribute].names if name in codebook.variables), "")
        for attribute in dict.fromkeys(attributes)
    }
    lacking = [f"{' or '.join(VARIABLES[name].names)} ({name})" for name, variable in found.items() if not variable]
    if lacking:
        raise Refused(
            f"The extract {extract.label} lacks {', '.join(lacking)}: add them to the extract and download it again, or name in "
            "dataset.attributes the attributes that it has."
        )
    return found


def _chunks(extract: Extract, variables: Mapping[str, str], country: int) -> Iterator[dict[str, np.ndarray]]:
    """Yield the codes of each attribute, for the rows of a country."""
    by_country = COUNTRY_VARIABLE in extract.names
    names = [*dict.fromkeys(variables.values()), *([COUNTRY_VARIABLE] if by_country else [])]
    start = 0
    for batch in extract.batches(names):
        numbers = {name: ColumnChunk(extract.label, name, start, batch.column(name)).numbers() for name in names}
        start += batch.num_rows
        in_country = numbers[COUNTRY_VARIABLE] == country if by_country else np.ones(batch.num_rows, dtype=bool)
        yield {attribute: numbers[name][in_country] for attribute, name in variables.items()}


def _is_missing(extract: Extract, variable: ExtractVariable, name: str, codes: np.ndarray) -> np.ndarray:
    """Return which of the codes of an attribute are not answers."""
    description = extract.codebook.variables[name]
    high = variable.high if variable.high is not None else 10**description.width - 3
    # blanks are NaN, with which every comparison is false
    return ~((codes >= variable.low) & (codes <= high)) | np.isin(codes, description.missing_codes)
