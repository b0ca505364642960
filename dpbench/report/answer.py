"""The answer of a sweep in sentences: never a winner without a bound on the difference."""

import statistics
from collections import Counter
from collections.abc import Sequence

from dpbench.records.cell_record import CellRecord, label
from dpbench.report.formatting import listed, p_value_text, plural
from dpbench.report.guarantees import standing_sentence
from dpbench.report.leaderboards import Board, Level
from dpbench.report.statistics.paired import MAX_REPEATS, Comparison, Contest

MAX_NAMES = 3
"""A sentence names this many mechanisms, and counts the others."""
MAX_SHORT_SENTENCES = 2
"""An answer of up to this many sentences is short enough; a longer one is summed up."""
NOTHING_RAN = "Nothing ran, so nothing can be said"


def answer(boards: Sequence[Board]) -> list[str]:
    """Return a sentence for each problem and accounted ε: which ranked cell has the lowest error, and is the difference sure?"""
    sentences = []
    for board in boards:
        levels = [level for level in board.levels if level.private]
        if not levels:
            sentences.append(f"{board.title}: no cell is both private and proven, so nothing is ranked.")
        sentences += [f"{board.title} at ε = {level.accounted:g}: {_best(level)}." for level in levels]
    return sentences


def _best(level: Level) -> str:
    """Return what can be said of the ranked cells of one problem at one ε."""
    ranked = [place.cell for place in level.ranked]
    if not ranked:
        return "no run gave a finite error"
    if (contest := level.contest) is None:
        return _only_cell(ranked[0], len(level.private))
    best, lowest = contest.best, ranked[0]
    if best.error() == lowest.error():
        text = f"{label(best)} has the lowest median {best.primary}, {best.error():.4g}"
        parts = _compared(contest)
    else:
        text = f"{label(best)} has the lowest {best.primary} in the median repeat, {contest.median:.4g}"
        parts = [*_compared(contest), f"in the median run {label(lowest)}'s is lower, {lowest.error():.4g}"]
    return f"{text}, {'; '.join(parts)}{_mean_predictor_warning(best)}"


def _only_cell(cell: CellRecord, cells: int) -> str:
    only = "the only ranked cell" + (" with a finite error" if cells > 1 else "")
    text = f"{label(cell)} is {only}, with a median {cell.primary} of {cell.error():.4g}"
    low, high = cell.error("ci_low"), cell.error("ci_high")
    if low is not None and high is not None and low > 0:  # with few repeats an interval may reach where no error can lie
        text += f" (mean {cell.error('mean'):.4g}, 95 % interval {low:.4g} to {high:.4g})"
    return text + _mean_predictor_warning(cell)


def _mean_predictor_warning(cell: CellRecord) -> str:
    error, mean_predictor = cell.error(), cell.reference("mean_predictor")
    if error is None or mean_predictor is None or error < mean_predictor:
        return ""
    return f"; the mean predictor, which needs no features, does no worse ({mean_predictor:.4g})"


def _compared(contest: Contest) -> list[str]:
    """Return from which cells a paired test separates the best, and what it would take to separate the others."""
    lower = [comparison for comparison in contest.comparisons if comparison.separated and comparison.shift > 0]
    higher = [comparison for comparison in contest.comparisons if comparison.separated and comparison.shift <= 0]
    undecided = [comparison for comparison in contest.comparisons if not comparison.separated]
    holm = len(contest.comparisons) > 1
    parts = []
    if undecided:
        names = listed((label(comparison.second) for comparison in undecided), most=MAX_NAMES)
        parts.append(f"not separated from {names}: {_needed(undecided)}")
    if lower:
        more = f", and lower than {plural(len(lower) - 1, 'other')}" if len(lower) > 1 else ""
        parts.append(f"repeat by repeat lower than {label(lower[0].second)}'s by {_difference(lower[0], holm)}{more}")
    parts += [f"but repeat by repeat {label(one.second)}'s is lower, by {_difference(one, holm)}" for one in higher]
    if dropped := max((comparison.dropped for comparison in contest.comparisons), default=0):
        parts.append(f"up to {dropped} runs of a pair are left out, where one of the two has no finite error")
    for second in contest.unpaired[:1]:
        parts.append(f"{label(second)} follows with {second.error():.4g}{_unpaired_intervals(contest.best, second)}")
    return parts


def _difference(comparison: Comparison, holm: bool) -> str:
    low, high = (comparison.low, comparison.high) if comparison.shift > 0 else (-comparison.high, -comparison.low)
    p = ("Holm-corrected " if holm else "") + p_value_text(comparison.corrected)
    return f"{abs(comparison.shift):.3g} (95 % interval {low:.3g} to {high:.3g}, {p})"


