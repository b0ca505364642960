"""A bounds file: what is public about a table's columns, drafted for the user to edit, read, and checked.

It is YAML: ``columns`` gives each column's bounds as ``[low, high]`` or ``{low: …, high: …, unit: …, kind: integer}``, its
``{levels: […]}``, or ``ignore``; beside it stand ``target``, ``threshold``, ``sensitive``, ``delimiter`` and ``nulls``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from dpbench.base.errors import Refused, unknown
from dpbench.data.table import Column
from dpbench.files.table_files import File
from dpbench.files.values import NULLS, ColumnChunk, ColumnFormat

MOST_LEVELS = 50
"""A column of more different texts than this is not drafted as categorical: it may be a name or a number plate."""

Kind = Literal["continuous", "integer"]

WARNING = """\
# THE NUMBERS AND LEVELS BELOW WERE READ FROM THE DATA, which no privacy budget pays for.
# Replace each by what is known without looking at the rows: an age lies in [0, 100] whoever is in the table.
# Values outside the bounds are clipped to them. `ignore` leaves a column out.
"""


@dataclass(frozen=True)
class ColumnDeclaration:
    """What is declared of one column: a range, or levels."""

    low: float = 0.0
    high: float = 1.0
    unit: str = ""
    kind: Kind = "continuous"
    levels: tuple[str, ...] = ()

    @property
    def wanted(self) -> ColumnFormat:
        return ColumnFormat(self.levels, whole=self.kind == "integer")

    def columns(self, name: str) -> tuple[Column, ...]:
        """The design's columns: one for a range, one a level for a categorical attribute."""
        if not self.levels:
            return (Column(name, self.low, self.high, self.unit, kind=self.kind),)
        return tuple(Column(f"{name}={level}", 0, 1, group=name, meaning=level) for level in self.levels)


@dataclass(frozen=True)
class Bounds:
    """Every declared column, and what else a bounds file says."""

    columns: Mapping[str, ColumnDeclaration]
    ignored: frozenset[str] = frozenset()
    target: str = ""
    threshold: float | None = None
    sensitive: tuple[str, ...] = ()
    delimiter: str | None = None
    nulls: tuple[str, ...] | None = None
    from_data: bool = False
    """Whether the file still says that its numbers were read from the rows."""


def declared(columns: Mapping[str, Any], owner: str) -> Bounds:
    """The bounds of a mapping from columns to ranges and levels."""
    ignored = frozenset(name for name, given in columns.items() if given == "ignore")
    return Bounds({name: _declared(name, given, owner) for name, given in columns.items() if name not in ignored}, ignored)


def read_bounds(path: str) -> Bounds:
    """The bounds in a file; whatever is wrong with it is one sentence."""
    import yaml

    place = Path(path).expanduser()
    try:
        # texts only: to YAML `no` is false, 1e5 a text and 012 ten, and a level may be any of them
        content = yaml.load(place.read_text(encoding="utf-8"), yaml.BaseLoader)
    except OSError:
        raise Refused(f"There is no bounds file {path!r}. `python -m dpbench data describe` drafts one.") from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise Refused(f"The bounds file {path!r} must be YAML. Got something else.") from None
    if not isinstance(content, Mapping) or not isinstance(content.get("columns"), Mapping):
        raise Refused(f"The bounds file {path!r} must have a key 'columns' that holds a mapping.")
    keys = ("columns", *(item for item in _FILE_KEYS))
    for key in content:
        if key not in keys:
            raise unknown(f"key of the bounds file {path!r}", str(key), keys)
    given = declared(content["columns"], path)
    return Bounds(
        given.columns,
        given.ignored,
        target=_text(content.get("target", "")),
        threshold=_number(content["threshold"], "threshold", path) if content.get("threshold") else None,
        sensitive=_list(content.get("sensitive") or (), "sensitive", path),
        delimiter=_text(content["delimiter"]) if content.get("delimiter") else None,
        nulls=_list(content["nulls"], "nulls", path) if "nulls" in content else None,
        from_data=content.get("from_data", "false") != "false",
    )


_FILE_KEYS = ("target", "threshold", "sensitive", "delimiter", "nulls", "from_data")


def levels_of(name: str, given: Any, owner: str) -> tuple[str, ...]:
    """Declared levels as texts, at least two and no two the same."""
    levels = _list(given, f"levels of {name!r}", owner)
    if len(set(levels)) < max(len(levels), 2):
        raise Refused(f"The levels of {name!r} in {owner} must be at least two different texts. Got {list(levels)} instead.")
    return levels


