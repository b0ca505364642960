"""Random streams depend on their names alone: each name's text, type and place."""

from __future__ import annotations

import pytest

from dpbench.base.random_streams import long_stream, stream


@pytest.mark.parametrize("stream", [stream, long_stream])
def test_streams_are_told_apart_by_every_name_its_type_and_its_place(stream) -> None:
    keys = [(), (0,), ("0",), (1,), (0, 1), (1, 0), ("a", "b"), ("ab",), ("a", "b", 0), ("a", 0, "b")]
    firsts = [stream(*key).integers(2**63) for key in keys]
    assert len(set(firsts)) == len(keys)
    assert [stream(*key).integers(2**63) for key in keys] == firsts


def test_a_stream_has_the_numbers_that_recorded_results_rest_on() -> None:
    """Every recorded number depends on these: another generator or key would change them all."""
    assert stream(0, "census", "splits", 3).integers(2**32, size=3).tolist() == [1049711940, 1866821812, 49229490]
    assert long_stream(0, "census", "noise", 3).integers(2**32, size=3).tolist() == [2037653154, 2842422603, 4255282625]
