"""The figure of mean ranks says over what they are, and which differences are significant."""

from __future__ import annotations

from report_helpers import SYNTHETIC, drawn, grid, words


def test_ranks_need_several_datasets() -> None:
    assert "ranks" not in drawn(grid("fm", "dpba"))
    caption = drawn([*grid("fm", "dpba"), *grid("fm", "dpba", params={"dataset": "other"})])["ranks"].caption
    assert "over wine and other" in caption
    assert "too few datasets" in caption


def test_ranks_say_in_the_picture_which_datasets_are_synthetic_and_that_there_is_no_critical_difference() -> None:
    rows = [*grid("fm", "dpba"), *grid("fm", "dpba", params={"dataset": "made"}, tags=SYNTHETIC)]
    said = words(drawn(rows)["ranks"].figure)
    assert "SYNTHETIC data: made." in said
    assert "No critical difference: too few datasets for one." in said
