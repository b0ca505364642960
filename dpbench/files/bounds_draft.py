"""Drafts of bounds files: the ranges and levels that occur in a table, for the user to replace by public knowledge."""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from dpbench.base.errors import Refused, check_known
from dpbench.files.bounds_file import UNKNOWN_LEVEL
from dpbench.files.column_profiles import MAX_DRAFTED_LEVELS, ColumnProfile, likely_styles, profile_columns
from dpbench.files.dialects import USUAL_DIALECT, Dialect
from dpbench.files.number_texts import PLAIN
from dpbench.files.table_files import File

HEADER = """\
# THE NUMBERS AND LEVELS BELOW WERE READ FROM THE DATA, which no privacy budget pays for.
# Replace each by what is known without looking at the rows: an age lies in [0, 100], for example.
# Values outside the bounds are clipped to them. `ignore` leaves a column out.
from_data: true  # delete this line once every number and level below comes from elsewhere
"""

TARGET_NAME = re.compile(
    r"(.*[ _])?(target|label|y|outcome|response|income|salary|wages?|pay|earnings|price|charges?|cost|score|quality)([ _].*)?",
    re.I,
)
KEY_NAME = re.compile(
    r"(.*[ _])?(id|key|index|row|number|no|nr|serial|uuid|unnamed.*)([ _:].*)?|column_1|.*[a-z](ID|Id|Key)", re.I
)

OWNER_NAME = re.compile(
    r"(?i:(.*[ _])?(id|uuid|key)|(person|patient|subject|customer|user|respondent|student)([ _]?(nr|no|number))?)"
    r"|.*[a-z](ID|Id|Key)"
)
"""The name of a column that may say whose rows these are, although several rows have the same value."""
WHOSE_ROWS = "if it says whose rows these are, dataset.person and dataset.rows_per_person protect persons instead of rows"


def draft_bounds(open_file: Callable[[Dialect], File], dialect: Dialect, target: str = "", any_style: bool = True) -> str:
    """Return the text of a bounds file, to be edited: ranges are rounded outwards, levels are those that occur.

    ``any_style`` lets the draft choose how numbers in texts are written; otherwise the dialect says it.
    """
    file = open_file(dialect)
    profiles = profile_columns(file, file.names)
    styles = likely_styles(profiles.values(), dialect.delimiter) if any_style else []
    for style in styles if PLAIN not in styles else []:
        styled = open_file(replace(dialect, decimal=style.decimal, thousands=style.thousands))
        others = profile_columns(styled, file.names)
        if _numeric_columns(others) > _numeric_columns(profiles):
            file, profiles = styled, others
    drafts = {name: _draft_column(name, profile, name == target) for name, profile in profiles.items()}
    if target and drafts.get(target, "ignore").startswith("ignore"):
        check_known(f"column of {file.label}", [target], file.names)
        raise Refused(f"The target {target!r} of {file.label} must hold numbers or two levels. Got a column that is ignored.")
    lines = [*_target_lines(profiles, drafts, target), *_dialect_lines(file.dialect), "columns:"]
    lines += [f"  {_yaml(name)}: {draft}" for name, draft in drafts.items()]
    return HEADER + "\n".join(lines) + "\n"


def round_outwards(low: float, high: float) -> tuple[float, float]:
    """Round a range outwards, to half the power of ten below its width."""
    step = 10.0 ** math.floor(math.log10(high - low)) / 2
    step = step if step < 1 or float(step).is_integer() else 1.0
    return math.floor(low / step) * step, math.ceil(high / step) * step


def _numeric_columns(profiles: Mapping[str, ColumnProfile]) -> int:
    return sum(profile.kind == "numbers" for profile in profiles.values())


def _target_lines(profiles: Mapping[str, ColumnProfile], drafts: Mapping[str, str], target: str) -> list[str]:
    """Return the target, guessed by its name or its place, and the threshold of a target with two numbers."""
    guess = ""
    if not target:
        usable = [name for name, draft in drafts.items() if not draft.startswith("ignore")]
        numeric = [name for name in usable if profiles[name].kind == "numbers"]
        several = [name for name in numeric if len(profiles[name].extremes) > 2]
        two = [name for name in usable if 2 in (len(profiles[name].levels), len(profiles[name].extremes))]
        guesses = {  # the best first
            "by its name": [name for name in usable if TARGET_NAME.fullmatch(name) and (name in numeric or name in two)],
            "the last column, which has two values": [name for name in usable[-1:] if name in two],
            "the last numeric column": several or numeric,
        }
        how, target = next(((how, names[-1]) for how, names in guesses.items() if names), ("", ""))
        guess = f"  # a guess: {how}; --target names another"
    if not target:
        return ["target:"]
    profile = profiles[target]
    lines = [f"target: {_yaml(target)}{guess}"]
    if profile.kind == "numbers" and len(profile.extremes) == 2:
        middle = f"{sum(profile.extremes) / 2:.15g}"
        lines.append(f"threshold: {middle}  # a binary model asks which of the two numbers it is")
    return lines


