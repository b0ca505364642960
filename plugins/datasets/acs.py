"""The American Community Survey: public-use microdata of the U.S. Census Bureau, by state and year."""

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
from dpbench.data.table import Column, Table
from dpbench.files.complete_rows import CompleteRows
from dpbench.files.download_cache import cache_folder, verify_checksum
from dpbench.files.table_files import Csv
from dpbench.files.values import NUMBER, TEXT

from ._download import download
from ._standin import ATTRIBUTES

STATES = (
    *("al", "ak", "az", "ar", "ca", "co", "ct", "de", "dc", "fl", "ga", "hi", "id", "il", "in", "ia", "ks", "ky", "la", "me"),
    *("md", "ma", "mi", "mn", "ms", "mo", "mt", "ne", "nv", "nh", "nj", "nm", "ny", "nc", "nd", "oh", "ok", "or", "pa", "pr"),
    *("ri", "sc", "sd", "tn", "tx", "ut", "vt", "va", "wa", "wv", "wi", "wy"),
)

SERVER = "https://www2.census.gov/programs-surveys/acs/data/pums"
SERVER_VARIABLE = "DPBENCH_ACS_URL"
"""A mirror of the server's folder."""

PERSON = ("AGEP", "SEX", "MAR", "SCHL", "DIS", "NATIVITY", "WKHP", "PINCP")
HOUSING = ("MV", "TEN", "NPF", "NOC", "VEH")
KEY = "SERIALNO"

EDUCATION = (1, *[2] * 2, *[3] * 8, *[4] * 4, 5, 6, *[7] * 2, 8, 9, 10, 11, 12)
"""The level, of 12, of each code of SCHL from 1 to 24: grades are taken together."""

YEARS = (0.5, 1.5, 3.0, 7.0, 14.5, 24.5, 35.0)
"""The middle of each bracket of MV in years; for the last one, 30 years or more, five years past its beginning."""

COLUMNS = (
    Column("age", 0, 100, "years", kind="integer"),
    Column("gender", 0, 1, kind="binary", meaning="1 = female"),
    Column("is_single", 0, 1, kind="binary", meaning="1 = never married"),
    Column("is_married", 0, 1, kind="binary", meaning="1 = married; neither: widowed, divorced or separated"),
    Column("education", 1, 12, "level", kind="ordinal", meaning="1 none, 5 high school, 9 bachelor, 12 doctorate"),
    Column("disability", 0, 1, kind="binary", meaning="1 = has a disability"),
    Column("nativity", 0, 1, kind="binary", meaning="1 = foreign-born"),
    Column("hours_per_week", 0, 99, "hours", kind="integer"),
    Column("years_residing", 0, 40, "years", meaning="the middle of the bracket in which the household moved in"),
    Column("owns_dwelling", 0, 1, kind="binary", meaning="1 = owned by the household"),
    Column("family_size", 1, 20, "persons", kind="integer"),
    Column("children", 0, 18, "children", kind="integer"),
    Column("automobiles", 0, 6, "vehicles", kind="integer", meaning="6 = 6 or more"),
)
INCOME = Column("annual_income", 0, 200_000, "USD", meaning="total personal income of the past 12 months, not adjusted")


