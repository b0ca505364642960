"""The answer of a sweep in sentences: what a reader may conclude, and the numbers behind it.

A winner is named only among cells that may be compared, only if the difference matters, and only if a test separates it. Every
number is a median over the runs, which is what the tables show, or a difference of two medians.
"""

import statistics
from collections import Counter
from collections.abc import Sequence

from dpbench.records.cell_record import CellRecord, label
from dpbench.report.explosions import explosion_sentences, failed_sentences
from dpbench.report.formatting import group_by, listed, p_value_text, plural
from dpbench.report.guarantees import standing_sentence
from dpbench.report.leaderboards import Board, Group, Level, lost_everything, nothing_to_learn, share_lost
from dpbench.report.statistics.paired import MAX_REPEATS, PRACTICAL_SHARE, Comparison, Contest

MAX_NAMES = 3
"""A sentence names this many mechanisms, and counts the others."""
MAX_BOARDS = 3
"""With more problems than this, the conclusion counts outcomes instead of naming each."""
NOTHING_RAN = "Nothing ran, so nothing can be said"
NO_BETTER = "better than always predicting the mean"
WAY = "of the way from the fit without privacy to the mean predictor"


def conclusion(boards: Sequence[Board]) -> list[str]:
    """Return what the reader may conclude: first what must not be compared, then who is best where, then how good that is.

    If there is only one comparison, its sentence is the conclusion; a separate one would say the same twice.
    """
    groups = _groups(boards)
    if len(groups) <= 1 and len(boards) == 1:
        verdicts = _all_details(boards)
    elif len(boards) <= MAX_BOARDS:
        verdicts = [*map(_board_verdict, boards), *_losses(groups, problems=len(boards))]
    else:
        verdicts = [*_outcomes(groups), *_losses(groups, problems=len(boards))]
    cells = [place.cell for board in boards for place in board.places if place.cell.private]
    best = [group.best for _, group in groups if group.cells and not _useless(group.best)]
    failed = failed_sentences(best, several=len(boards) > 1)
    return [*not_compared(boards), *verdicts, *other_units(boards), *failed, *explosion_sentences(cells)]


def details(boards: Sequence[Board]) -> list[str]:
    """Return a sentence for each problem, accounted ε and group of comparable cells; none if the conclusion has them all."""
    return [] if len(_groups(boards)) <= 1 and len(boards) <= 1 else _all_details(boards)


def _all_details(boards: Sequence[Board]) -> list[str]:
    sentences = []
    for board in boards:
        if not any(level.groups for level in board.levels):
            sentences.append(f"{board.title}: {_verdict(None)}.")
        for level in board.levels:
            for group in level.groups:
                sentences.append(f"{board.title} at ε = {level.accounted:g}{_mark(group.mark)}: {_detail(group)}.")
    return sentences


def _groups(boards: Sequence[Board]) -> list[tuple[Level, Group]]:
    return [(level, group) for board in boards for level in board.levels for group in level.groups]


def not_compared(boards: Sequence[Board]) -> list[str]:
    """Return which cells rest on which rule or currency, if cells at the same accounted ε differ in that."""
    split = [group for level, group in _groups(boards) if group.basis]
    if not split:
        return []
    texts = []
    for basis, groups in group_by(split, lambda group: group.basis).items():
        names = sorted({label(place.cell) for group in groups for place in group.places})
        texts.append(f"{listed(names, most=2 * MAX_NAMES)}: {basis}")
    return [f"These cells do not rest on the same rules, so no winner is named across the groups. {'; '.join(texts)}."]


def other_units(boards: Sequence[Board]) -> list[str]:
    """Return which mechanisms count ε in a unit of their own, so that their cells have few to be compared with."""
    cells = [place.cell for level, group in _groups(boards) for place in group.places]
    units = [(cell.epsilon, cell) for cell in cells if cell.epsilon is not None]
    other = [(epsilon, cell) for epsilon, cell in units if abs(cell.accounted - epsilon) > 0.001 * epsilon]
    if not other or len(other) == len(cells):
        return []
    texts = []
    for name, same in group_by(other, lambda pair: label(pair[1])).items():
        epsilon, first = min(same, key=lambda pair: pair[0])
        texts.append(f"{name} (its {epsilon:g} is {first.accounted:g})")
    text = f"not every mechanism counts ε in that unit: {listed(texts, most=MAX_NAMES)}"
    return [f"Cells are compared at the same accounted ε, and {text}. `budget=matched` gives every mechanism the same."]


