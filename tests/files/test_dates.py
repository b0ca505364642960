"""Dates become numbers by their declared part, the same from texts and from typed columns."""

from __future__ import annotations

from datetime import date, datetime, time
from typing import Any

import pyarrow
import pytest

from dpbench.base.errors import Refused
from dpbench.files.dates import check_part, first_failure, is_date_type, part_of, timestamps


def parts(values: list[Any], part: str, date_format: str = "", kind: Any = None) -> list[Any]:
    return list(part_of(timestamps(pyarrow.array(values, kind), date_format), part).to_pylist())


@pytest.mark.parametrize(
    ("values", "date_format"),
    [
        (["2024-02-29 13:45:00", None], ""),
        (["2024-02-29T13:45:00.000Z", None], ""),
        (["2024-02-29T13:45:00+02:00", None], ""),
        (["29.02.2024 13:45", None], "%d.%m.%Y %H:%M"),
        (["02/29/2024 01:45:00 PM", None], "%m/%d/%Y %I:%M:%S %p"),
        ([datetime(2024, 2, 29, 13, 45), None], ""),
    ],
)
def test_the_parts_of_a_date_do_not_depend_on_how_it_is_written(values: list[Any], date_format: str) -> None:
    for part, number in (("year", 2024), ("month", 2), ("day", 29), ("weekday", 4), ("hour", 13), ("days since 2024-02-28", 1)):
        assert parts(values, part, date_format) == [number, None]
    assert parts(values, "seconds since 2024-02-29", date_format) == [13 * 3600 + 45 * 60, None]


def test_days_and_times_alone_have_parts_too() -> None:
    assert parts([date(1969, 12, 31)], "days since 1970-01-01") == [-1]
    assert parts([time(23, 50)], "hour") == [23]
    assert parts(["23:50"], "hour", "%H:%M") == [23]
    zone = pyarrow.timestamp("s", "Asia/Tokyo")
    assert parts([datetime(2024, 1, 1, 23)], "hour", kind=zone) == [8], "the hour on the clock there"


def test_what_is_no_date_is_null_and_the_others_stay() -> None:
    values = ["2024-02-30", "x", "2024-02-29", "20240229", "2024-02-29 25:00"]
    assert parts(values, "day") == [None, None, 29, None, None]
    assert parts(["31.02.2024", "13.12.2024", "x"], "month", "%d.%m.%Y") == [None, 12, None]
    assert parts(["2024-02-30"] * 60 + ["2024-02-29"], "day")[:60] == [None] * 60


def test_the_first_failure_of_a_cast_is_found() -> None:
    assert first_failure(pyarrow.array(["1", "2", "x", "y"]), pyarrow.int64()) == 2


@pytest.mark.parametrize("part", ["yaer", "seconds since", "days since 2024-02-30", "", "weeks since 2024-01-01"])
def test_a_part_that_no_date_has_is_refused(part: str) -> None:
    with pytest.raises(Refused, match="The part of x must be year, month, day, weekday, hour"):
        check_part(part, "x")


def test_types_of_dates_are_known() -> None:
    assert is_date_type(pyarrow.date32())
    assert is_date_type(pyarrow.time64("us"))
    assert not is_date_type(pyarrow.int64())