def _declared(name: str, given: Any, owner: str) -> ColumnDeclaration:
    if isinstance(given, Mapping):
        known = ("low", "high", "unit", "kind", "levels")
        for key in given:
            if key not in known:
                raise unknown(f"key of the column {name!r} in {owner}", str(key), known)
        if "levels" in given:
            if len(given) > 1:
                raise Refused(f"The column {name!r} in {owner} has levels, so it has nothing else.")
            return ColumnDeclaration(levels=levels_of(name, given["levels"], owner))
        if given.get("kind", "continuous") not in get_args(Kind):
            raise Refused(f"The kind of {name!r} in {owner} must be continuous or integer. Got {given['kind']!r} instead.")
        pair: Any = (given.get("low"), given.get("high"))
    else:
        pair, given = given, {}
    if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2 or None in pair:
        raise Refused(f"The bounds of {name!r} in {owner} must be [low, high], levels, or ignore. Got {pair!r} instead.")
    low, high = (_number(value, f"bounds of {name!r}", owner) for value in pair)
    Column(name, low, high, kind=given.get("kind", "continuous"))  # refuses reversed bounds
    return ColumnDeclaration(low, high, _text(given.get("unit", "")), given.get("kind", "continuous"))


def _number(given: Any, what: str, owner: str) -> float:
    try:
        return float(given)
    except (TypeError, ValueError):
        raise Refused(f"The {what} in {owner} must be numbers. Got {given!r} instead.") from None


def _list(given: Any, what: str, owner: str) -> tuple[str, ...]:
    if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
        raise Refused(f"The {what} in {owner} must be a list. Got {given!r} instead.")
    return tuple(map(_text, given))


def _text(given: Any) -> str:
    """A level as the file writes it: the command line turns true, 1 and 1.0 into more than texts."""
    if isinstance(given, bool):
        return str(given).lower()
    return f"{given:g}" if isinstance(given, float) and given.is_integer() else str(given)


@dataclass
class Profile:
    """What a column of a file holds: read from the rows, so not public."""

    name: str
    rows: int = 0
    missing: int = 0
    numeric: bool = True
    whole: bool = True
    low: float = math.inf
    high: float = -math.inf
    texts: set[str] = field(default_factory=set)

    def add(self, cells: ColumnChunk) -> None:
        texts = cells.texts()
        self.rows += len(texts)
        self.missing += texts.null_count
        if len(self.texts) <= MOST_LEVELS:
            self.texts.update(texts.drop_null().unique().slice(0, MOST_LEVELS + 1).to_pylist())
        if self.numeric:
            try:
                values = cells.numbers()
            except Refused:
                self.numeric = False
                return
            values = values[~np.isnan(values)]
            if len(values):
                self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))
                self.whole &= bool((values == np.round(values)).all())

    @property
    def empty(self) -> bool:
        return self.missing == self.rows

    @property
    def constant(self) -> bool:
        return self.low == self.high if self.numeric else len(self.texts) == 1

    @property
    def categorical(self) -> bool:
        return not self.numeric and len(self.texts) <= MOST_LEVELS

    @property
    def levels(self) -> tuple[str, ...]:
        return tuple(sorted(self.texts))


def profiles(file: File, names: Sequence[str], nulls: Iterable[str] = NULLS) -> dict[str, Profile]:
    """Ranges and levels of columns, in one pass over the rows."""
    found = {name: Profile(name) for name in names}
    for chunk in file.chunks(names):
        for name in names:
            found[name].add(ColumnChunk(file.label, name, 0, chunk.column(name), nulls))
    return found


def draft(file: File, delimiter: str = ",", nulls: Sequence[str] | None = None) -> str:
    """A bounds file to edit, with a warning: ranges are rounded outwards, levels are those that occur."""
    found = profiles(file, file.names, nulls if nulls is not None else NULLS)
    numbers = [one.name for one in found.values() if one.numeric and not one.empty and not one.constant]
    lines = [WARNING.rstrip(), "from_data: true  # delete this line once every number and level below comes from elsewhere"]
    lines.append(f"target: {_yaml(numbers[-1])}  # a guess: the last numeric column" if numbers else "target:")
    lines += [f"delimiter: {json.dumps(delimiter)}"] if delimiter != "," else []
    lines += [f"nulls: {_flow(nulls)}"] if nulls is not None else []
    lines.append("columns:")
    return "\n".join([*lines, *(f"  {_yaml(one.name)}: {_drafted(one)}" for one in found.values())]) + "\n"


def _drafted(one: Profile) -> str:
    missing = f"  # {one.missing} of {one.rows} values are missing" if one.missing else ""
    if one.empty:
        return "ignore  # no value at all"
    if one.constant:
        return "ignore  # the same value in every row"
    if one.numeric:
        low, high = (f"{bound:.15g}" for bound in rounded(one.low, one.high))
        return (f"{{low: {low}, high: {high}, kind: integer}}" if one.whole else f"[{low}, {high}]") + missing
    if one.categorical:
        return f"{{levels: {_flow(one.levels)}}}" + missing
    return f"ignore  # more than {MOST_LEVELS} different texts"


def rounded(low: float, high: float) -> tuple[float, float]:
    """The range rounded outwards, to half the power of ten below its width."""
    step = 10.0 ** math.floor(math.log10(high - low)) / 2
    step = step if step < 1 or float(step).is_integer() else 1.0
    return math.floor(low / step) * step, math.ceil(high / step) * step


def _yaml(text: str) -> str:
    return text if re.fullmatch(r"[A-Za-z_][\w-]*", text) else json.dumps(text, ensure_ascii=False)


def _flow(texts: Sequence[str]) -> str:
    return "[" + ", ".join(map(_yaml, texts)) + "]"
