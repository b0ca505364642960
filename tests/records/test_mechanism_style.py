"""A mechanism has one colour and one mark, and readers can tell the built-in mechanisms apart by both together."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dpbench.records.mechanism_style import COLOURS, MARKS, mechanism_style, pick
from dpbench.registry.lookup import registry

DICHROMACY = {
    "none": np.eye(3),
    # Machado, Oliveira and Fernandes 2009, Table 1, severity 1.0
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}


def test_no_two_mechanisms_of_dpbench_share_both_colour_and_mark() -> None:
    known = registry()
    names = [name for name in known.names("mechanism") if "plugins.mechanisms." in known.get("mechanism", name).__module__]
    assert len(names) >= 10
    assert len({mechanism_style(name) for name in names}) == len(names)


def lab(colour: str, seen: np.ndarray) -> np.ndarray:
    """CIELAB of an sRGB colour, as a reader sees it."""
    srgb = np.array([int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)])
    linear = np.clip(seen @ np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4), 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ linear / np.array([0.9505, 1, 1.089])
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("vision", DICHROMACY)
def test_no_two_colours_look_alike_to_a_colour_blind_reader_and_none_is_lost_on_paper(vision: str) -> None:
    """A difference of 2 is just noticeable next to each other; 15 is seen across a figure."""
    seen = {colour: lab(colour, np.array(DICHROMACY[vision])) for colour in COLOURS}
    assert min(float(np.linalg.norm(seen[one] - seen[other])) for one, other in combinations(COLOURS, 2)) > 15
    assert max(values[0] for values in seen.values()) < 85, "white has 100"


def test_a_choice_depends_on_the_name_alone_and_every_choice_occurs() -> None:
    assert pick("fm", COLOURS, "salt") == pick("fm", COLOURS, "salt")
    names = [f"m{number}" for number in range(500)]
    assert {mechanism_style(name).colour for name in names} == set(COLOURS)
    assert {mechanism_style(name).mark for name in names} == set(MARKS)
