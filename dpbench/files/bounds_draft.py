"""Drafts of bounds files: the ranges and levels that occur in a table, for the user to replace by public knowledge."""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dpbench.base.errors import Refused
from dpbench.files.table_files import File
from dpbench.files.values import ColumnChunk

MAX_DRAFTED_LEVELS = 50
"""A column with more different texts than this is not drafted as categorical: it may hold names or number plates."""

HEADER = """\
# THE NUMBERS AND LEVELS BELOW WERE READ FROM THE DATA, which no privacy budget pays for.
# Replace each by what is known without looking at the rows: an age lies in [0, 100], for example.
# Values outside the bounds are clipped to them. `ignore` leaves a column out.
from_data: true  # delete this line once every number and level below comes from elsewhere
"""


@dataclass
class ColumnProfile:
    """The range and the levels of a column of a file: read from the rows, so not public."""

    rows: int = 0
    missing: int = 0
    numeric: bool = True
    whole: bool = True
    low: float = math.inf
    high: float = -math.inf
    texts: set[str] = field(default_factory=set)

    def add(self, chunk: ColumnChunk) -> None:
        """Take a further chunk of the column into account."""
        texts = chunk.texts()
        self.rows += len(texts)
        self.missing += texts.null_count
        if len(self.texts) <= MAX_DRAFTED_LEVELS:
            self.texts.update(texts.drop_null().unique().slice(0, MAX_DRAFTED_LEVELS + 1).to_pylist())
        try:
            values = chunk.numbers() if self.numeric else np.empty(0)
        except Refused:
            self.numeric = False
            return
        values = values[~np.isnan(values)]
        if len(values):
            self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))
            self.whole &= bool((values == np.round(values)).all())

    @property
    def constant(self) -> bool:
        return self.low == self.high if self.numeric else len(self.texts) == 1

    @property
    def categorical(self) -> bool:
        return not self.numeric and len(self.texts) <= MAX_DRAFTED_LEVELS


def profile_columns(file: File, names: Sequence[str]) -> dict[str, ColumnProfile]:
    """Read the ranges and levels of columns, in one pass over the rows."""
    profiles = {name: ColumnProfile() for name in names}
    for chunks in file.chunks(names):
        for name, profile in profiles.items():
            profile.add(chunks[name])
    return profiles


def draft_bounds(file: File) -> str:
    """Return the text of a bounds file, to be edited: ranges are rounded outwards, levels are those that occur."""
    profiles = profile_columns(file, file.names)
    delimiter, nulls = file.dialect.delimiter, file.dialect.nulls
    numeric = [name for name, profile in profiles.items() if profile.numeric and profile.low < profile.high]
    lines = [f"target: {_yaml(numeric[-1])}  # a guess: the last numeric column" if numeric else "target:"]
    lines += [f"delimiter: {json.dumps(delimiter)}"] if delimiter != "," else []
    lines += [f"nulls: {_yaml_list(nulls)}"] if nulls else []
    lines += ["columns:", *(f"  {_yaml(name)}: {_draft_column(profile)}" for name, profile in profiles.items())]
    return HEADER + "\n".join(lines) + "\n"


def round_outwards(low: float, high: float) -> tuple[float, float]:
    """Round a range outwards, to half the power of ten below its width."""
    step = 10.0 ** math.floor(math.log10(high - low)) / 2
    step = step if step < 1 or float(step).is_integer() else 1.0
    return math.floor(low / step) * step, math.ceil(high / step) * step


def _draft_column(profile: ColumnProfile) -> str:
    missing = f"  # {profile.missing} of {profile.rows} values are missing" if profile.missing else ""
    if profile.missing == profile.rows:
        return "ignore  # no value at all"
    if profile.constant:
        return "ignore  # the same value in every row"
    if profile.numeric:
        low, high = (f"{bound:.15g}" for bound in round_outwards(profile.low, profile.high))
        return (f"{{low: {low}, high: {high}, kind: integer}}" if profile.whole else f"[{low}, {high}]") + missing
    if profile.categorical:
        return f"{{levels: {_yaml_list(sorted(profile.texts))}}}" + missing
    return f"ignore  # more than {MAX_DRAFTED_LEVELS} different texts"


def _yaml(text: str) -> str:
    return text if re.fullmatch(r"[A-Za-z_][\w-]*", text) else json.dumps(text, ensure_ascii=False)


def _yaml_list(texts: Sequence[str]) -> str:
    return "[" + ", ".join(map(_yaml, texts)) + "]"