@dataclass(frozen=True)
class Acs(Dataset):
    """American Community Survey, real: income from 13 attributes of a state's workers in a year, once it is downloaded.

    The attributes are those of ``census``, with the same names and numbered subsets. `python -m dpbench data fetch acs
    state=vt year=2019` downloads the person and housing files of a state (public-use microdata, public domain); later it
    needs no network. Their checksums are remembered at the first download and enforced ever after.

    Persons and their households are joined by SERIALNO. Persons with a missing value are left out: who has not worked in the
    past 12 months has no hours, who lives in group quarters no household. Persons without a family get family size 1. Rows
    are not weighted. How many are left depends on the data: that is recorded as the leak ``rows_dropped``, unless
    ``sample_n`` fixes n. Bounds are round numbers of ours; income is clipped to 0-200,000 dollars of that year.
    """

    name: ClassVar[str] = "acs"
    public: ClassVar[bool] = True
    licence: ClassVar[str] = "public domain"
    citation: ClassVar[str] = "U.S. Census Bureau, American Community Survey, Public Use Microdata Sample"

    state: str = option("vt", help="a state's two letters; dc and pr are there too")
    year: int = option(2019, low=2012, high=2100, help="the survey's year, the last one of five")
    horizon: Literal["1-Year", "5-Year"] = option("1-Year", help="one year's answers, or five years'")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "state", self.state.lower())
        if self.state not in STATES:
            raise Refused(f"The 'state' option of acs must be the two letters of a state. Got {self.state!r} instead.")

    def load(self, generator: np.random.Generator) -> Table:
        for path in self._files.values():
            verify_checksum(self._there(path), self._command)
        person = _columns(self._files["p"], PERSON)
        housing = _columns(self._files["h"], HOUSING)
        at = _joined(person.pop(KEY), housing.pop(KEY), self._files["h"].name)
        values = {**person, **{name: np.where(at < 0, np.nan, column[at]) for name, column in housing.items()}}
        values["NPF"] = np.where(np.isnan(values["NPF"]) & ~np.isnan(values["TEN"]), 1, values["NPF"])
        complete = CompleteRows(self.sample_n, generator)
        complete.add(_attributes(values), {name: np.isnan(column) for name, column in values.items()})
        kept = complete.values(f"dataset=acs state={self.state} year={self.year}")
        return Table(
            COLUMNS,
            INCOME,
            kept[:, :-1],
            np.ascontiguousarray(kept[:, -1]),
            sensitive=("is_married",),
            threshold=50_000,
            leaks=complete.leaks,
            dropped=complete.dropped,
            declared_n=complete.sample_n is not None,
        )

    def subsets(self) -> Mapping[int, tuple[str, ...]]:
        return ATTRIBUTES

    def fingerprint(self) -> str:
        return " ".join(_digest(self._there(path), path.stat().st_mtime_ns, self._command) for path in self._files.values())

    def fetch(self, say: Callable[[str], None]) -> None:
        server = os.environ.get(SERVER_VARIABLE) or SERVER
        for path in self._files.values():
            download(f"{server.rstrip('/')}/{self.year}/{self.horizon}/{path.name}", path, say, _check_archive)
        say(f"Use it: python -m dpbench dataset=acs {self._options}")

    @cached_property
    def _files(self) -> dict[str, Path]:
        """The person and the housing archive."""
        folder = cache_folder("acs", str(self.year), self.horizon)
        return {kind: folder / f"csv_{kind}{self.state}.zip" for kind in ("p", "h")}

    @property
    def _options(self) -> str:
        return f"dataset.state={self.state} dataset.year={self.year} dataset.horizon={self.horizon}"

    @property
    def _command(self) -> str:
        return f"`python -m dpbench data fetch acs {self._options.replace('dataset.', '')}`"

    def _there(self, path: Path) -> Path:
        if not path.is_file():
            raise Refused(f"The data of dataset=acs {self._options} is not in the cache folder. {self._command} downloads it.")
        return path


@lru_cache(maxsize=64)
def _digest(path: Path, changed: int, how: str) -> str:
    return verify_checksum(path, how)


def _columns(archive: Path, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """The key and these columns of every table in an archive: large ones come in parts."""
    wanted = {KEY: TEXT, **dict.fromkeys(names, NUMBER)}
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
    """What is wrong with a downloaded archive: nothing, or one sentence."""
    try:
        with zipfile.ZipFile(path) as opened:
            broken = opened.testzip()
    except zipfile.BadZipFile:
        return "It is no zip archive."
    return f"Its part {broken} is damaged." if broken else ""


def _joined(persons: np.ndarray, households: np.ndarray, archive: str) -> np.ndarray:
    """The position of each person's household; -1 where there is none."""
    import pandas

    index = pandas.Index(households)
    if not index.is_unique:
        raise Refused(f"The archive {archive} must hold each household once. Got some twice.")
    return np.asarray(index.get_indexer(persons))


def _attributes(values: Mapping[str, np.ndarray]) -> np.ndarray:
    """The attributes and the income of each person; what is missing stays so, or is anything."""
    married = values["MAR"]
    return np.column_stack(
        [
            values["AGEP"],
            values["SEX"] == 2,
            married == 5,
            married == 1,
            _coded(values["SCHL"], EDUCATION),
            values["DIS"] == 1,
            values["NATIVITY"] == 2,
            values["WKHP"],
            _coded(values["MV"], YEARS),
            values["TEN"] <= 2,
            values["NPF"],
            values["NOC"],
            values["VEH"],
            values["PINCP"],
        ]
    ).astype(float)


def _coded(codes: np.ndarray, meanings: tuple[float, ...]) -> np.ndarray:
    """The meaning of codes that count from 1."""
    known = np.array(meanings, dtype=float)
    return np.asarray(known[np.clip(np.nan_to_num(codes, nan=1), 1, len(known)).astype(int) - 1])


@hookimpl
def dpbench_datasets() -> list[type[Dataset]]:
    return [Acs]