def _board_verdict(board: Board) -> str:
    """Return who is best at which ε, without numbers."""
    verdicts: dict[str, dict[str, list[float]]] = {}
    for level in board.levels:
        for group in level.groups:
            verdicts.setdefault(_verdict(group), {}).setdefault(group.mark, []).append(level.accounted)
    if not verdicts:
        return f"{board.title}: {_verdict(None)}."
    texts = []
    for verdict, by_mark in verdicts.items():
        # a verdict on every group at the same ε needs no group
        everywhere = len({tuple(epsilons) for epsilons in by_mark.values()}) == 1 and len(by_mark) > 1
        for mark, epsilons in [("", next(iter(by_mark.values())))] if everywhere else by_mark.items():
            distinct = list(dict.fromkeys(epsilons))
            values = listed((f"{epsilon:g}" for epsilon in distinct), most=8)
            at = f"every ε ({values})" if len(verdicts) == 1 and len(distinct) > 1 else f"ε = {values}"
            texts.append(f"{verdict} at {at}{_mark(mark)}")
    return f"{board.title}: {'; '.join(texts)}."


def _mark(mark: str) -> str:
    """Return the group that a sentence is about, if there are several."""
    return f" ({mark})" if mark else ""


def _verdict(group: Group | None) -> str:
    """Return what may be concluded from the cells that may be compared, without numbers."""
    if group is None:
        return "no cell is both private and proven, so nothing is ranked"
    if not group.cells:
        return "no run gave a finite error"
    if nothing_to_learn(group.best):
        return f"no comparison is made, because even the fit without privacy is no {NO_BETTER}"
    if _useless(group.best):
        return f"no cell is {NO_BETTER}" if len(group.cells) > 1 else f"{label(group.best)} is no {NO_BETTER}"
    if lost_everything(group.best):
        return f"most runs of {label(group.best)} lost everything, although it has the lowest median error"
    if (contest := group.contest) is None:
        return f"{label(group.best)} is the only ranked cell" + (" with a finite error" if len(group.places) > 1 else "")
    if contest.winner is not None:
        return f"{label(contest.winner)} has the lowest error"
    if contest.undecided:
        return f"no test separates {_names(contest.best, *(comparison.second for comparison in contest.undecided))}"
    lower = f", and lower than {listed((label(comparison.second) for comparison in contest.higher), most=MAX_NAMES)}"
    return f"{_tied(contest)} are practically the same" + (lower if contest.higher else "")


def _tied(contest: Contest) -> str:
    return _names(contest.best, *contest.practically_same)


def _names(*cells: CellRecord) -> str:
    return listed(sorted(map(label, cells)), most=MAX_NAMES)


def _useless(cell: CellRecord) -> bool:
    """Whether the cell is no better than the mean predictor."""
    error, mean_predictor = cell.error(), cell.reference("mean_predictor")
    return error is not None and mean_predictor is not None and error >= mean_predictor


def _detail(group: Group) -> str:
    """Return the same with numbers: medians over the runs, and differences of medians."""
    if not group.cells:
        return _verdict(group)
    best, contest = group.best, group.contest
    error = f"{best.error():.4g}"
    references = [best.reference(name) for name in ("no_privacy", "mean_predictor")]
    if nothing_to_learn(best):
        low, high = (f"{value:.4g}" for value in references if value is not None)
        return f"no comparison is made, because even the fit without privacy ({low}) is no {NO_BETTER} ({high})"
    if _useless(best):
        text = f"{_verdict(group)} ({references[1]:.4g}); "
        return text + (f"the lowest median {best.primary} is {label(best)}'s, {error}" if contest else f"its median is {error}")
    if contest is None or lost_everything(best):
        return f"{_verdict(group)}, with a median {best.primary} of {error}"
    holm = len(contest.comparisons) > 1
    if contest.winner is not None:
        text = f"{label(best)} has the lowest median {best.primary}, {error}"
        parts = [f"{text}, lower than {_difference(contest.higher, holm)}"]
    else:
        parts = [_alike(contest)] if contest.practically_same else [f"{label(best)} has a median {best.primary} of {error}"]
        parts += [_undecided(contest)] if contest.undecided else []
        parts += [f"{label(best)}'s is lower than {_difference(contest.higher, holm)}"] if contest.higher else []
    if dropped := max(comparison.dropped for comparison in contest.comparisons):
        parts.append(f"up to {plural(dropped, 'run')} of a cell without a finite error are left out")
    return "; ".join(parts)


def _alike(contest: Contest) -> str:
    """Return which cells are practically the same as the best, and their errors."""
    errors = [f"{cell.error():.4g}" for cell in (contest.best, *contest.practically_same)]
    values = (
        f"{errors[0]} to {errors[-1]}" if len(set(errors)) > 1 else f"{errors[0]} for {'both' if len(errors) == 2 else 'all'}"
    )
    apart = f"a difference of less than {100 * PRACTICAL_SHARE:g} % {WAY}"
    return f"{_tied(contest)} are practically the same: the median {contest.best.primary} is {values}, {apart}"


