"""What a report says in sentences: the question, the answer in short, and what is private and what is not."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence

from dpbench.records.cell_record import CellRecord, distinguishing_params, label
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.leaderboards import Board, Place
from dpbench.report.terminal_table import IN_TARGET_UNITS

FEW = 2
"""Up to so many sentences are the answer themselves; more of them are summed up."""

NOTHING_RAN = "Nothing ran, so nothing can be said"
PURE = "no release gets likelier by more than a factor of e^ε"
AT_DELTA = "no set of releases gets a probability above e^ε times its own plus δ"
STANDINGS = {
    "NOT PRIVATE": (
        "Not private means not private: no ε covers these results, and whoever sees them may learn what single rows hold. They "
        "show what the model could do without protection, and must not be released."
    ),
    "UNPROVEN": (
        "Noise was published with a claim and without a valid proof: it may protect nothing. Treat it as not private. Its ε, in "
        "brackets, is the claim."
    ),
    "AUDIT FAILED": "A test has refuted the claim: more leaves the mechanism than ε allows. Treat it as not private.",
    "LEAKS": (
        "Something else reached the result, which ε does not count: a release would cost more than the ε in brackets, and how "
        "much more nobody knows."
    ),
}


def question(sweep: SweepRecord) -> list[str]:
    """What was compared on which data, how often, and at which ε."""
    rows = sweep.done
    if not rows:
        return ["No cell of this sweep has a result."]
    private = _names(row.params["mechanism"] for row in rows if row.private)
    public = _names(row.params["mechanism"] for row in rows if not row.private)
    models = _names(row.params["model"] for row in rows)
    datasets = [_dataset(name, [row for row in rows if row.params["dataset"] == name]) for name in _datasets(rows)]
    epsilons = [f"{epsilon:g}" for epsilon in sorted({row.epsilon for row in rows})]
    at = f"at ε = {epsilons[0]}" if len(epsilons) == 1 else f"at which ε ({_listed(epsilons, 'or', most=16)})"
    if len(private) > 1:
        asked = f"Which of {_listed(private)} has the lowest error {at}"
    else:
        asked = f"How large is the error of {_listed(private or public)} {at}"
    beside = f" Beside {'them' if len(private) > 1 else 'it'}, not private: {_listed(public)}." if private and public else ""
    return [f"{asked}, fitting {_listed(models)} on {_listed(datasets)}?{beside}", _counted(sweep, rows), _measured(rows)]


def _datasets(rows: Sequence[CellRecord]) -> list[str]:
    return _names(row.params["dataset"] for row in rows)


def _dataset(name: str, rows: Sequence[CellRecord]) -> str:
    """Its size, and whether it was collected or drawn."""
    sizes = set()
    for own in dict.fromkeys(tuple(item for item in row.params.items() if item[0].startswith("dataset.")) for row in rows):
        first = next(row for row in rows if own == tuple(item for item in row.params.items() if item[0].startswith("dataset.")))
        runs = first.detail.runs
        if "n_train" in runs and len(runs["n_train"]):
            sizes.add(int(runs["n_train"][0]) + int(runs["n_test"][0]))
    size = f"{min(sizes):,}" + (f" to {max(sizes):,}" if len(sizes) > 1 else "") + " rows" if sizes else ""
    drawn = "SYNTHETIC" if any(row.synthetic for row in rows) else ""
    inside = ", ".join(filter(None, [size, drawn]))
    return f"{name} ({inside})" if inside else name


def _counted(sweep: SweepRecord, rows: Sequence[CellRecord]) -> str:
    """How many cells, and how many fits each stands for."""
    cells = f"{len(rows)} cell{'s' * (len(rows) > 1)}"
    if len(rows) < len(sweep.cells):
        cells += f" of {len(sweep.cells)}"
    splits = _listed(_names(row.params["splits"] for row in rows))
    runs = sorted({len(row.detail.runs.get("repeat", ())) for row in _first_of_each(rows)} - {0})
    many = "s" * (runs != [1])
    each = f", each over {_listed([f'{count:,}' for count in runs], 'or')} run{many}" if runs else ""
    return f"{cells} {'have' if len(rows) > 1 else 'has'} a result{each} ({splits}). Cells on the same data share their splits."


def _first_of_each(rows: Sequence[CellRecord]) -> list[CellRecord]:
    """One cell for each way of splitting."""
    found: dict[str, CellRecord] = {}
    for row in rows:
        found.setdefault(row.params["splits"], row)
    return list(found.values())


def _measured(rows: Sequence[CellRecord]) -> str:
    primaries = _names(row.primary for row in rows)
    named = [f"{name} on the scaled target" if name in IN_TARGET_UNITS else name for name in primaries]
    return f"Cells are ordered by the median of {_listed(named)} over the runs: the smaller, the better."


def in_short(sweep: SweepRecord, boards: Sequence[Board], sentences: Sequence[str]) -> list[str]:
    """The answer in at most three sentences, of which those about single problems may be two; the last says what is private."""
    if not sweep.done:
        return [nothing_ran(sweep)]
    standing = _standing(sweep.done)
    if 0 < len(sentences) <= FEW:
        return [*sentences, standing]
    levels = [level for board in boards for level in board.at.values()]
    if not levels:
        return [standing]
    return [_winners(levels), _nearness(boards), standing]


def nothing_ran(sweep: SweepRecord) -> str:
    """What is left to say of a sweep without a result: how many cells failed, and how many made no sense."""
    counts = Counter(row.state for row in sweep.cells)
    told = [f"{count} cell{'s' * (count > 1)} {state}" for state, count in counts.items()]
    return f"{NOTHING_RAN}: {_listed(told)}." if told else f"{NOTHING_RAN}."


def _winners(levels: Sequence[Sequence[Place]]) -> str:
    """Who has the lowest error how often, and how often that is more than chance."""
    contested = [level for level in levels if len(level) > 1]
    if not contested:
        return f"At none of the {len(levels)} accounted values of ε are there two private and proven cells to compare."
    best = Counter(label(_best(level)) for level in contested)
    sure = Counter(label(_best(level)) for level in contested if _separated(level))
    total = len(contested)
    told = []
    for name, count in best.most_common(3):
        times = f"in all {total} comparisons" if count == total > 1 else f"in {count} of {total}"
        certain = "always" if sure[name] == count else f"{sure[name]} of {count} times" if sure[name] else "never"
        told.append(f"{name} {times} ({certain} told apart from all others by a test)")
    more = len(best) - len(told)
    told += [f"{more} other{'s' * (more > 1)} in the rest"] if more else []
    return f"The lowest error, compared at one accounted ε on one problem at a time, is that of {_listed(told)}."


def _best(level: Sequence[Place]) -> CellRecord:
    """The one that the others are compared with."""
    return next((place.row for place in level if place.best), level[0].row)


def _separated(level: Sequence[Place]) -> bool:
    found = [place.comparison for place in level if place.comparison is not None]
    return len(found) == len(level) - 1 and all(one.separated for one in found)


def _nearness(boards: Sequence[Board]) -> str:
    """What the best private cell loses of what the features can tell, at the smallest and the largest ε."""
    losses: dict[float, list[float]] = {}
    useless = total = 0
    for board in boards:
        for epsilon, level in board.at.items():
            lost = level[0].lost
            if lost is not None:
                total += 1
                useless += lost >= 1
                losses.setdefault(epsilon, []).append(lost)
    if not losses:
        return "No reference is recorded."
    ends = [f"{_percent(statistics.median(losses[end]))} at ε = {end:g}{_over(len(losses[end]))}" for end in _ends(losses)]
    text = f"From the fit without privacy (0 %) to predicting the mean for everybody (100 %), the best stands at {_listed(ends)}"
    return text + (f"; at {useless} of {total} it does no better than the mean." if useless else ".")


def _over(problems: int) -> str:
    return f" (median over {problems} problems)" if problems > 1 else ""


def _ends(values: Iterable[float]) -> list[float]:
    ordered = sorted(values)
    return ordered if len(ordered) < 2 else [ordered[0], ordered[-1]]


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.0f} %"


def _standing(rows: Sequence[CellRecord]) -> str:
    """How many cells are ranked, and why the others are not."""
    ranked = sum(row.ranked for row in rows)
    others: dict[str, list[CellRecord]] = {}
    for row in rows:
        if not row.ranked:
            others.setdefault(row.guarantee if row.guarantee != "sound" else "LEAKS", []).append(row)
    if not others:
        return f"All {len(rows)} cells are private, carry a proof and leak nothing." if len(rows) > 1 else "It carries a proof."
    named = _listed(
        [
            f"{name} {'' if word.startswith('LEAKS') else 'is '}{word}"
            for word, here in others.items()
            for name in _told(here, rows)
        ]
    )
    if not ranked:
        return f"No cell may be released: {named}."
    return f"{ranked} of {len(rows)} cells are ranked: private, proven, and nothing leaked; {named}, and must not be released."


def standings(rows: Sequence[CellRecord]) -> list[tuple[str, str, str]]:
    """Each guarantee that a cell of this sweep has, in plain words, with its mechanisms."""
    found: dict[str, list[CellRecord]] = {}
    for row in rows:
        for word in ["sound"] if row.ranked else [word for word in STANDINGS if word in row.guarantee] or ["LEAKS"]:
            found.setdefault(word, []).append(row)
    order = [word for word in ("sound", *STANDINGS) if word in found]
    return [(word, _listed(_told(found[word], rows)), STANDINGS.get(word) or _sound(found[word])) for word in order]


def _sound(rows: Sequence[CellRecord]) -> str:
    """What a proof promises: by ε alone where the price was pure, else by ε at a δ."""
    pure = {row.metrics.get("privacy/delta", 0.0) == 0 for row in rows}
    promise = f"{PURE} where its δ is 0, and elsewhere {AT_DELTA}" if len(pure) > 1 else PURE if True in pure else AT_DELTA
    covered = "its ε" if pure == {True} else "its ε at its δ"
    return (
        f"Everything that a fit released is covered by {covered}, by a proof that the ledger names: with other values in one "
        f"row, {promise}. A proof is its author's word; `python -m dpbench audit` tries it."
    )


def _told(here: Sequence[CellRecord], rows: Sequence[CellRecord]) -> list[str]:
    """The mechanisms of these cells; one that has other cells too with what tells these from them."""
    own = {id(row) for row in here}
    words = {
        "model": "with ",
        "dataset": "on ",
        **{key: f"with {key} = " for key in distinguishing_params(rows)},
        "epsilon": "at ε = ",
    }
    told = []
    for name in _names(label(row) for row in here):
        mine = [row for row in here if label(row) == name]
        rest = [row for row in rows if label(row) == name and id(row) not in own]
        apart = [key for key in words if not {row.params.get(key) for row in mine} & {row.params.get(key) for row in rest}]
        if rest and apart:
            name += f" {words[apart[0]]}{_listed(_names(row.params.get(apart[0], '') for row in mine))}"
        elif rest:
            name += f" in {len(mine)} of {len(mine) + len(rest)} cells"
        told.append(name)
    return told


def _names(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _listed(names: Sequence[str], word: str = "and", most: int = 12) -> str:
    """``a, b and c``; what goes beyond is counted."""
    if len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1} more"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}" if names else "nothing"
