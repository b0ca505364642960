"""The American Community Survey: public-use microdata of the U.S. Census Bureau by state and year."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Literal

import numpy as np

from dpbench.base.errors import Refused
from dpbench.base.options import option
from dpbench.contracts.dataset import Dataset
from dpbench.contracts.hooks import hookimpl
from dpbench.data.column_format import NUMBER, TEXT
from dpbench.data.table import Column, Table
from dpbench.files.complete_rows import CompleteRows
from dpbench.files.download_cache import cache_folder, verify_checksum
from dpbench.files.table_files import Csv

from ._download import download
from ._standin import ATTRIBUTE_SUBSETS

STATES = (
    *("al", "ak", "az", "ar", "ca", "co", "ct", "de", "dc", "fl", "ga", "hi", "id", "il", "in", "ia", "ks", "ky", "la", "me"),
    *("md", "ma", "mi", "mn", "ms", "mo", "mt", "ne", "nv", "nh", "nj", "nm", "ny", "nc", "nd", "oh", "ok", "or", "pa", "pr"),
    *("ri", "sc", "sd", "tn", "tx", "ut", "vt", "va", "wa", "wv", "wi", "wy"),
)

SERVER = "https://www2.census.gov/programs-surveys/acs/data/pums"
SERVER_VARIABLE = "DPBENCH_ACS_URL"
"""The environment variable that names a mirror of the server's folder."""

PERSON_VARIABLES = ("AGEP", "SEX", "MAR", "SCHL", "DIS", "NATIVITY", "WKHP", "PINCP")
HOUSEHOLD_VARIABLES = ("MV", "TEN", "NPF", "NOC", "VEH")
HOUSEHOLD_KEY = "SERIALNO"

EDUCATION_LEVELS = (1, *[2] * 2, *[3] * 8, *[4] * 4, 5, 6, *[7] * 2, 8, 9, 10, 11, 12)
"""The level, from 1 to 12, of each SCHL code from 1 to 24. Several school grades share a level."""

RESIDENCE_YEARS = (0.5, 1.5, 3.0, 7.0, 14.5, 24.5, 35.0)
"""The middle of each bracket of MV in years. The last bracket, 30 years or more, counts as 35."""

COLUMNS = (
    Column("age", 0, 100, "years", kind="integer"),
    Column("gender", 0, 1, kind="binary", meaning="1 = female"),
    Column("is_single", 0, 1, kind="binary", meaning="1 = never married"),
    Column("is_married", 0, 1, kind="binary", meaning="1 = married; neither: widowed, divorced or separated"),
    Column("education", 1, 12, "level", kind="ordinal", meaning="1 none, 5 high school, 9 bachelor, 12 doctorate"),
    Column("disability", 0, 1, kind="binary", meaning="1 = has a disability"),
    Column("nativity", 0, 1, kind="binary", meaning="1 = foreign-born"),
    Column("hours_per_week", 0, 99, "hours", kind="integer"),
    Column("years_residing", 0, 40, "years", meaning="middle of the bracket of years since the household moved in"),
    Column("owns_dwelling", 0, 1, kind="binary", meaning="1 = owned by the household"),
    Column("family_size", 1, 20, "persons", kind="integer"),
    Column("children", 0, 18, "children", kind="integer"),
    Column("automobiles", 0, 6, "vehicles", kind="integer", meaning="6 = 6 or more"),
)
INCOME = Column("annual_income", 0, 200_000, "USD", meaning="total personal income of the past 12 months, not adjusted")


