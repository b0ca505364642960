"""What is private and what is not, in sentences: the standings of a sweep's cells and what they mean."""

from collections.abc import Iterable, Sequence

from dpbench.records.cell_record import CellRecord, distinguishing_params, label
from dpbench.report.formatting import group_by, listed, plural

PURE_PROMISE = "no release becomes more likely by more than a factor of e^ε"
DELTA_PROMISE = "the probability of any set of releases is at most e^ε times what it was, plus δ"
CLAIMED = "claimed"
MAX_NAMES = 6
"""A sentence names this many mechanisms, and counts the others."""
MEANINGS = {
    "NOT PRIVATE": (
        "No ε covers these results: anyone who sees them may learn what single rows contain. They show what the model could do "
        "without protection, and must not be released."
    ),
    "UNPROVEN": (
        "Noise was published with a claim but without a valid proof: it may protect nothing. Treat it as not private. Its ε, in "
        "brackets, is the claim."
    ),
    "REFUTED": "An audit has refuted the claim: the mechanism reveals more than its ε allows. Treat it as not private.",
    "LEAKS": (
        "Something else reached the result, which ε does not count: a release would cost more than the ε in brackets, and how "
        "much more is unknown."
    ),
    "NO WEIGHTS": "No run gave finite weights, so there is no result to rank or to release, though its ε is spent.",
}


def standings(cells: Sequence[CellRecord]) -> list[tuple[str, str, str]]:
    """Return each standing that a cell of this sweep has, the mechanisms that have it, and what it means."""
    groups = {word: [cell for cell in cells if word in _words(cell)] for word in ("sound", CLAIMED, *MEANINGS)}
    meanings = {word: MEANINGS.get(word) or _promise(word, group) for word, group in groups.items() if group}
    return [(word, listed(_names(groups[word], cells)), meaning) for word, meaning in meanings.items()]


def _words(cell: CellRecord) -> list[str]:
    """Return what a cell's guarantee says; what it cannot name is a leak."""
    return [cell.guarantee] if cell.ranked else [word for word in MEANINGS if word in cell.guarantee] or ["LEAKS"]


def audit_sentences(cells: Sequence[CellRecord]) -> list[str]:
    """Return a sentence for everything that an audit found, and for every reason why there was none, with the mechanisms."""
    done = [cell for cell in cells if cell.done]
    findings = group_by((cell for cell in done if cell.guarantee_why), lambda cell: (cell.guarantee, cell.guarantee_why))
    sizes = group_by((cell for cell in done if cell.replayed_n), lambda cell: cell.replayed_n)
    return [
        *(
            f"{word[0].upper()}{word[1:]} in {plural(len(group), 'cell')} ({_labels(group)}): {why}"
            for (word, why), group in findings.items()
        ),
        *(
            f"{_labels(group)}: tried on made-up tables of at most {n:,} rows, fewer than a run has."
            for n, group in sizes.items()
        ),
    ]


def _labels(cells: Sequence[CellRecord]) -> str:
    return listed(dict.fromkeys(map(label, cells)), most=MAX_NAMES)


def standing_sentence(cells: Sequence[CellRecord]) -> str:
    """Return how many cells are ranked, and why the others are not."""
    ranked = sum(cell.ranked for cell in cells)
    tried = " that trials on made-up tables could not refute" if all(cell.sound for cell in cells) else ""
    if ranked == len(cells) == 1:
        return f"It carries a proof{tried}."
    if ranked == len(cells):
        return f"All {ranked} cells are private, carry a proof{tried} and leak nothing."
    others = group_by((cell for cell in cells if not cell.ranked), lambda cell: cell.guarantee)
    reasons = listed(
        f"{name} {'' if guarantee.startswith('LEAKS') else 'is '}{guarantee}"
        for guarantee, group in others.items()
        for name in _names(group, cells)
    )
    if not ranked:
        return f"No cell may be released: {reasons}."
    return f"{ranked} of {len(cells)} cells are ranked: private, proven, and nothing leaked; {reasons}, and must not be released."


def _promise(word: str, cells: Iterable[CellRecord]) -> str:
    """Return what a proof promises, by ε alone if the price was pure, else by ε at a δ, and how far it was tried."""
    tried = "A proof is its author's word: trials of the mechanism on made-up neighbouring tables (a replay) did not refute it."
    if word == CLAIMED:
        tried = "A proof is its author's word: it was not replayed here, or the origin of the table's bounds is not declared."
    promises = {
        (True,): ("its ε", PURE_PROMISE),
        (False,): ("its ε at its δ", DELTA_PROMISE),
        (False, True): ("its ε at its δ", f"{PURE_PROMISE} if its δ is 0; otherwise {DELTA_PROMISE}"),
    }
    cells = list(cells)
    covered, promise = promises[tuple(sorted({cell.metrics.get("privacy/delta", 0.0) == 0 for cell in cells}))]
    persons = {cell.detail.ledger.get("neighbours") == "replace_one_person" for cell in cells}
    other = "if one person had any other rows" if persons == {True} else "if one row had other values"
    if len(persons) > 1:
        other += " (where a person may have several: if one person had any other rows)"
    return f"Everything that a fit released is covered by {covered}, with a proof named below: {other}, {promise}. {tried}"


def _names(group: Sequence[CellRecord], cells: Sequence[CellRecord]) -> list[str]:
    """Return the mechanisms of a group of cells; one that has other cells too is named with what distinguishes these."""
    members = {id(cell) for cell in group}
    options = {key: f"with {key} = " for key in distinguishing_params(cells)}
    prefixes = {"model": "with ", "dataset": "on ", **options, "epsilon": "at ε = "}
    names = []
    for name, inside in group_by(group, label).items():
        outside = [cell for cell in cells if label(cell) == name and id(cell) not in members]
        values = {key: [{cell.params.get(key, "") for cell in side} for side in (inside, outside)] for key in prefixes}
        key = next((key for key, (one, other) in values.items() if not one & other), None)
        if outside and key:
            name += f" {prefixes[key]}{listed(cell.params.get(key, '') for cell in inside)}"
        elif outside:
            name += f" in {len(inside)} of {plural(len(inside) + len(outside), 'cell')}"
        names.append(name)
    return names
