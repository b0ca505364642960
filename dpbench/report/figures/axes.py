"""The axes of a panel: scales that several panels can share, ticks that fit, and where a point is."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullLocator

MAX_LINEAR_RATIO = 20
"""An axis is logarithmic if the ratio of its largest to its smallest number exceeds this."""
MAX_NAMED_VALUES = 16
"""With more values of x than this, the axis has round numbers instead of the values."""
OVERHANG = 0.14
"""Inches by which the last tick's label may leave the axes."""

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
Which = Literal["x", "y"]


def character_width() -> float:
    """Return the approximate width in inches of a character at the size of ticks and legends."""
    return 0.066 * float(rcParams["font.size"]) / 8


def inches(axes: Axes) -> tuple[float, float]:
    """Return the width and the height of the axes themselves."""
    figure: Any = axes.figure
    place, (width, height) = axes.get_position(original=True), figure.get_size_inches()
    return place.width * width, place.height * height


def scale(
    axes: Axes,
    which: Which,
    values: Sequence[float],
    *,
    ends: Iterable[float] = (),
    levels: Sequence[float] = (),
    signed: bool = False,
    log: bool = False,
    whole: bool = False,
) -> int:
    """Set a logarithmic scale if asked for, or if a linear one would show the outliers alone; return how many ends are cut.

    All values and levels are visible. The ends of bands may at most double what the values need, because with few repeats they
    lie anywhere; with ``whole``, a logarithmic scale makes room for them. If all values are positive, nothing below zero is
    shown, unless they are ``signed``.
    """
    finite_ends = [end for end in ends if math.isfinite(end)]
    _set_limits(axes, which, values, finite_ends, levels, signed=signed, log=log)
    if whole and _outside(axes, which, finite_ends):
        _set_limits(axes, which, [*values, *finite_ends], (), levels, signed=signed, log=True)
    if which == "x" and axes.get_xscale() == "linear":
        low, high = axes.get_xlim()
        ticks(axes, which, [float(value) for value in MaxNLocator(5).tick_values(low, high) if low <= value <= high])
    return _outside(axes, which, finite_ends)


def _set_limits(
    axes: Axes, which: Which, values: Iterable[float], ends: Sequence[float], levels: Sequence[float], *, signed: bool, log: bool
) -> None:
    finite = sorted(value for value in values if math.isfinite(value))
    if not finite:
        return
    low, high, typical = finite[0], finite[-1], sorted(map(abs, finite))[len(finite) // 2]
    positive = low > 0
    # autoscaling would warn of a logarithmic axis on a panel without positive values
    axes.autoscale(enable=False, axis=which)
    axis, set_scale = (axes.xaxis, axes.set_xscale) if which == "x" else (axes.yaxis, axes.set_yscale)
    if positive and (log or high / low > MAX_LINEAR_RATIO):
        set_scale("log")
    elif low <= 0 < typical and typical * (1 if log else MAX_LINEAR_RATIO) < max(-low, high):
        set_scale("symlog", linthresh=typical)
    logarithmic, transform = axis.get_scale() == "log", axis.get_transform()
    visible = [*finite, *(level for level in levels if level > 0 or not logarithmic)]
    floor = -math.inf if not positive or (signed and not logarithmic) else 0.0
    low, high = (float(place) for place in transform.transform([min(visible), max(visible)]))
    bands = [float(place) for place in transform.transform([end for end in ends if end > floor] or [min(visible)])]
    if low == high:  # a single value: its band sets the scale, or a range around it
        low, high = min(low, *bands), max(high, *bands)
        low, high = (low, high) if low < high else (low - (abs(low) or 1.0) / 20, high + (abs(high) or 1.0) / 20)
    if low < high:
        bottom, top = max(min(low, *bands), 2 * low - high), min(max(high, *bands), 2 * high - low)
        margin = 0.05 * (top - bottom)
        limits = [float(limit) for limit in transform.inverted().transform([bottom - margin, top + margin])]
        axes.set(**{f"{which}lim": tuple(limits)})
    if logarithmic:
        ticks(axes, which, _round_numbers(*_limits(axes, which)))


def _limits(axes: Axes, which: Which) -> tuple[float, float]:
    return axes.get_xlim() if which == "x" else axes.get_ylim()


def _outside(axes: Axes, which: Which, values: Sequence[float]) -> int:
    low, high = _limits(axes, which)
    return sum(not low <= value <= high for value in values)


def _round_numbers(low: float, high: float) -> list[float]:
    """Return round numbers for a logarithmic axis, at most about seven."""
    if high / low < 5:
        numbers = [float(value) for value in MaxNLocator(5).tick_values(low, high)]
    else:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        digits = (1, 2, 3, 5, 7) if high / low < 10 else (1, 2, 5) if high / low < 100 else (1,)
        numbers = [digit * 10.0**power for power in range(first, last + 1, -(-(last - first) // 7)) for digit in digits]
    return [value for value in numbers if low <= value <= high]


def ticks(axes: Axes, which: Which, values: Sequence[float], labels: Sequence[str] | None = None) -> None:
    """Label these values of an axis; on the horizontal one only those whose labels neither touch nor leave the figure."""
    names = labels or list(map(_tick_text, values))
    labelled = list(range(len(values)))
    if which == "x" and values:
        width = inches(axes)[0]
        places = [width * inside(axes, value, None)[0] for value in values]
        halves = [len(name) / 2 * character_width() for name in names]
        fitting = [index for index in labelled if places[index] + halves[index] <= width + OVERHANG] or labelled
        labelled = fitting[:1]
        for index in fitting[1:]:
            if places[index] - places[labelled[-1]] > halves[index] + halves[labelled[-1]] + 0.05:
                labelled.append(index)
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_ticks([values[index] for index in labelled], labels=[names[index] for index in labelled])
    axis.set_minor_locator(NullLocator())


def _tick_text(value: float) -> str:
    """Return a tick's label: very large and very small numbers as powers of ten."""
    if value == 0 or 1e-3 <= abs(value) < 1e4:
        return f"{value:g}"
    mantissa, _, exponent = f"{value:e}".partition("e")
    power = f"10{str(int(exponent)).translate(_SUPERSCRIPTS)}"
    return power if float(mantissa) == 1 else f"{float(mantissa):g}·{power}"


def inside(axes: Axes, x: float, y: float | None) -> tuple[float, float]:
    """Return where a point is on its axes, from (0, 0) to (1, 1)."""
    point = (x, axes.get_ylim()[0] if y is None else y)
    across, up = axes.transLimits.transform(axes.transScale.transform(point))
    return float(across), float(up)
