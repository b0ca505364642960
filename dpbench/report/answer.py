"""The answer of a sweep in sentences: never a winner without a bound on the difference."""

from __future__ import annotations

from collections.abc import Sequence

from dpbench.records.cell_record import CellRecord, distinguishing_params, label
from dpbench.report.statistics.paired import FURTHEST, Comparison, Leaderboard, against_best, groups

NAMED = 3
"""So many mechanisms are named in a sentence."""


def answer(rows: Sequence[CellRecord]) -> list[str]:
    """For each problem: which ranked cell has the lowest error at each accounted ε, and from which others a test separates it."""
    sentences = []
    done = [row for row in rows if row.done]
    keys = [key for key in distinguishing_params(done) if not key.startswith("mechanism.")]
    ranked = groups(done)
    for problem in dict.fromkeys(row.problem for row in done):
        where = _where(next(row for row in done if row.problem == problem), keys)
        levels = sorted(epsilon for place, epsilon in ranked if place == problem)
        if not levels:
            sentences.append(f"{where}: no cell is both private and proven, so nothing is ranked.")
        sentences += [f"{where} at ε = {epsilon:g}: {_best(ranked[problem, epsilon])}." for epsilon in levels]
    return sentences


def _where(row: CellRecord, keys: Sequence[str]) -> str:
    """The problem in words: the model, the dataset, and what else tells it from the others."""
    own = [f"{key}={row.params[key]}" for key in keys if key in row.params]
    attack = [] if row.params["attack"] == "none" else [f"attack={row.params['attack']}"]
    more = f" ({', '.join([*attack, *own])})" if own or attack else ""
    return f"{row.params['model']} on {row.params['dataset']}{more}"


def _best(rows: Sequence[CellRecord]) -> str:
    """What can be said of the cells of one problem at one ε."""
    known = [row for row in rows if _error(row) is not None]
    if not known:
        return "no run gave a finite error"
    if len(known) == 1:
        return _alone(known[0], len(rows))
    board = against_best(known)
    assert board is not None
    best, lowest = board.best, min(known, key=lambda row: _error(row) or 0.0)
    agree = _error(lowest) == _error(best)
    text = f"{label(best)} has the lowest median {best.primary}, {_error(best):.4g}"
    if not agree:
        text = f"{label(best)} has the lowest {best.primary} in the median repeat, {board.median:.4g}"
    parts = _compared(board)
    if board.unpaired:
        parts.append(f"{label(board.unpaired[0])} follows with {_error(board.unpaired[0]):.4g}{_apart(best, board.unpaired[0])}")
    if not agree:
        parts.append(f"in the median run {label(lowest)}'s is lower, {_error(lowest):.4g}")
    return f"{text}, {'; '.join(parts)}{_no_better(best)}"


def _alone(row: CellRecord, cells: int) -> str:
    name = f"utility/{row.primary}"
    only = "the only ranked cell" + (" with a finite error" if cells > 1 else "")
    text = f"{label(row)} is {only}, with a median {row.primary} of {_error(row):.4g}"
    low, high = row.metric(name, "ci_low"), row.metric(name, "ci_high")
    if low is not None and high is not None and low > 0:  # few repeats can give an interval that no error can lie in
        text += f" (mean {row.metric(name, 'mean'):.4g}, 95 % interval {low:.4g} to {high:.4g})"
    return text + _no_better(row)


def _error(row: CellRecord) -> float | None:
    return row.metric(f"utility/{row.primary}")


def _no_better(row: CellRecord) -> str:
    """The warning that nothing was learnt."""
    error, constant = _error(row), row.metric(f"reference/mean_predictor/{row.primary}")
    if error is None or constant is None or error < constant:
        return ""
    return f"; the mean predictor, which needs no features, does no worse ({constant:.4g})"


def _compared(board: Leaderboard) -> list[str]:
    """From whom the paired test separates the best, and what it would take for the others."""
    lower = [found for found in board.comparisons if found.separated and found.shift > 0]
    against = [found for found in board.comparisons if found.separated and found.shift <= 0]
    open_ = [found for found in board.comparisons if not found.separated]
    holm = len(board.comparisons) > 1
    parts = []
    if open_:
        parts.append(f"not separated from {_names(open_)}: {_missing(open_)}")
    if lower:
        others = len(lower) - 1
        more = f", and lower than {others} other{'s' * (others > 1)}" if others else ""
        parts.append(f"repeat by repeat lower than {label(lower[0].second)}'s by {_measured(lower[0], holm)}{more}")
    parts += [f"but repeat by repeat {label(found.second)}'s is lower, by {_measured(found, holm)}" for found in against]
    dropped = max((found.dropped for found in board.comparisons), default=0)
    if dropped:
        parts.append(f"up to {dropped} runs of a pair are left out, where one of the two has no finite error")
    return parts


def _measured(found: Comparison, holm: bool) -> str:
    low, high = (found.low, found.high) if found.shift > 0 else (-found.high, -found.low)
    p = "p < 0.0001" if found.corrected < 0.0001 else f"p = {found.corrected:.2g}"
    return f"{abs(found.shift):.3g} (95 % interval {low:.3g} to {high:.3g}, {'Holm-corrected ' if holm else ''}{p})"


def _missing(found: Sequence[Comparison]) -> str:
    """What it would take to separate them."""
    few = [one for one in found if one.repeats < one.fewest]
    if few:
        repeats = min(one.repeats for one in few)
        least = max(one.fewest for one in few)
        return f"with {repeats} repeat{'s' * (repeats != 1)} nothing can be told from chance, at least {least} are needed"
    if all(not any(one.differences) for one in found):
        return "their errors are the same in every repeat"
    known = [one.more_repeats for one in found if one.more_repeats is not None]
    if len(known) < len(found):
        return f"even {FURTHEST:,} repeats would hardly do"
    return f"about {float(f'{max(known):.2g}'):,.0f} more repeats would be needed"


def _names(found: Sequence[Comparison]) -> str:
    names = [label(one.second) for one in found]
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def _apart(best: CellRecord, second: CellRecord) -> str:
    """What the intervals of the means say where the runs are missing and nothing can be paired."""
    name = f"utility/{best.primary}"
    ends = [row.metric(name, suffix) for row in (best, second) for suffix in ("ci_low", "ci_high")]
    low, high, low_second, high_second = ends
    if low is None or high is None or low_second is None or high_second is None:
        return ", not separated: there are neither runs nor intervals to compare"
    if high < low_second:
        return f" (95 % intervals of the means, not paired: {low:.4g} to {high:.4g}, {low_second:.4g} to {high_second:.4g})"
    if high_second < low:
        return ", though its mean is lower: a few bad runs weigh on the first"
    return ", and the intervals of their means do not separate them"