def _difference(comparisons: Sequence[Comparison], holm: bool) -> str:
    """Return by how much the best is lower than the next one, and how many others it is lower than."""
    next_best, *others = comparisons
    p = ("Holm-corrected " if holm else "") + p_value_text(1.0 if next_best.corrected is None else next_best.corrected)
    interval = f"95 % interval {next_best.low:.3g} to {next_best.high:.3g}, {p}"
    more = f", and lower than {plural(len(others), 'other')}" if others else ""
    return f"{label(next_best.second)}'s by {next_best.difference.value:.3g} ({interval}){more}"


def _undecided(contest: Contest) -> str:
    """Return from which cells no test separates the best, and what it would take."""
    names = listed(
        (f"{label(comparison.second)} ({comparison.second.error():.4g})" for comparison in contest.undecided), most=MAX_NAMES
    )
    return f"no test separates it from {names}: {_needed(contest.undecided)}"


def _needed(comparisons: Sequence[Comparison]) -> str:
    """Return what it would take to separate these cells."""
    if any(comparison.repeats == 0 for comparison in comparisons):
        return "the record has no runs to compare"
    small = [comparison for comparison in comparisons if comparison.repeats < comparison.min_repeats]
    if small:
        repeats, fewest = min(comparison.repeats for comparison in small), max(comparison.min_repeats for comparison in small)
        return f"{plural(repeats, 'repeat')} cannot tell a difference from chance, at least {fewest} are needed"
    needed = [comparison.more_repeats for comparison in comparisons]
    if None in needed:
        return f"even {MAX_REPEATS:,} repeats would hardly be enough"
    return f"about {float(f'{max(filter(None, needed)):.2g}'):,.0f} more repeats would be needed if the difference stays the same"


def _outcomes(groups: Sequence[tuple[Level, Group]]) -> list[str]:
    """Return how often which outcome was reached: with many problems, a sentence for each would be too long."""
    compared = [group for _, group in groups if len(group.cells) > 1]
    if not compared:
        return ["There is no accounted ε with two ranked cells to compare."] if groups else []
    counts: Counter[str] = Counter()
    for group in compared:
        contest = group.contest
        if contest is None or _useless(group.best):
            counts[_verdict(group)] += 1
        elif contest.winner is not None:
            counts[f"{label(contest.winner)} has the lowest error"] += 1
        else:
            counts["no test separates the lowest" if contest.undecided else "the lowest are practically the same"] += 1
    texts = [f"{outcome} in {count}" for outcome, count in counts.most_common(2 * MAX_NAMES)]
    if (rest := len(counts) - len(texts)) > 0:
        texts.append(f"{plural(rest, 'other outcome')} in the rest")
    number = f"{len(compared)} comparisons" if len(compared) > 1 else "one comparison"
    return [f"In {number}, each on one problem at one accounted ε: {'; '.join(texts)}."]


def _losses(groups: Sequence[tuple[Level, Group]], *, problems: int) -> list[str]:
    """Return how much the best private cell loses of what the features can tell, at the smallest and the largest ε."""
    losses: dict[float, list[float]] = {}
    for level, group in groups:
        if group.cells and (lost := share_lost(group.best)) is not None:
            losses.setdefault(level.accounted, []).append(lost)
    if not losses:
        return []
    epsilons = dict.fromkeys((min(losses), max(losses)))
    ends = listed(f"{_percent(losses[epsilon], problems)} at ε = {epsilon:g}" for epsilon in epsilons)
    return [f"From the fit without privacy (0 %) to always predicting the mean (100 %), the best error stands at {ends}."]


def _percent(losses: Sequence[float], problems: int) -> str:
    """Return the shares of the groups of one problem, or the median over several problems."""
    if len(losses) > 1 and problems > 1:
        return f"{_share(statistics.median(losses))} (median of {len(losses)} comparisons)"
    return listed(map(_share, losses)) + (" (one for each group)" if len(losses) > 1 else "")


def _share(lost: float) -> str:
    return f"{100 * lost:.2g} %" if lost < 0.995 else f"{100 * lost:.0f} %"


def nothing_ran(cells: Sequence[CellRecord]) -> str:
    """Return why a sweep without any result has none."""
    counts = Counter(cell.state for cell in cells)
    reasons = listed(f"{plural(count, 'cell')} {state}" for state, count in counts.items())
    return f"{NOTHING_RAN}: {reasons}." if counts else f"{NOTHING_RAN}."


def short_answer(cells: Sequence[CellRecord], sentences: Sequence[str]) -> list[str]:
    """Return the conclusion, and what is private."""
    done = [cell for cell in cells if cell.done]
    return [*sentences, standing_sentence(done)] if done else [nothing_ran(cells)]
