"""Codebooks (DDI) of IPUMS extracts of any project (USA, CPS, ATUS, MEPS, International): what they say about each variable.

ipumspy reads the layout of the file. Labels and missing codes are read from the XML, because ipumspy drops codes that share a
label, and ignores the coding instructions, which contain the missing codes of continuous variables.
"""

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from dpbench.base.errors import Refused
from dpbench.base.user_path import user_path

INSTALL_COMMAND = "pip install 'dp-regression-bench[ipums]'"

MISSING_LABEL = re.compile(
    r"\s*(N\.?I\.?U\b|N/A\b|not (in universe|reported|applicable|available|asked|ascertained|identified)|inapplicable|unknown|"
    r"missing|blank\b|refused|don'?t know|no response|could not be)",
    re.IGNORECASE,
)
"""Matches the beginning of a label whose code is not an answer."""

_CODE, _MEANING = r"(?:Codes)?(-?\d[\d,]*(?:\.\d+)?)", r"\s*([^;\n]*?)(?=\s-?\d[\d,.]*\s*=|[;\n]|$)"
NOTE = re.compile(rf"(?<![\w.,-]){_CODE}\s*={_MEANING}|^\s*{_CODE}:{_MEANING}", re.MULTILINE)
"""Matches a code and its meaning in the instructions on coding: ``999998 = Missing``, or ``996: Missing`` on its own line."""

TECHNICAL_CONCEPT = re.compile(r"technical|weight|linking", re.IGNORECASE)
"""Matches the group of variables that identify or weigh rows."""


@dataclass(frozen=True)
class Variable:
    """What a codebook says about a variable."""

    name: str
    label: str
    width: int
    decimals: int
    """The number of last digits, in fixed-width data, that are behind the decimal point."""
    text: bool
    technical: bool
    answers: Mapping[str, str]
    """The label of each code that is an answer. A continuous variable has none."""
    missing: Mapping[str, str]
    """The label of each code that is not."""

    @property
    def missing_codes(self) -> tuple[float, ...]:
        """The codes that are not answers, as numbers."""
        return tuple(map(float, self.missing)) if not self.text else ()


@dataclass(frozen=True)
class Codebook:
    """The codebook of an extract: its project, its variables by name, and the layout of its file, as ipumspy reads it."""

    path: Path
    project: str
    """The project's short name in small letters: usa, cps, atus, meps, ipumsi and others."""
    variables: Mapping[str, Variable]
    layout: Any

    @property
    def label(self) -> str:
        """The name of the file, for messages."""
        return self.path.name

    def data_file(self) -> Path:
        """Find the data in the folder of the codebook: by the name in the codebook, or by the name of the codebook."""
        recorded = Path(self.layout.file_description.filename or self.label).name
        stems = dict.fromkeys((re.sub(r"\.(dat|csv)(\.gz)?$", "", recorded), self.path.stem))
        candidates = [self.path.with_name(stem + suffix) for stem in stems for suffix in (".dat.gz", ".dat", ".csv.gz", ".csv")]
        for candidate in candidates:
            if candidate.is_file():
                return candidate
        name = candidates[0].name
        raise Refused(f"The data file of the extract {self.label} must be in the same folder, as {name} or .dat. There is none.")


def codebook_of(path: str) -> Path | None:
    """Return the codebook of the extract at a path, which may name the codebook or the fixed-width data next to it."""
    file = user_path(path)
    if file.suffix.lower() == ".xml":
        return file
    if not file.name:  # a folder such as . or /
        return None
    codebook = file.with_name(file.name.removesuffix(".gz").removesuffix(".dat") + ".xml")
    return codebook if ".dat" in file.suffixes and codebook.is_file() else None


def source_files(path: str) -> tuple[str, ...]:
    """Return the files that make up the table at a path: two for an extract."""
    codebook = codebook_of(path)
    return (str(codebook), str(read_codebook(codebook).data_file())) if codebook else (path,)


def read_codebook(path: Path) -> Codebook:
    """Read the XML codebook of an extract whose rows are all of one kind, or refuse it in one sentence."""
    if not path.is_file():
        raise Refused(f"There is no file {str(path)!r}.")
    try:
        from ipumspy import readers
    except ModuleNotFoundError:
        raise Refused(f"Reading an IPUMS extract needs ipumspy, which is not installed: {INSTALL_COMMAND}") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about how to cite IPUMS
            layout = readers.read_ipums_ddi(path)
        variables = _read_variables(path)
    except Exception as error:  # noqa: BLE001  incomplete XML raises AttributeError, other XML many types
        raise Refused(
            f"The file {path.name} must be the XML codebook (DDI) of an IPUMS extract. It cannot be read as one "
            f"({type(error).__name__})."
        ) from None
    structure = layout.file_description.structure
    if structure != "rectangular":
        raise Refused(
            f"The extract {path.name} must be rectangular, one row per person. Got {structure} instead: choose another structure "
            "and download it again."
        )
    # decimals are set when the rows are read: ipumspy would turn a blank into 0
    fields = [replace(field, shift=None) for field in layout.data_description]
    return Codebook(path, layout.ipums_collection.lower(), variables, replace(layout, data_description=fields))


def _read_variables(path: Path) -> dict[str, Variable]:
    elements = ElementTree.parse(path).getroot().iterfind(".//{*}dataDscr/{*}var")
    return {variable.name: variable for variable in map(_read_variable, elements)}


def _read_variable(element: ElementTree.Element) -> Variable:
    kind, location = element.find("{*}varFormat"), element.find("{*}location")
    assert kind is not None
    assert location is not None
    text, width, decimals = kind.attrib["type"] == "character", int(location.attrib["width"]), int(element.get("dcml") or 0)
    labels = {
        _spell(item.findtext("{*}catValu", "").strip(), text, decimals, width): (item.findtext("{*}labl") or "").strip()
        for item in element.iterfind("{*}catgry")
    }
    notes = {} if text else _notes(element.findtext("{*}codInstr", ""), decimals, width)
    missing = {code: label for code, label in {**notes, **labels}.items() if MISSING_LABEL.match(label)}
    return Variable(
        name=element.attrib["name"],
        label=(element.findtext("{*}labl") or "").strip(),
        width=width,
        decimals=decimals,
        text=text,
        technical=bool(TECHNICAL_CONCEPT.search(element.findtext("{*}concept") or "")),
        answers={code: label for code, label in labels.items() if code not in missing},
        missing=missing,
    )


def _notes(instructions: str, decimals: int, width: int) -> dict[str, str]:
    """Return the codes that fit the variable's width, with what the instructions say about them."""
    matches = (match.groups("") for match in NOTE.finditer(instructions))
    codes = (((first or second).replace(",", ""), (meaning or other).strip()) for first, meaning, second, other in matches)
    return {_spell(code, False, decimals, width): label for code, label in codes if len(code.replace(".", "")) <= width}


def _spell(code: str, text: bool, decimals: int, width: int) -> str:
    """Return a code as the data spells it: in the variable's unit and without leading zeros."""
    if text:
        return code
    # a code that fills its field has the field's implied decimals; 999.99 has its own
    number = int(code) / 10**decimals if len(code) == width and "." not in code else float(code)
    return f"{number:.15g}"
