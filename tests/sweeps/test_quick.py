"""A quick sweep says beforehand what it cannot decide."""

from __future__ import annotations

from dpbench.sweeps.hydra.composition import grid_points
from dpbench.sweeps.plan import plan
from dpbench.sweeps.quick import quick_sentences

COMMAND = ("dataset=wine", "mechanism=fm", "epsilon=1")


def told(*overrides: str) -> str:
    points = grid_points([*COMMAND, *overrides])
    return " ".join(quick_sentences(plan(points), points[0].config))


def test_it_says_how_few_repeats_there_are_and_how_many_a_decision_takes() -> None:
    text = told("quick=true")
    assert text.startswith("quick=true: 2 repeats of each cell instead of 50. ")
    assert "cannot decide which mechanism is better" in text
    assert "takes at least 6 repeats" in text
    assert "minutes" not in text


def test_a_preset_says_how_long_the_whole_figure_takes() -> None:
    assert "takes about 6.5 minutes on two cores and can" in told("experiment=zhang2012/fig6", "quick=true")


def test_other_sweeps_say_nothing() -> None:
    assert told() == ""
