"""Stand-ins: rows that depend on the generator and the aggregates alone."""

from __future__ import annotations

import numpy as np
import pytest

from dpbench.base.random_streams import stream
from dpbench.plugins.datasets._standin import CHUNK_ROWS, INDICATORS, stand_in

NAMES = ["us", "us_heads", "brazil"]


@pytest.mark.parametrize("name", NAMES)
def test_a_shorter_table_is_the_beginning_of_a_longer_one(name: str) -> None:
    """Across the end of a chunk."""
    short, long = (stand_in(name).draw(rows, stream(0)) for rows in (CHUNK_ROWS + 5, CHUNK_ROWS + 500))
    np.testing.assert_array_equal(short.features, long.features[: CHUNK_ROWS + 5])
    np.testing.assert_array_equal(short.response, long.response[: CHUNK_ROWS + 5])


@pytest.mark.parametrize("name", NAMES)
def test_values_are_of_the_declared_kind(name: str) -> None:
    source = stand_in(name)
    table = source.draw(4_000, stream(1))
    kinds = {column.kind for column in source.columns}
    assert "binary" in kinds
    for column, values in zip(source.columns, table.features.T, strict=True):
        if column.kind == "binary":
            assert set(np.unique(values)) <= {0, 1}, column.name
        elif column.kind != "continuous":
            np.testing.assert_array_equal(values, np.round(values), err_msg=column.name)


def test_the_indicators_of_one_latent_column_exclude_each_other() -> None:
    table = stand_in("us").draw(4_000, stream(2))
    names = [column.name for column in table.columns]
    both = sum(table.features[:, names.index(name)] for name in INDICATORS)
    assert both.max() == 1


def test_stand_ins_have_different_digests() -> None:
    assert len({stand_in(name).digest for name in NAMES}) == 3