@dataclass(frozen=True)
class Acs(Dataset):
    """Real, after a download: American Community Survey, income from 13 attributes of a state's workers in one year.

    The attributes, their names and the numbered subsets are those of ``census``. `python -m dpbench data fetch acs state=vt
    year=2019` downloads the person and housing files of a state (public-use microdata, public domain). After that no network is
    needed. The checksums of the files are stored at the first download and enforced from then on.

    Persons and households are joined by SERIALNO. Persons with a missing value are left out: those who have not worked in the
    past 12 months have no hours, and those who live in group quarters have no household. Persons without a family get family
    size 1. Rows are not weighted. The number of remaining rows depends on the data, which is recorded as the leak
    ``rows_dropped``, unless ``sample_n`` fixes n. Bounds are round numbers chosen here; income is clipped to 0-200,000 dollars
    of that year.
    """

    name: ClassVar[str] = "acs"
    public: ClassVar[bool] = True
    licence: ClassVar[str] = "public domain"
    citation: ClassVar[str] = "U.S. Census Bureau, American Community Survey, Public Use Microdata Sample"

    state: str = option("vt", help="the two letters of a state, or dc, or pr")
    year: int = option(2019, low=2012, high=2100, help="the year of the survey; for 5-Year the last of the five")
    horizon: Literal["1-Year", "5-Year"] = option("1-Year", help="answers of one year, or of five")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "state", self.state.lower())
        if self.state not in STATES:
            raise Refused(f"The 'state' option of acs must be the two letters of a state. Got {self.state!r} instead.")

    def load(self, generator: np.random.Generator) -> Table:
        for path in self._files.values():
            verify_checksum(self._downloaded(path), self._command)
        person = _columns(self._files["p"], PERSON_VARIABLES)
        housing = _columns(self._files["h"], HOUSEHOLD_VARIABLES)
        position = _household_positions(person.pop(HOUSEHOLD_KEY), housing.pop(HOUSEHOLD_KEY), self._files["h"].name)
        values = {**person, **{name: np.where(position < 0, np.nan, column[position]) for name, column in housing.items()}}
        values["NPF"] = np.where(np.isnan(values["NPF"]) & ~np.isnan(values["TEN"]), 1, values["NPF"])
        complete = CompleteRows(self.sample_n, generator)
        complete.add(_attributes(values), {name: np.isnan(column) for name, column in values.items()})
        rows = complete.values(f"dataset=acs state={self.state} year={self.year}")
        return Table(
            COLUMNS,
            INCOME,
            rows[:, :-1],
            np.ascontiguousarray(rows[:, -1]),
            sensitive=("is_married",),
            threshold=50_000,
            leaks=complete.leaks,
            dropped=complete.dropped,
            declared_n=complete.sample_n is not None,
        )

    def subsets(self) -> Mapping[int, tuple[str, ...]]:
        return ATTRIBUTE_SUBSETS

    def fingerprint(self) -> str:
        return " ".join(
            _verified_checksum(self._downloaded(path), path.stat().st_mtime_ns, self._command) for path in self._files.values()
        )

    def fetch(self, say: Callable[[str], None]) -> None:
        server = os.environ.get(SERVER_VARIABLE) or SERVER
        for path in self._files.values():
            download(f"{server.rstrip('/')}/{self.year}/{self.horizon}/{path.name}", path, say, _check_archive)
        say(f"Use it: python -m dpbench dataset=acs {self._options}")

    @cached_property
    def _files(self) -> dict[str, Path]:
        """The archives of persons and of households."""
        folder = cache_folder("acs", str(self.year), self.horizon)
        return {kind: folder / f"csv_{kind}{self.state}.zip" for kind in ("p", "h")}

    @property
    def _options(self) -> str:
        return f"dataset.state={self.state} dataset.year={self.year} dataset.horizon={self.horizon}"

    @property
    def _command(self) -> str:
        return f"`python -m dpbench data fetch acs {self._options.replace('dataset.', '')}`"

    def _downloaded(self, path: Path) -> Path:
        if not path.is_file():
            raise Refused(f"The data of dataset=acs {self._options} is not in the cache folder. {self._command} downloads it.")
        return path


@lru_cache(maxsize=64)
def _verified_checksum(path: Path, changed: int, command: str) -> str:
    """Verify a file once per change of its date: hashing a large archive takes seconds."""
    return verify_checksum(path, command)


def _columns(archive: Path, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Read the household key and these columns from all tables of an archive; large archives hold several."""
    wanted = {HOUSEHOLD_KEY: TEXT, **dict.fromkeys(names, NUMBER)}
    try:
        with zipfile.ZipFile(archive) as opened:
            members = sorted(name for name in opened.namelist() if name.lower().endswith(".csv"))
            parts = [Csv(f"{archive.name}/{name}", _opener(opened, name)).read(wanted) for name in members]
    except (zipfile.BadZipFile, OSError):
        raise Refused(f"The archive {archive.name} in the cache folder cannot be read.") from None
    if not parts:
        raise Refused(f"The archive {archive.name} holds no table.")
    return {name: np.concatenate([part[name] for part in parts]) for name in wanted}


def _opener(archive: zipfile.ZipFile, name: str) -> Callable[[], BinaryIO]:
    def opened() -> Any:
        return archive.open(name)

    return opened


def _check_archive(path: Path) -> str:
    """Return what is wrong with a downloaded archive, in one sentence; "" if nothing is."""
    try:
        with zipfile.ZipFile(path) as opened:
            broken = opened.testzip()
    except zipfile.BadZipFile:
        return "It is not a zip archive."
    return f"Its part {broken} is damaged." if broken else ""


def _household_positions(persons: np.ndarray, households: np.ndarray, archive: str) -> np.ndarray:
    """Return the position of each person's household; -1 if it has none."""
    import pandas

    index = pandas.Index(households)
    if not index.is_unique:
        raise Refused(f"The archive {archive} must hold each household once. Got some of them twice.")
    return np.asarray(index.get_indexer(persons))


def _attributes(values: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the attributes and the income of each person. Rows with a missing value may hold anything: they are left out."""
    married = values["MAR"]
    return np.column_stack(
        [
            values["AGEP"],
            values["SEX"] == 2,
            married == 5,
            married == 1,
            _decode(values["SCHL"], EDUCATION_LEVELS),
            values["DIS"] == 1,
            values["NATIVITY"] == 2,
            values["WKHP"],
            _decode(values["MV"], RESIDENCE_YEARS),
            values["TEN"] <= 2,
            values["NPF"],
            values["NOC"],
            values["VEH"],
            values["PINCP"],
        ]
    ).astype(float)


def _decode(codes: np.ndarray, meanings: tuple[float, ...]) -> np.ndarray:
    """Return the meaning of each code; codes count from 1."""
    table = np.array(meanings, dtype=float)
    return np.asarray(table[np.clip(np.nan_to_num(codes, nan=1), 1, len(table)).astype(int) - 1])


@hookimpl
def dpbench_datasets() -> list[type[Dataset]]:
    return [Acs]