def _needed(comparisons: Sequence[Comparison]) -> str:
    """Return what it would take to separate these cells."""
    small = [comparison for comparison in comparisons if comparison.repeats < comparison.min_repeats]
    if small:
        repeats, fewest = min(comparison.repeats for comparison in small), max(comparison.min_repeats for comparison in small)
        return f"{plural(repeats, 'repeat')} cannot tell a difference from chance, at least {fewest} are needed"
    if not any(any(comparison.differences) for comparison in comparisons):
        return "their errors are the same in every repeat"
    needed = [comparison.more_repeats for comparison in comparisons]
    if None in needed:
        return f"even {MAX_REPEATS:,} repeats would hardly be enough"
    return f"about {float(f'{max(filter(None, needed)):.2g}'):,.0f} more repeats would be needed"


def _unpaired_intervals(best: CellRecord, second: CellRecord) -> str:
    """Return what the intervals of the means say if the runs are missing and nothing can be paired."""
    low, high, second_low, second_high = (cell.error(end) for cell in (best, second) for end in ("ci_low", "ci_high"))
    if low is None or high is None or second_low is None or second_high is None:
        return ", not separated: there are neither runs nor intervals to compare"
    if high < second_low:
        return f" (95 % intervals of the means, not paired: {low:.4g} to {high:.4g}, {second_low:.4g} to {second_high:.4g})"
    if second_high < low:
        return ", though its mean is lower: the first has a few bad runs, which raise its mean"
    return ", and the intervals of their means do not separate them"


def short_answer(cells: Sequence[CellRecord], boards: Sequence[Board], sentences: Sequence[str]) -> list[str]:
    """Return the answer in at most three sentences; the last says what is private.

    ``sentences`` is the whole answer, which is taken as it is if it is short.
    """
    done = [cell for cell in cells if cell.done]
    if not done:
        counts = Counter(cell.state for cell in cells)
        reasons = listed(f"{plural(count, 'cell')} {state}" for state, count in counts.items())
        return [f"{NOTHING_RAN}: {reasons}." if counts else f"{NOTHING_RAN}."]
    standing = standing_sentence(done)
    if 0 < len(sentences) <= MAX_SHORT_SENTENCES:
        return [*sentences, standing]
    levels = [level for board in boards for level in board.levels if level.ranked]
    return [_winners(levels), _losses(levels), standing] if levels else [standing]


def _winners(levels: Sequence[Level]) -> str:
    """Return who has the lowest error how often, and how often a test separates it from all others."""
    contested = [level for level in levels if len(level.ranked) > 1]
    if not contested:
        return f"None of the {len(levels)} accounted values of ε has two private and proven cells to compare."
    wins = Counter(label(level.winner) for level in contested)
    sure = Counter(label(level.winner) for level in contested if _separated(level))
    total = len(contested)
    names = []
    for name, count in wins.most_common(MAX_NAMES):
        times = f"in all {total} comparisons" if count == total > 1 else f"in {count} of {total}"
        certain = "always" if sure[name] == count else f"{sure[name]} of {count} times" if sure[name] else "never"
        names.append(f"{name} {times} ({certain} separated from all others by a test)")
    if len(wins) > MAX_NAMES:
        names.append(f"{plural(len(wins) - MAX_NAMES, 'other')} in the rest")
    return f"The lowest error, compared at one accounted ε on one problem at a time, is that of {listed(names)}."


def _separated(level: Level) -> bool:
    comparisons = [place.comparison for place in level.ranked if place.comparison]
    return len(comparisons) == len(level.ranked) - 1 and all(comparison.separated for comparison in comparisons)


def _losses(levels: Sequence[Level]) -> str:
    """Return how much the best private cell loses of what the features can tell, at the smallest and the largest ε."""
    losses: dict[float, list[float]] = {}
    for level in levels:
        if (lost := level.ranked[0].lost) is not None:
            losses.setdefault(level.accounted, []).append(lost)
    if not losses:
        return "No reference is recorded."
    values = [lost for level in losses.values() for lost in level]
    useless = sum(lost >= 1 for lost in values)
    ends = [_loss(epsilon, losses[epsilon]) for epsilon in dict.fromkeys((min(losses), max(losses)))]
    text = f"From the fit without privacy (0 %) to always predicting the mean (100 %), the best stands at {listed(ends)}"
    return text + (f"; at {useless} of {len(values)} it does no better than the mean." if useless else ".")


def _loss(epsilon: float, losses: Sequence[float]) -> str:
    share = statistics.median(losses)
    percent = f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.0f} %"
    return f"{percent} at ε = {epsilon:g}" + (f" (median over {len(losses)} problems)" if len(losses) > 1 else "")
