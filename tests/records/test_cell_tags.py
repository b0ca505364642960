"""A cell's tags say what its provenance and its standing are, and nothing in favour of a failed cell."""

from __future__ import annotations

from dataclasses import replace

from dpbench.records.cell_record import CellRecord
from dpbench.records.cell_tags import Provenance, Standing, cell_tags
from dpbench.records.leaks import Leak

DRAWN = Provenance(synthetic=True, rows_dropped=0, plugin_version="mine 1", numpy="2", cpu="x86")


def test_a_failed_cell_claims_nothing() -> None:
    record = CellRecord("failed", {}, cell_tags(DRAWN, Standing("simulation")))
    assert (record.sound, record.private, record.ranked) == (False, False, False)
    assert "dpbench.private" not in record.tags


def test_a_record_reads_its_tags_back() -> None:
    record = CellRecord("run", {}, cell_tags(DRAWN, Standing("simulation", proven=True, private=True, audit_passed=True)))
    assert all((record.sound, record.private, record.synthetic, record.simulated, record.ranked))
    assert record.guarantee == "sound"


def test_a_failed_audit_makes_a_cell_unsound_and_says_why() -> None:
    standing = Standing("secure", proven=True, private=True, audit_passed=False, why="It moved.")
    record = CellRecord("run", {}, cell_tags(DRAWN, standing))
    assert not record.sound
    assert (record.tags["dpbench.guarantee"], record.guarantee, record.guarantee_why) == ("refuted", "REFUTED", "It moved.")


def test_what_was_replayed_at_another_size_says_so() -> None:
    standing = Standing("simulation", proven=True, private=True, audit_passed=True)
    assert "dpbench.replayed_n" not in cell_tags(DRAWN, standing)
    assert cell_tags(DRAWN, replace(standing, replayed_n=20_000))["dpbench.replayed_n"] == "20000"


def test_a_leak_is_named_and_never_ranked() -> None:
    leaks = (Leak("cv", "chosen; on the rows"), Leak("bounds", "read"))
    record = CellRecord("run", {}, cell_tags(DRAWN, Standing("simulation", proven=True, private=True, leaks=leaks)))
    assert record.tags["dpbench.leaks"] == "cv,bounds"
    assert record.tags["dpbench.leaks_why"] == "cv: chosen; on the rows; bounds: read"
    assert record.guarantee == "LEAKS cv, bounds"
    assert not record.ranked


def test_the_unit_of_the_target_and_its_transform_are_recorded_where_they_are_declared() -> None:
    tags = cell_tags(replace(DRAWN, target_unit="USD", target_transform="log"), Standing("simulation"))
    record = CellRecord("failed", {}, tags)
    assert (record.target_unit, record.target_transform) == ("USD", "log")
    assert not {"dpbench.target_unit", "dpbench.target_transform"} & set(cell_tags(DRAWN, Standing("simulation")))


def test_the_rule_of_the_bounds_is_recorded_and_empty_where_none_changes_them() -> None:
    for rule in ("tight", "published", "fang", ""):
        tags = cell_tags(replace(DRAWN, sensitivity=rule), Standing("simulation"))
        assert tags["dpbench.sensitivity"] == CellRecord("failed", {}, tags).sensitivity == rule
