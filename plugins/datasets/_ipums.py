"""Reads the user's own extract of IPUMS International, chunk by chunk. Rows with a missing code are left out and counted.

A variable may have another name in another sample. Missing values are codes: those in the table below, and those that the
labels of the extract's codebook describe as missing. IPUMS rows may not be redistributed; results computed from many rows may.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from dpbench.base.errors import Refused
from dpbench.data.table import Column, Table
from dpbench.files.complete_rows import CompleteRows
from dpbench.files.download_cache import user_file_checksum

CHUNK_ROWS = 100_000
COUNTRY_VARIABLE = "COUNTRY"
LICENCE = "IPUMS International: registered users only, no redistribution of rows"
CITATION = "IPUMS International, Minnesota Population Center, DOI 10.18128/D020"
INSTALL_COMMAND = "pip install 'dp-regression-bench[ipums]'"

MISSING_LABEL = re.compile(r"\bNIU\b|not in universe|unknown|missing|not reported|unspecified|not applicable", re.IGNORECASE)
"""Matches the codebook's labels for codes that are not answers."""


@dataclass(frozen=True)
class Variable:
    """The names of an attribute in extracts, and the range of the codes that are answers."""

    names: tuple[str, ...]
    low: float
    high: float | None
    """The last code that is an answer. None if it depends on the width of the variable: then the last two codes are missing."""


