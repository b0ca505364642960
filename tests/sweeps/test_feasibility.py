"""What a machine cannot hold is refused before it is loaded, with the memory and the time that it would take."""

from __future__ import annotations

from typing import Any

import pytest

from dpbench.base.errors import Refused
from dpbench.base.memory import machine_memory
from dpbench.data.splits import Splits
from dpbench.sweeps.feasibility import check_memory, spell_seconds


def test_a_table_that_does_not_fit_is_refused_without_loading_it(make: Any) -> None:
    table = make("dataset", "gaussian", n=10**12, d=2)
    with pytest.raises(
        Refused, match="A table of 1,000,000,000,000 rows and 2 features would take 72,000 GB of memory and 17 days"
    ):
        check_memory(table, Splits(), 10**10)


def test_runs_that_do_not_fit_are_refused(make: Any) -> None:
    with pytest.raises(Refused, match=r"5,000,000,000 runs \(splits.repeats=1000000000\) would take 10,000 GB of memory"):
        check_memory(make("dataset", "wine"), Splits(repeats=10**9), 10**10)


def test_columns_whose_products_do_not_fit_are_refused(make: Any) -> None:
    with pytest.raises(
        Refused, match=r"products of 100,000 columns, for the 5 parts of one repeat, would take 3,200 GB of memory\."
    ):
        check_memory(make("dataset", "gaussian", n=1000, d=100_000), Splits(), 10**11)
    check_memory(make("dataset", "gaussian", n=1000, d=1_000), Splits(), 10**10)


def test_what_fits_passes(make: Any) -> None:
    check_memory(make("dataset", "gaussian"), Splits())
    assert machine_memory() > 10**8


@pytest.mark.parametrize(("seconds", "words"), [(3, "3 seconds"), (7_200, "2 hours"), (200_000, "2 days"), (10**9, "32 years")])
def test_a_duration_is_spelled_in_its_largest_unit(seconds: float, words: str) -> None:
    assert spell_seconds(seconds) == words
