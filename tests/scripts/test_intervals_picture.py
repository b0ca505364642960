"""The picture of forty releases: it is drawn from what the intervals are."""

from __future__ import annotations

from script_loader import load_script

from dpbench.report.figures import style


def test_the_picture_counts_what_it_draws() -> None:
    script = load_script("intervals_picture")
    script.TABLES = 3
    with style.styled():
        figure = script.drawn([script.release(number) for number in range(3)])
    titles = [panel.get_title() for panel in figure.axes]
    assert all("of 3 cover the true slope" in title for title in titles)
    assert [len(panel.get_lines()) for panel in figure.axes] == [7, 7], (
        "an interval and an estimate for each release, and the truth"
    )
