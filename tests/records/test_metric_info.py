"""What is recorded about a metric comes back from plain data."""

from __future__ import annotations

from dataclasses import asdict

from dpbench.records.metric_info import MetricInfo

INFO = MetricInfo("auc", "area under the curve", "How often a member scores higher.", "higher", headline=True)


def test_it_comes_back_from_plain_data() -> None:
    assert MetricInfo(**asdict(INFO)) == INFO


def test_in_a_group_only_the_name_changes() -> None:
    assert INFO.in_group("attack").name == "attack/auc"
    assert {**asdict(INFO.in_group("attack")), "name": "auc"} == asdict(INFO)
