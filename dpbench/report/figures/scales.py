"""The scales of axes: linear or logarithmic, how far they reach, which of their values are named."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullLocator

from dpbench.report.figures.style import CHARACTER, LEFT, RIGHT, inches

SPREAD = 20
"""From this ratio of the largest to the smallest number on, a linear axis shows the largest alone."""
NAMED = 16
"""Up to so many values of x are named on the axis, as far as their names fit."""


def scale(
    axes: Axes,
    which: Literal["x", "y"],
    values: Iterable[float],
    *,
    ends: Iterable[float] = (),
    levels: Iterable[float] = (),
    signed: bool = False,
    log: bool = False,
    whole: bool = False,
) -> int:
    """A logarithmic scale where it is asked for or where a linear one would show the outliers alone.

    All values and levels are seen. The ends of bands at most double what the values need: with few repeats they lie anywhere.
    Where they are to be seen ``whole`` a logarithmic scale makes room for them. Where all values are positive nothing below zero
    is shown, unless they are ``signed``. Answers how many ends lie beyond the axis.
    """
    known = [end for end in ends if math.isfinite(end)]
    _fit(axes, which, values, known, levels, signed=signed, log=log)
    cut = _beyond(axes, which, known)
    if cut and whole:
        _fit(axes, which, [*values, *known], (), levels, signed=signed, log=True)
        cut = _beyond(axes, which, known)
    if which == "x" and axes.get_xscale() == "linear":
        low, high = axes.get_xlim()
        ticks(axes, which, [float(value) for value in MaxNLocator(5).tick_values(low, high) if low <= value <= high])
    return cut


def _fit(
    axes: Axes,
    which: Literal["x", "y"],
    values: Iterable[float],
    ends: Iterable[float],
    levels: Iterable[float],
    *,
    signed: bool,
    log: bool,
) -> None:
    finite = sorted(value for value in values if math.isfinite(value))
    if not finite:
        return
    positive = finite[0] > 0
    low, high = finite[0], finite[-1]
    typical = sorted(map(abs, finite))[len(finite) // 2]
    set_scale = axes.set_xscale if which == "x" else axes.set_yscale
    if positive and (log or high / low > SPREAD):
        set_scale("log")
    elif low <= 0 < typical and typical * (1 if log else SPREAD) < max(-low, high):
        set_scale("symlog", linthresh=typical)
    axis, set_limits = (axes.xaxis, axes.set_xlim) if which == "x" else (axes.yaxis, axes.set_ylim)
    there = axis.get_transform()
    logarithmic = axis.get_scale() == "log"
    seen = [*finite, *(level for level in levels if level > 0 or not logarithmic)]
    floor = -math.inf if not positive or (signed and not logarithmic) else 0.0
    bands = [end for end in ends if end > floor]
    low, high = (float(place) for place in there.transform([min(seen), max(seen)]))
    if low < high:
        around = [float(place) for place in there.transform(bands)] if bands else []
        bottom, top = max(min([low, *around]), 2 * low - high), min(max([high, *around]), 2 * high - low)
        margin = 0.05 * (top - bottom)
        limits = there.inverted().transform([bottom - margin, top + margin])
        set_limits(float(limits[0]), float(limits[1]))
    if logarithmic:
        ticks(axes, which, _decimal(*(axes.get_xlim() if which == "x" else axes.get_ylim())))


def _beyond(axes: Axes, which: Literal["x", "y"], ends: Sequence[float]) -> int:
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    return sum(not low <= end <= high for end in ends)


def _decimal(low: float, high: float) -> list[float]:
    """Round numbers for a logarithmic axis, at most about seven."""
    if high / low < 5:
        found = [float(value) for value in MaxNLocator(5).tick_values(low, high)]
    else:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        step = -(-(last - first) // 7)
        parts = (1, 2, 5) if high / low < 100 else (1,)
        found = [part * 10.0**power for power in range(first, last + 1, step) for part in parts]
    return [value for value in found if low <= value <= high]


def ticks(axes: Axes, which: Literal["x", "y"], values: Sequence[float], labels: Sequence[str] | None = None) -> None:
    """Name these values of an axis; on the horizontal one only those whose names neither touch nor leave the figure."""
    names = labels or [f"{value:g}" for value in values]
    kept = list(range(len(values)))
    if which == "x" and values:
        width = inches(axes)[0] - LEFT - RIGHT
        places = [width * inside(axes, value, None)[0] for value in values]
        ends = [place + len(name) / 2 * CHARACTER for place, name in zip(places, names, strict=True)]
        fitting = [index for index in kept if ends[index] <= width + RIGHT] or kept
        kept = fitting[:1]
        for index in fitting[1:]:
            needed = (len(names[index]) + len(names[kept[-1]])) / 2 * CHARACTER + 0.05
            kept += [index] if places[index] - places[kept[-1]] > needed else []
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_ticks([values[index] for index in kept], labels=[names[index] for index in kept])
    axis.set_minor_locator(NullLocator())


def inside(axes: Axes, x: float, y: float | None) -> tuple[float, float]:
    """Where a point stands on its axes, from (0, 0) to (1, 1)."""
    at = (x, axes.get_ylim()[0] if y is None else y)
    across, up = axes.transLimits.transform(axes.transScale.transform(at))
    return float(across), float(up)
