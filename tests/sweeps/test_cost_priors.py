"""Shipped times predict other sizes and other numbers of runs, and say something about what was never measured."""

from __future__ import annotations

import pytest

from dpbench.registry.lookup import registry
from dpbench.sweeps.cost_priors import UNKNOWN_SECONDS, MeasuredSize, Priors, TableSize, read_priors, shipped_priors

SMALL, LARGE = TableSize(1_000, 4), TableSize(100_000, 4)
PRIORS = Priors(
    {
        ("cell", "quick", "linear"): [MeasuredSize(SMALL, 0.1, 0.01), MeasuredSize(LARGE, 10.0, 1.0)],
        ("cell", "slow", "linear"): [MeasuredSize(SMALL, 5.0, 0.5), MeasuredSize(TableSize(1_000, 16), 80.0, 8.0)],
        ("cell", "slow", "logistic"): [MeasuredSize(SMALL, 6.0, 0.6)],
    }
)


def test_a_measured_size_takes_what_was_measured() -> None:
    assert PRIORS.seconds("cell", "quick", "linear", SMALL, 10) == pytest.approx(0.1 + 10 * 0.01)
    assert PRIORS.seconds("cell", "quick", "linear", LARGE, 250) == pytest.approx(10 + 250 * 1.0)


@pytest.mark.parametrize(("rows", "factor"), [(10_000, 10), (1_000_000, 1_000), (100, 0.1)])
def test_between_and_beyond_the_measured_sizes_seconds_follow_their_growth(rows: int, factor: float) -> None:
    seconds = PRIORS.seconds("cell", "quick", "linear", TableSize(rows, 4), 10)
    assert seconds == pytest.approx(factor * PRIORS.seconds("cell", "quick", "linear", SMALL, 10))


def test_columns_count_as_well_as_rows() -> None:
    """Sixteen times as long with four times the columns: four times as long with twice as many."""
    narrow = PRIORS.seconds("cell", "slow", "linear", SMALL, 10)
    assert PRIORS.seconds("cell", "slow", "linear", TableSize(1_000, 8), 10) == pytest.approx(4 * narrow)


def test_a_size_that_was_not_measured_grows_like_the_nearest_one() -> None:
    ragged = [MeasuredSize(SMALL, 1.0, 0), MeasuredSize(TableSize(1_000, 16), 4.0, 0), MeasuredSize(LARGE, 10.0, 0)]
    assert Priors({("cell", "fm", "linear"): ragged}).seconds("cell", "fm", "linear", TableSize(100_000, 16), 1) == pytest.approx(
        40.0
    )


def test_noise_in_the_measurements_makes_no_large_table_quicker() -> None:
    falling = Priors({("cell", "odd", "linear"): [MeasuredSize(SMALL, 0.2, 0), MeasuredSize(LARGE, 0.1, 0)]})
    assert falling.seconds("cell", "odd", "linear", TableSize(10**7, 4), 1) == pytest.approx(0.1)


def test_a_component_without_times_is_taken_for_a_typical_one() -> None:
    """Its own on other models if there are any, else those of others on this model, else all."""
    assert PRIORS.seconds("cell", "quick", "logistic", SMALL, 10) == PRIORS.seconds("cell", "quick", "linear", SMALL, 10)
    assert PRIORS.seconds("cell", "strange", "logistic", SMALL, 10) == PRIORS.seconds("cell", "slow", "logistic", SMALL, 10)
    assert PRIORS.seconds("cell", "strange", "odd", SMALL, 10) == PRIORS.seconds("cell", "slow", "linear", SMALL, 10)
    assert PRIORS.seconds("audit", "strange", "odd", SMALL, 10) == UNKNOWN_SECONDS


def test_a_file_is_read_with_its_comments() -> None:
    lines = [
        "# A comment, with commas\n",
        "what,name,model,rows,columns,seconds,seconds_per_run\n",
        "audit,fm,linear,1000,4,0.5,0\n",
    ]
    assert read_priors(lines).seconds("audit", "fm", "linear", SMALL, 1) == 0.5


@pytest.mark.parametrize("model", ["linear", "logistic", "robust", "lasso"])
def test_what_ships_was_measured_and_takes_longer_on_larger_tables(model: str) -> None:
    """The mechanism reads the rows: one that needs their sums alone takes the same time for any table."""
    priors = shipped_priors()
    assert "dpme" in registry().names("mechanism")
    small, large = (priors.seconds("cell", "dpme", model, TableSize(rows, 10), 250) for rows in (1_000, 1_000_000))
    assert UNKNOWN_SECONDS != small < large