VARIABLES: Mapping[str, Variable] = {
    "age": Variable(("AGE",), 0, 100),
    "gender": Variable(("SEX",), 1, 2),
    "marital status": Variable(("MARST",), 1, 4),
    "education": Variable(("EDATTAIN",), 1, 4),
    "disability": Variable(("DISABLED", "DISINDEP"), 1, 2),
    "nativity": Variable(("NATIVITY",), 1, 2),
    "hours": Variable(("HRSWORK1", "HRSUSUAL1"), 0, 140),
    "years residing": Variable(("MIGYRS1", "MGYRS1", "MIGYRS2"), 0, None),
    "ownership": Variable(("OWNERSHIP",), 1, 2),
    "family size": Variable(("FAMSIZE",), 1, None),
    "children": Variable(("NCHILD",), 0, 9),
    "automobiles": Variable(("AUTOS",), 0, 6),
    "income": Variable(("INCTOT", "INCWAGE", "INCEARN"), -np.inf, None),
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


def read_extract(
    path: str, country: int, income: Column, threshold: float, sample_n: int | None, generator: np.random.Generator
) -> Table:
    """Read the persons of a country from the extract with this XML codebook; the data file must be in the same folder.

    Rows without a value for each attribute are left out. Their number and the missing attributes are in the table's leak
    ``rows_dropped``. With ``sample_n``, this many complete rows are drawn, and n is public.
    """
    extract = _Extract(path)
    complete = CompleteRows(sample_n, generator)
    for codes in extract.chunks(country):
        missing = {name: extract.is_missing(name, codes[name]) for name in VARIABLES}
        complete.add(_attributes(codes), missing)
    if not complete.rows:
        raise Refused(f"The extract {extract.label} holds no row of country {country:03d}.")
    rows = complete.values(f"the extract {extract.label}")
    return Table(
        COLUMNS,
        income,
        rows[:, :-1],
        np.ascontiguousarray(rows[:, -1]),
        sensitive=("is_married",),
        threshold=threshold,
        leaks=complete.leaks,
        dropped=complete.dropped,
        declared_n=complete.sample_n is not None,
    )


def extract_digest(path: str) -> str:
    """Return a text that changes whenever the codebook or the data file changes."""
    return f"{user_file_checksum(path)} {user_file_checksum(str(_Extract(path).data))}"


class _Extract:
    """An extract's codebook: the variable of each attribute, and the codes that are not answers."""

    def __init__(self, path: str) -> None:
        self._path = Path(path).expanduser()
        self.label = self._path.name
        self._codebook = self._read_codebook(path)
        structure = self._codebook.file_description.structure
        if structure != "rectangular":
            raise Refused(f"The extract {self.label} must be rectangular, by persons. Got {structure} instead.")
        self._descriptions = self._read_descriptions()
        self.names = {attribute: self._name(attribute) for attribute in VARIABLES}
        self.data = self._data_file()

    def is_missing(self, attribute: str, codes: np.ndarray) -> np.ndarray:
        """Return which of these codes are not answers."""
        variable, description = VARIABLES[attribute], self._descriptions[self.names[attribute]]
        high = variable.high if variable.high is not None else 10**description.width - 3
        # blanks are NaN, with which every comparison is false
        return ~((codes >= variable.low) & (codes <= high)) | np.isin(codes, description.missing_codes)

    def chunks(self, country: int) -> Iterator[dict[str, np.ndarray]]:
        """Yield the codes of each attribute, for the rows of a country."""
        import pandas
        from ipumspy import readers

        by_country = COUNTRY_VARIABLE in self._descriptions
        names = [*dict.fromkeys(self.names.values()), *([COUNTRY_VARIABLE] if by_country else [])]
        start = 0
        frames = readers.read_microdata_chunked(
            self._codebook,
            str(self.data),
            subset=names,
            chunksize=CHUNK_ROWS,
            # read texts: as integers, ipumspy's errors would quote values of the rows
            dtype={name: pandas.StringDtype() for name in names},
        )
        while True:
            try:
                frame = next(frames, None)
            except Exception as error:  # noqa: BLE001  pandas, gzip and zlib raise many types, and their messages may quote a row
                reason = "it is truncated" if isinstance(error, EOFError) else f"it is damaged ({type(error).__name__})"
                raise Refused(f"The data file {self.data.name} of the extract {self.label} cannot be read: {reason}.") from None
            if frame is None:
                return
            numbers = {name: self._numbers(frame[name], name, start) for name in names}
            start += len(frame)
            in_country = numbers[COUNTRY_VARIABLE] == country if by_country else np.ones(len(frame), dtype=bool)
            yield {attribute: numbers[name][in_country] for attribute, name in self.names.items()}

    def _numbers(self, series: Any, name: str, start: int) -> np.ndarray:
        import pandas

        texts = series.astype("string").str.strip()
        texts = texts.mask(texts == "")
        numbers = pandas.to_numeric(texts, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
        not_numeric = np.isnan(numbers) & texts.notna().to_numpy()
        if not_numeric.any():
            raise Refused(
                f"The variable {name} of the extract {self.label} must hold numbers. "
                f"Row {start + int(not_numeric.argmax()) + 1} of {self.data.name} holds something "
                "else. Is it the data file of this codebook?"
            )
        return np.asarray(numbers)

    def _read_codebook(self, path: str) -> Any:
        if not self._path.is_file():
            raise Refused(f"There is no file {path!r}.")
        try:
            from ipumspy import readers
        except ModuleNotFoundError:
            raise Refused(f"Reading an IPUMS extract needs ipumspy, which is not installed: {INSTALL_COMMAND}") from None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about how to cite IPUMS; the dataset has a citation
                return readers.read_ipums_ddi(self._path)
        except Exception as error:  # noqa: BLE001  incomplete XML raises AttributeError, other XML many types
            raise Refused(
                f"The file {self.label} must be the XML codebook (DDI) of an IPUMS extract. "
                f"It cannot be read as one ({type(error).__name__})."
            ) from None

    def _read_descriptions(self) -> dict[str, _Description]:
        """Return the width and the missing codes of every variable.

        They are read from the XML, because ipumspy drops codes that share a label and the notes on the coding.
        """
        root = ElementTree.parse(self._path).getroot()
        descriptions = {}
        for element in root.iterfind(".//{*}dataDscr/{*}var"):
            labelled = [
                (item.findtext("{*}catValu", ""), item.findtext("{*}labl", "") or "") for item in element.iterfind("{*}catgry")
            ]
            notes = re.findall(r"(\d+)\s*[=:]\s*([^.;\n]*)", element.findtext("{*}codInstr", "") or "")
            codes = [float(code) for code, label in [*labelled, *notes] if code.strip().isdigit() and MISSING_LABEL.search(label)]
            location = element.find("{*}location")
            width = int(location.attrib["width"]) if location is not None else 0
            descriptions[element.attrib["name"].upper()] = _Description(width, tuple(codes))
        return descriptions

    def _name(self, attribute: str) -> str:
        for name in VARIABLES[attribute].names:
            if name in self._descriptions:
                return name
        wanted = " or ".join(VARIABLES[attribute].names)
        raise Refused(f"The extract {self.label} must hold {wanted} ({attribute}). Add it to the extract, and download it again.")

    def _data_file(self) -> Path:
        """Find the data in the folder of the codebook: by the name in the codebook, or by the name of the codebook."""
        recorded = Path(self._codebook.file_description.filename or self.label).name
        stems = dict.fromkeys((re.sub(r"\.(dat|csv)(\.gz)?$", "", recorded), self._path.stem))
        candidates = [self._path.with_name(stem + suffix) for stem in stems for suffix in (".dat.gz", ".dat", ".csv.gz", ".csv")]
        for candidate in candidates:
            if candidate.is_file():
                return candidate
        name = candidates[0].name
        raise Refused(f"The data file of the extract {self.label} must be in the same folder, as {name} or .dat. There is none.")


@dataclass(frozen=True)
class _Description:
    """What a codebook says about a variable."""

    width: int
    missing_codes: tuple[float, ...]


def _attributes(codes: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the attributes and the income of each person, in the order of the columns."""
    return np.column_stack(
        [
            codes["age"],
            codes["gender"] == 2,
            codes["marital status"] == 1,
            codes["marital status"] == 2,
            codes["education"],
            codes["disability"] == 1,
            codes["nativity"] == 2,
            codes["hours"],
            codes["years residing"],
            codes["ownership"] == 1,
            codes["family size"],
            codes["children"],
            codes["automobiles"],
            codes["income"],
        ]
    ).astype(float)
