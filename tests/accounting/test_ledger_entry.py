"""A line of the ledger is recorded in one order, and covers the scales of all runs."""

from dpbench.accounting.costs import Nothing
from dpbench.accounting.ledger_entry import LedgerEntry
from dpbench.privacy.noise import laplace


def test_an_entry_is_recorded_with_the_query_then_its_noise_then_its_price() -> None:
    assert list(laplace(3.0, 0.5, "why").ledger_entry("q").as_dict().items()) == [
        ("query", "q"),
        ("norm", "L1"),
        ("sensitivity", 3.0),
        ("bound", 0.5),
        ("noise", "laplace"),
        ("scale", 6.0),
        ("cost", {"kind": "pure", "epsilon": 0.5}),
        ("sound", True),
        ("proof", "why"),
    ]


def test_entries_of_one_call_are_merged_into_the_range_of_their_scales() -> None:
    small, large = (laplace(scale, 1.0, "p").ledger_entry("q") for scale in (1.0, 4.0))
    assert small.merged(small) is small
    for merged in (small.merged(large), large.merged(small)):
        assert merged.as_dict()["scale"] == {"smallest": 1.0, "largest": 4.0}
        assert merged.sensitivity is None
    unknown = LedgerEntry("q", Nothing(), False, "none")
    assert unknown.merged(large) == unknown
    assert unknown.as_dict()["scale"] is None
