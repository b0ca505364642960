"""The column of persons: the first rows of each person count, whatever their names, and every row has a person."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.files.person_column import CountedRows


def test_the_first_rows_of_each_person_count_in_the_order_of_the_file() -> None:
    counted = CountedRows.of("a.csv", "who", np.array(["b", "a", "b", "b", "c", "a"], dtype=object), 2)
    assert counted.index.tolist() == [0, 1, 2, 4, 5]
    assert counted.persons.of_row.tolist() == [0, 1, 0, 2, 1]
    assert (counted.persons.count, counted.persons.n, counted.beyond_limit) == (3, 6, 1)
    assert counted.take({"x": np.arange(6.0)})["x"].tolist() == [0, 1, 2, 4, 5]


def test_one_person_s_rows_decide_nothing_about_the_rows_of_others() -> None:
    """Person p's rows become those of q, who has more: the others keep theirs, and their numbers."""
    generator = np.random.default_rng(0)
    names = generator.choice(list("abcdefgp"), 60).astype(object)
    names[0] = "p"
    longer = np.concatenate([names[:1], ["p"] * 9, names[1:]])
    first, second = (CountedRows.of("a.csv", "who", rows, 3) for rows in (names, longer))
    others = [index for index in first.index if names[index] != "p"]
    assert [index - 9 for index in second.index if longer[index] != "p"] == others
    for counted, rows in ((first, names), (second, longer)):
        numbers = dict(zip(rows[counted.index], counted.persons.of_row, strict=True))
        assert numbers == {name: number for number, name in enumerate(dict.fromkeys(names))}


def test_a_row_without_a_person_is_refused_without_a_value() -> None:
    with pytest.raises(Refused) as refusal:
        CountedRows.of("a.csv", "who", np.array(["Zq7Secret", None], dtype=object), 2)
    assert str(refusal.value) == "The column 'who' of a.csv must name each row's person. Row 2 is empty."
