"""Extracts of IPUMS projects, as files: a codebook and a data file. They are generated, so no row is a person."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

NIU, UNKNOWN = "NIU (not in universe)", "Unknown/missing"


@dataclass(frozen=True)
class Variable:
    """A variable of an extract, with the labels of its codes, a note on its coding, and the values that rows draw from."""

    name: str
    width: int
    labels: dict[Any, str] = field(default_factory=dict)
    note: str = ""
    values: tuple[int | str, ...] = (1, 2)
    missing: tuple[int, ...] = ()
    """Codes that are not answers, by a label or by the note."""
    decimals: int = 0
    concept: str = "Synthetic"
    text: bool = False


INTERNATIONAL = (
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


CPS = (
    Variable("YEAR", 4, values=(2021,), concept="Technical Variables -- HOUSEHOLD"),
    Variable("STATE", 2, {code: f"State {code}" for code in range(1, 61)}, values=(1, 2, 60)),
    Variable("HWT", 10, values=(12_345_600,), decimals=4, concept="Technical Variables -- HOUSEHOLD"),
    Variable("AGE", 2, {0: "Under 1 year", **{age: str(age) for age in range(1, 99)}, 99: "99+"}, values=(20, 35, 50, 80)),
    Variable("SEX", 1, {1: "Male", 2: "Female", 9: "NIU"}, missing=(9,)),
    Variable("REGION", 2, {"NE": "Northeast", "SO": "South"}, values=("NE", "SO"), text=True),
    Variable("NAME", 4, values=("Ann", "Bo"), text=True),
    Variable("HOURS", 3, {997: "Hours vary", 999: "NIU"}, values=(0, 20, 40), missing=(999,)),
    Variable("KIDS", 1, {0: "0 children", 1: "1 child", 2: "2 children", 8: "Number not known", 9: "NIU"}, values=(0, 1, 2)),
    Variable(
        "WAGE",
        5,
        note="CodesWAGE is a 5-digit variable with two implied decimals. 999.99 = N.I.U.",
        values=(1_050, 99_998),
        decimals=2,
    ),
    Variable(
        "INCTOT", 8, note="Codes99999999 = N.I.U. (Not in Universe).\n99999998 = Missing.", values=(-500, 0, 30_000, 80_000)
    ),
)


@dataclass
class Extracts:
    """Writes extracts, a codebook and a data file, of complete synthetic rows."""

    folder: Path
    variables: tuple[Variable, ...] = INTERNATIONAL
    structure: str = "rectangular"
    project: str = "IPUMSI"

    def change(self, which: str, **changes: Any) -> None:
        """Replace facts about a variable."""
        self.variables = tuple(
            replace(variable, **changes) if variable.name == which else variable for variable in self.variables
        )

    def rows(self, count: int, seed: int = 0) -> list[dict[str, int | str]]:
        generator = np.random.default_rng(seed)
        return [
            {variable.name: variable.values[generator.integers(len(variable.values))] for variable in self.variables}
            for _ in range(count)
        ]

    def write(self, rows: list[dict[str, int | str]], name: str = "usa", suffix: str = ".dat.gz") -> Path:
        lines = ["".join(_field(row[variable.name], variable.width) for variable in self.variables) for row in rows]
        content = ("\n".join(lines) + "\n").encode("latin-1")
        if suffix.startswith(".csv"):
            names = [variable.name for variable in self.variables]
            # a CSV has its decimal points, and no leading zeros
            scales = {variable.name: 10**variable.decimals for variable in self.variables}
            table = [names, *([_unit(row[name], scales[name]) for name in names] for row in rows)]
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
                f"<catgry><catValu>{_field(code, variable.width)}</catValu><labl>{text}</labl></catgry>"
                for code, text in variable.labels.items()
            )
            note = f"<codInstr>{variable.note}</codInstr>" if variable.note else ""
            described.append(
                f'<var ID="{variable.name}" name="{variable.name}" dcml="{variable.decimals}" intrvl="discrete">'
                f'<location StartPos="{start}" EndPos="{end}" '
                f'width="{variable.width}"/><labl>{variable.name}</labl><txt>{variable.name}</txt>{labels}{note}'
                f"<concept>{variable.concept}</concept>"
                f'<varFormat type="{"character" if variable.text else "numeric"}" schema="other"/></var>'
            )
            start = end + 1
        return (
            '<?xml version="1.0" encoding="UTF-8"?><codeBook xmlns="ddi:codebook:2_5">'
            f'<stdyDscr><citation><serStmt><serName abbr="{self.project}">I</serName><serInfo>none</serInfo></serStmt></citation>'
            "<stdyInfo><notes>Synthetic</notes></stdyInfo><dataAccs><useStmt><conditions>none</conditions><citReq>none</citReq>"
            f"</useStmt></dataAccs></stdyDscr><fileDscr><fileTxt><fileName>{name}.dat</fileName><fileCont>synthetic</fileCont>"
            f'<fileStrc type="{self.structure}"/><fileType charset="ISO-8859-1"/><format>fixed</format><filePlac>none</filePlac>'
            f"</fileTxt></fileDscr><dataDscr>{''.join(described)}</dataDscr></codeBook>"
        )


def _field(value: int | str, width: int) -> str:
    return f"{value:0{width}d}" if isinstance(value, int) else value.rjust(width)


def _unit(value: int | str, scale: int) -> int | str | float:
    return value / scale if isinstance(value, int) and scale > 1 else value
