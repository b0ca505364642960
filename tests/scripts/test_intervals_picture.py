"""The picture of forty releases: it is drawn from what the intervals are."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from dpbench.report.figures import style

PATH = Path(__file__).parents[2] / "scripts" / "intervals_picture.py"


def test_the_picture_counts_what_it_draws() -> None:
    spec = importlib.util.spec_from_file_location("intervals_picture", PATH)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = script
    spec.loader.exec_module(script)
    script.TABLES = 3
    with style.styled():
        figure = script.drawn([script.release(number) for number in range(3)])
    titles = [panel.get_title() for panel in figure.axes]
    assert all("of 3 cover the true slope" in title for title in titles)
    assert [len(panel.get_lines()) for panel in figure.axes] == [7, 7], (
        "an interval and an estimate for each release, and the truth"
    )
