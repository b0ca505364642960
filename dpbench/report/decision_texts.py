"""The decision of a sweep in a few plain sentences, for a reader who joined today."""

from collections.abc import Sequence

from dpbench.records.cell_record import CellRecord, label
from dpbench.report.answer import not_compared, other_units
from dpbench.report.decision import ACCEPTABLE_LOSS, MAX_FAILED_SHARE, Decision, percent
from dpbench.report.explosions import explosion
from dpbench.report.formatting import listed, number, plural, quantity
from dpbench.report.statistics.paired import PRACTICAL_SHARE
from dpbench.report.summary import SweepSummary

CHOOSING_COSTS = (
    "These errors were computed on the private rows, without noise. Choosing a row by them is a use of those rows that the ε of "
    "a release does not cover."
)
UNDECIDED_TEXT = "Not decided: the difference may be chance."
SAME_TEXT = f"Practically the same: the errors differ by less than {100 * PRACTICAL_SHARE:g} % on that scale."
FAILED_TEXT = "Runs that lost all: fits that are no better than predicting the same for everybody, which a median hides."
INTERVALS_TEXT = "Intervals: the width of the coefficients' confidence intervals, against those of the fit without privacy."


def scale_sentence(summary: SweepSummary, *, intervals_shown: bool = True) -> str:
    """Return what the columns of the decision table mean."""
    boards = summary.boards
    low, high = (_reference(boards[0].first, name) if len(boards) == 1 else "" for name in ("no_privacy", "mean_predictor"))
    text = f"Lost to privacy: 0 % is the fit without privacy{low}, 100 % is predicting the same for everybody{high}."
    contests = [row.group.contest for row in summary.decisions if row.group.contest and row.group.contest.winner is None]
    notes = {
        UNDECIDED_TEXT: any(contest.undecided for contest in contests),
        SAME_TEXT: any(not contest.undecided for contest in contests),
        FAILED_TEXT: any(row.failed for row in summary.decisions),
        INTERVALS_TEXT: intervals_shown and any(row.best and row.intervals != "none" for row in summary.decisions),
    }
    return " ".join([text, *(note for note, applies in notes.items() if applies)])


def _reference(cell: CellRecord, name: str) -> str:
    """Return the error of a reference in brackets, in the target's unit if it has one."""
    in_unit, scaled = cell.reference_in_unit(name), cell.reference(name)
    if in_unit is not None and in_unit != scaled:
        return f" ({quantity(in_unit)} {cell.target_unit})" if cell.target_unit else f" ({quantity(in_unit)})"
    return "" if scaled is None else f" ({number(scaled)})"


def choice_sentences(summary: SweepSummary) -> list[str]:
    """Return which row to pick and why, what may not be compared, and what picking by these errors costs."""
    row = next(iter(summary.picks), None)
    passed_over = _passed_over(summary.decisions, row)
    first = pick_sentence(row, passed_over=passed_over) if len(summary.boards) == 1 else _picks_sentence(summary)
    picked = [row.best for row in summary.picks if row.best]
    private = [cell for cell in picked if not cell.table_is_public]
    sentences = [first, *not_compared(summary.boards), *other_units(summary.boards)]
    sentences += [_explosion_sentence(picked[0])] if len(summary.boards) == 1 and picked else []
    sentences += [CHOOSING_COSTS] if private else []
    return [sentence for sentence in sentences if sentence]


def pick_sentence(row: Decision | None, *, passed_over: bool = False) -> str:
    """Return the row that a reader would pick, and why; ``passed_over``: a cheaper row is not, because of runs that failed."""
    most = f"{100 * ACCEPTABLE_LOSS:g} %"
    if row is None or row.best is None:
        return "No private fit of this sweep is better than predicting the same for everybody: try a larger ε, or more rows."
    where = f"the mechanism {label(row.best)} at ε = {row.epsilon}"
    failed = f" {percent(row.failed)} of its runs lost everything." if row.failed else ""
    share = f"{100 * MAX_FAILED_SHARE:g} % of the runs"
    if (row.lost or 0.0) <= ACCEPTABLE_LOSS:
        why = f"the smallest ε of this sweep at which privacy costs at most {most} of what the features can tell"
        return f"Pick {where}: {why}{f', and at most {share} lose everything' * passed_over}.{failed}"
    return (
        f"At every ε of this sweep privacy costs more than {most} of what the features can tell"
        f"{f', or more than {share} lose everything' * passed_over}. The least is lost with {where}: "
        f"{percent(row.lost)}.{failed} Try a larger ε."
    )


def _passed_over(rows: Sequence[Decision], picked: Decision | None) -> bool:
    """Return whether a row at which privacy costs little is not picked, because too many runs lost everything there."""
    cheap = [row for row in rows if row.lost is not None and row.lost <= ACCEPTABLE_LOSS and row is not picked]
    return any(row.failed > MAX_FAILED_SHARE for row in cheap)


def _picks_sentence(summary: SweepSummary) -> str:
    """Return what the rows of several problems are."""
    most, count = f"{100 * ACCEPTABLE_LOSS:g} %", len(summary.boards)
    cheap = sum((row.lost or 0.0) <= ACCEPTABLE_LOSS for row in summary.picks)
    useless = count - len(summary.picks)
    texts = [f"privacy costs at most {most} of what the features can tell in {cheap} of {plural(count, 'problem')}"]
    texts += [f"in {useless} no private fit is better than predicting the mean"] if useless else []
    return (
        f"Each row is at the smallest ε of this sweep at which privacy costs at most {most}, or else where it costs least. "
        f"{listed(texts)[:1].upper()}{listed(texts)[1:]}."
    )


def _explosion_sentence(cell: CellRecord) -> str:
    """Return how many runs of the picked cell went badly wrong, which its median hides; empty if none did."""
    runs = explosion(cell)
    if runs is None:
        return ""
    return f"The median hides that fits of {label(cell)} went badly wrong (more than 3 times the mean's error): {runs.text}."
