"""Dates and times as numbers: the year, the month, the hour, or the days or seconds since a day. Zones are left as written."""

import re
from bisect import bisect_left
from datetime import date, datetime
from typing import Any

from dpbench.base.errors import Refused

PARTS = ("year", "month", "day", "weekday", "hour")
"""The parts of a date; a week begins with Monday, which is 1."""
SINCE = re.compile(r"(seconds|days) since (\d{4}-\d{2}-\d{2})")

_DAYS = ("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d-%m-%Y", "%d %b %Y", "%b %d, %Y", "%d.%m.%y", "%m/%d/%y", "%d/%m/%y")
FORMATS = (
    "",
    *(f"{day}{time}" for day in _DAYS for time in ("", " %H:%M", " %H:%M:%S", " %I:%M:%S %p")),
    "%H:%M",
    "%H:%M:%S",
    "%Y-%m",
)
"""The formats that `data describe` tries, in this order; the first one is ISO 8601."""


def check_part(part: str, owner: str) -> None:
    """Refuse a part that no date has."""
    match = SINCE.fullmatch(part)
    try:
        if part in PARTS or (match and date.fromisoformat(match[2])):
            return
    except ValueError:
        pass
    raise Refused(
        f"The part of {owner} must be {', '.join(PARTS)}, 'days since YYYY-MM-DD' or 'seconds since YYYY-MM-DD'. Got {part!r}."
    )


def is_date_type(kind: Any) -> bool:
    """Return whether an Arrow type holds dates or times."""
    from pyarrow import types

    return bool(types.is_date(kind) or types.is_timestamp(kind) or types.is_time(kind))


def timestamps(array: Any, date_format: str) -> Any:
    """Return an Arrow array of timestamps, null where a cell is missing or no date of this format."""
    import pyarrow
    from pyarrow import compute, types

    moment = pyarrow.timestamp("us")
    if types.is_time(array.type):
        return array.cast(pyarrow.time64("us"), safe=False).cast(pyarrow.int64()).cast(moment)
    if types.is_timestamp(array.type):
        array = compute.local_timestamp(array) if array.type.tz else array
        return array.cast(moment, safe=False)
    if types.is_date(array.type):
        return array.cast(pyarrow.date32()).cast(moment)
    if date_format:
        moments = compute.strptime(array, format=date_format, unit="us", error_is_null=True)
        if "%d" not in date_format:
            return moments
        # it takes the 31st of February for the 2nd of March
        day = re.sub(r"%[A-Za-z]", ".+", re.escape(date_format).replace("%d", r"(?P<day>\d{1,2})"))
        days = compute.struct_field(compute.extract_regex(array, f"^{day}$"), "day").cast(pyarrow.int64())
        real = compute.fill_null(compute.equal(compute.day(moments), days), False)
        return compute.if_else(real, moments, pyarrow.scalar(None, moments.type))
    iso = compute.replace_substring_regex(array, r"(:\d{2}(\.\d*)?)\s*(Z|[+-]\d{2}(:?\d{2})?)$", r"\1")
    readable = compute.match_substring_regex(iso, r"^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d*)?)?)?$")
    return _cast_where_possible(compute.if_else(readable, iso, pyarrow.scalar(None, iso.type)), moment)


def part_of(moments: Any, part: str) -> Any:
    """Return a part of timestamps as an Arrow array of floats."""
    import pyarrow
    from pyarrow import compute

    if match := SINCE.fullmatch(part):
        start = pyarrow.scalar(datetime.fromisoformat(match[2]), pyarrow.timestamp("us"))
        seconds = compute.divide(compute.subtract(moments, start).cast(pyarrow.int64()).cast(pyarrow.float64()), 1e6)
        return compute.floor(compute.divide(seconds, 86_400.0)) if match[1] == "days" else seconds
    if part == "weekday":
        return compute.day_of_week(moments, count_from_zero=False).cast(pyarrow.float64())
    return getattr(compute, part)(moments).cast(pyarrow.float64())


def _cast_where_possible(texts: Any, kind: Any) -> Any:
    """Cast texts; those that cannot be cast, such as the 30th of February, become null."""
    import pyarrow

    parts = []
    while len(texts):
        try:
            parts.append(texts.cast(kind))
            break
        except pyarrow.ArrowInvalid:
            bad = first_failure(texts, kind)
            parts += [texts[:bad].cast(kind), pyarrow.nulls(1, kind)]
            texts = texts[bad + 1 :]
            if len(parts) > 20:  # a column with more wrong cells holds no dates
                parts.append(pyarrow.nulls(len(texts), kind))
                break
    return pyarrow.concat_arrays(parts) if parts else pyarrow.nulls(0, kind)


def first_failure(texts: Any, kind: Any) -> int:
    """Return the position of the first text that cannot be cast, by bisection."""
    import pyarrow

    def occurs_until(position: int) -> bool:
        try:
            texts[: position + 1].cast(kind)
        except pyarrow.ArrowInvalid:
            return True
        return False

    return bisect_left(range(len(texts)), True, key=occurs_until)
