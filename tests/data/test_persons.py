"""Persons: which rows of a table belong to the same person, and how many of them count."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.data.persons import Persons, first_rows, number_persons
from dpbench.data.table import Column, Table


def test_persons_are_numbered_in_the_order_of_their_first_rows() -> None:
    assert number_persons(np.array(["z", "a", "z", "m", "a"])).tolist() == [0, 1, 0, 2, 1]
    assert number_persons(np.array(["a"])).tolist() == [0]


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_the_first_rows_of_each_person_are_those_that_come_first_in_the_table(limit) -> None:
    of_row = np.random.default_rng(0).integers(0, 40, 200)
    chosen = first_rows(of_row, limit)
    for person in range(40):
        rows = np.flatnonzero(of_row == person)
        np.testing.assert_array_equal(chosen[rows], np.arange(len(rows)) < limit)


def test_each_person_counts_as_the_most_rows_that_a_person_has() -> None:
    persons = Persons(np.array([0, 0, 2]), count=3, rows_each=2)
    assert persons.n == 6
    assert persons.take(np.array([2])).n == 6  # persons without a row still count


@pytest.mark.parametrize(("of_row", "count", "rows_each"), [([0, 3], 3, 1), ([0, -1], 3, 1), ([0, 1], 2, 0), ([0, 0, 1], 2, 1)])
def test_numbers_that_belong_to_no_person_and_too_many_rows_are_errors(of_row, count, rows_each) -> None:
    with pytest.raises(ValueError, match=r"[Pp]erson"):
        Persons(np.array(of_row), count, rows_each)


def test_one_person_alone_is_refused() -> None:
    with pytest.raises(Refused, match="at least 2 persons"):
        Persons(np.array([0, 0]), 1, 2)


def test_a_table_with_persons_counts_persons_and_samples_them_with_all_their_rows() -> None:
    persons = Persons(np.array([0, 1, 0, 2, 1]), count=4, rows_each=3)
    values = np.arange(5.0)
    table = Table((Column("x", 0, 9),), Column("y", 0, 9), values[:, None], values, persons=persons)
    assert (table.rows, table.units, table.n) == (5, 4, 12)
    some = table.take_units(np.array([3, 1]))
    assert some.response.tolist() == [1.0, 4.0]
    assert some.persons is not None
    assert (some.persons.of_row.tolist(), some.units, some.n) == ([0, 0], 2, 6)
    with pytest.raises(Refused, match="the person of each of its 5 rows"):
        Table((Column("x", 0, 9),), Column("y", 0, 9), values[:, None], values, persons=persons.take(np.arange(4)))


def test_rows_that_are_left_out_leak_nothing_where_persons_are_counted() -> None:
    values, persons = np.arange(3.0), Persons(np.array([0, 0, 1]), 2, 2)
    table = Table((Column("x", 0, 9),), Column("y", 0, 9), values[:, None], values, persons=persons, dropped=4)
    assert table.leaks == ()
