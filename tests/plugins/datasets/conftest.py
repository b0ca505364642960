"""Extracts of IPUMS International for the tests of the datasets: generated, so no row is a person."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpbench.base.random_streams import stream
from dpbench.data.table import Table

NIU, UNKNOWN = "NIU (not in universe)", "Unknown/missing"


@dataclass(frozen=True)
class Variable:
    """A variable of an extract, with the labels of its codes, a note on its coding, and the values that rows draw from."""

    name: str
    width: int
    labels: dict[int, str] = field(default_factory=dict)
    note: str = ""
    values: tuple[int, ...] = (1, 2)
    missing: tuple[int, ...] = ()
    """Codes that are not answers, by a label or by the note."""


VARIABLES = (
    Variable("COUNTRY", 3, {76: "Brazil", 840: "United States"}, values=(840,)),
    Variable("SERIAL", 10, values=(7,)),
    Variable("AGE", 3, {999: "Not reported/missing"}, values=(16, 40, 100), missing=(999,)),
    Variable("SEX", 1, {1: "Male", 2: "Female", 9: "Unknown"}, missing=(9,)),
    Variable(
        "MARST",
        1,
        {0: NIU, 1: "Single", 2: "Married", 3: "Separated/spouse absent", 4: "Widowed", 9: UNKNOWN},
        values=(1, 2, 3, 4),
        missing=(0, 9),
    ),
    Variable("EDATTAIN", 1, {0: NIU, 9: "Unknown"}, values=(1, 2, 3, 4), missing=(0, 9)),
    Variable("DISABLED", 1, {0: NIU, 9: "Unknown"}, missing=(0, 9)),
    Variable("NATIVITY", 1, {0: NIU, 9: "Unknown"}, missing=(0, 9)),
    Variable("HRSWORK1", 3, {998: "Unknown", 999: NIU}, values=(0, 40, 140), missing=(998, 999)),
    Variable("MIGYRS1", 2, {95: "95+", 96: "Unknown", 98: "Unknown", 99: NIU}, values=(0, 5, 95), missing=(96, 98, 99)),
    Variable("OWNERSHIP", 1, {0: NIU, 1: "Owned", 2: "Not owned", 9: "Unknown"}, missing=(0, 9)),
    Variable("FAMSIZE", 2, values=(1, 4, 17)),
    Variable("NCHILD", 1, {9: "9+"}, values=(0, 3, 9)),
    Variable(
        "AUTOS", 1, {6: "6+ autos", 7: "Have auto, number unspecified", 8: "Unknown", 9: NIU}, values=(0, 2, 6), missing=(7, 8, 9)
    ),
    Variable(
        "INCTOT",
        7,
        note="9999998 = Unknown/missing. 9999999 = NIU.",
        values=(0, 25_000, 999_998, -20_000),
        missing=(9_999_998, 9_999_999),
    ),
)


@dataclass
class Extracts:
    """Writes extracts, a codebook and a data file, of complete synthetic rows."""

    folder: Path
    variables: tuple[Variable, ...] = VARIABLES
    structure: str = "rectangular"

    def change(self, which: str, **changes: Any) -> None:
        """Replace facts about a variable."""
        self.variables = tuple(
            replace(variable, **changes) if variable.name == which else variable for variable in self.variables
        )

    def rows(self, count: int, seed: int = 0) -> list[dict[str, int | str]]:
        generator = np.random.default_rng(seed)
        return [{variable.name: int(generator.choice(variable.values)) for variable in self.variables} for _ in range(count)]

    def write(self, rows: list[dict[str, int | str]], name: str = "usa", suffix: str = ".dat.gz") -> Path:
        lines = ["".join(_field(row[variable.name], variable.width) for variable in self.variables) for row in rows]
        content = ("\n".join(lines) + "\n").encode("latin-1")
        if suffix.startswith(".csv"):
            names = [variable.name for variable in self.variables]
            table = [names, *([row[name] for name in names] for row in rows)]
            content = "".join(",".join(map(str, line)) + "\n" for line in table).encode()
        (self.folder / f"{name}{suffix}").write_bytes(gzip.compress(content) if suffix.endswith(".gz") else content)
        path = self.folder / f"{name}.xml"
        path.write_text(self.codebook(name), encoding="utf-8")
        return path

    def codebook(self, name: str) -> str:
        start, described = 1, []
        for variable in self.variables:
            end = start + variable.width - 1
            labels = "".join(
                f"<catgry><catValu>{code:0{variable.width}d}</catValu><labl>{text}</labl></catgry>"
                for code, text in variable.labels.items()
            )
            note = f"<codInstr>{variable.note}</codInstr>" if variable.note else ""
            described.append(
                f'<var ID="{variable.name}" name="{variable.name}" dcml="0" intrvl="discrete">'
                f'<location StartPos="{start}" EndPos="{end}" '
                f'width="{variable.width}"/><labl>{variable.name}</labl><txt>{variable.name}</txt>{labels}{note}'
                '<concept>Synthetic</concept><varFormat type="numeric" schema="other"/></var>'
            )
            start = end + 1
        return (
            '<?xml version="1.0" encoding="UTF-8"?><codeBook xmlns="ddi:codebook:2_5">'
            '<stdyDscr><citation><serStmt><serName abbr="IPUMSI">I</serName><serInfo>none</serInfo></serStmt></citation>'
            "<stdyInfo><notes>Synthetic</notes></stdyInfo><dataAccs><useStmt><conditions>none</conditions><citReq>none</citReq>"
            f"</useStmt></dataAccs></stdyDscr><fileDscr><fileTxt><fileName>{name}.dat</fileName><fileCont>synthetic</fileCont>"
            f'<fileStrc type="{self.structure}"/><fileType charset="ISO-8859-1"/><format>fixed</format><filePlac>none</filePlac>'
            f"</fileTxt></fileDscr><dataDscr>{''.join(described)}</dataDscr></codeBook>"
        )


def _field(value: int | str, width: int) -> str:
    return f"{value:0{width}d}" if isinstance(value, int) else value.rjust(width)


@pytest.fixture
def extracts(tmp_path: Path) -> Extracts:
    """Writes extracts into the temporary folder."""
    return Extracts(tmp_path)


@pytest.fixture
def read(make: Any) -> Callable[..., Table]:
    """Reads an extract as dataset=census, or another dataset."""

    def table(path: Path, name: str = "census", seed: int = 0, **options: Any) -> Table:
        drawn: Table = make("dataset", name, extract=str(path), **options).table(stream(seed))
        return drawn

    return table