def _dialect_lines(dialect: Dialect) -> list[str]:
    """Return the settings that differ from the usual ones, so that a run reads the file as this draft did."""
    lines = []
    for name, text in (("delimiter", dialect.delimiter), ("encoding", dialect.encoding), ("decimal", dialect.decimal)):
        lines += [f"{name}: {json.dumps(text, ensure_ascii=False)}"] if text != getattr(USUAL_DIALECT, name) else []
    lines += [f"thousands: {json.dumps(dialect.thousands)}"] if dialect.thousands else []
    lines += (
        [] if dialect.header else ["header: false  # the first row looks like a row; --header says that it names the columns"]
    )
    return lines + ([f"nulls: {_yaml_list(dialect.nulls)}"] if dialect.nulls else [])


def _draft_column(name: str, profile: ColumnProfile, is_target: bool) -> str:
    missing = f"{profile.missing} of {profile.rows} values are missing" if profile.missing else ""
    if profile.kind == "lists":
        return "ignore  # holds lists or the like, which are no single values"
    if profile.kind == "empty":
        return "ignore  # no value at all"
    if profile.constant:
        return "ignore  # the same value in every row"
    if profile.row_number and not is_target:
        return "ignore  # numbers the rows"
    if profile.key and not is_target and KEY_NAME.fullmatch(name):
        return "ignore  # looks like a key: another whole number in every row"
    if OWNER_NAME.fullmatch(name) and not is_target:
        return f"ignore  # {WHOSE_ROWS}"
    if profile.kind == "numbers":
        return _draft_numbers(profile, missing)
    if profile.kind == "dates":
        return _draft_dates(profile, missing)
    if profile.categorical:
        hint = f"a level {UNKNOWN_LEVEL}, with dataset.missing=level, counts them" if missing else ""
        return f"{{levels: {_yaml_list(profile.levels)}}}" + _comment(missing, hint)
    if profile.looks_like:
        nulls = " ".join(f"--null {json.dumps(cell, ensure_ascii=False)}" for cell in sorted(profile.others))
        what = profile.looks_like.upper()
        return f"ignore  # MOST CELLS ARE {what}: if the others mean a missing value, describe it again with {nulls}"
    return f"ignore  # more than {MAX_DRAFTED_LEVELS} different texts; {WHOSE_ROWS}"


def _draft_numbers(profile: ColumnProfile, missing: str) -> str:
    low, high = (f"{bound:.15g}" for bound in round_outwards(profile.low, profile.high))
    sign = next(iter(profile.signs), "")
    codes = profile.codes()
    hint = f"{', '.join(codes)} may mean a missing value: nulls: [{', '.join(codes)}] says so" if codes else ""
    if not (profile.whole or sign):
        return f"[{low}, {high}]" + _comment(missing, hint)
    kind = ", kind: integer" if profile.whole else ""
    return f"{{low: {low}, high: {high}{kind}{f', unit: {json.dumps(sign, ensure_ascii=False)}' if sign else ''}}}" + _comment(
        missing, hint
    )


def _draft_dates(profile: ColumnProfile, missing: str) -> str:
    part = profile.date_part
    low, high = profile.date_range(part)
    if low == high:
        return "ignore  # the same date in every row"
    if part.startswith("seconds"):
        low, high = round_outwards(low, high)
    written = f", format: {json.dumps(profile.date_format, ensure_ascii=False)}" if profile.date_format else ""
    hint = "or month, day, weekday, hour, days since 2000-01-01, seconds since 2000-01-01"
    likely = [form for form in profile.date_formats if form != profile.date_format]
    doubt = f"or is it format: {json.dumps(likely[0])}?" if likely else ""
    return f"{{part: {part}{written}, low: {low:.15g}, high: {high:.15g}, kind: integer}}" + _comment(missing, doubt, hint)


def _comment(*hints: str) -> str:
    return "  # " + "; ".join(filter(None, hints)) if any(hints) else ""


def _yaml(text: str) -> str:
    return text if re.fullmatch(r"[A-Za-z_][\w-]*", text) else json.dumps(text, ensure_ascii=False)


def _yaml_list(texts: Sequence[str]) -> str:
    return "[" + ", ".join(map(_yaml, texts)) + "]"
