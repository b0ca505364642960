"""What a fit takes is measured for mechanisms, and nothing else is."""

from __future__ import annotations

from dpbench.testing.cost import cost_of
from dpbench.testing.kinds import case_of


def test_a_fit_takes_time_and_memory(plain) -> None:
    cost = cost_of("mechanism", case_of(plain))
    assert [name.rpartition(" ")[2] for name in cost] == ["seconds", "bytes"]
    assert all(value > 0 for value in cost.values())


def test_other_kinds_are_not_measured(make) -> None:
    assert cost_of("model", case_of(make("model", "linear"))) == {}
