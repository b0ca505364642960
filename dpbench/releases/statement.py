"""The statement of a release: what is promised, to whom, under which assumptions, and what is not."""

import math
from collections.abc import Mapping
from typing import Any

from dpbench.contracts.dataset import Dataset
from dpbench.releases.interval_making import sentence_of_statement
from dpbench.releases.release_data import ReleaseData
from dpbench.releases.released_intervals import NoIntervals, ReleasedIntervals
from dpbench.releases.selection_sentences import candidates_text, cost_sentence, score_sentence, secret_sentence

SIMULATED = (
    "NO PRIVACY IS PROMISED: the noise was drawn from a seed, so that it can be removed, and the mechanism was not replayed. "
    "This model is for experiments, and must not be published."
)
DIVERGING_TEXT = (
    "The last released gradient of this fit is far longer than the shortest one: the descent moved away from the minimum, and "
    "the model may predict worse than a constant. This follows from released numbers alone, so it costs no privacy to know it."
)


def statement_of(
    facts: Mapping[str, Any],
    dataset: Dataset,
    data: ReleaseData,
    section: ReleasedIntervals | NoIntervals,
    *,
    diverging: bool = False,
) -> str:
    """Return what is promised, to whom, under which assumptions, and what is not: in paragraphs, with empty lines between."""
    table, epsilon, delta = data.table, facts["epsilon"], facts["delta"]
    exact = f"ε = {epsilon:.6g}" + (f" and δ = {delta:.3g}" if delta else "")
    failure = f", except with probability {delta:.3g}" if delta else ""
    bounds = "bounds and the norm of a row" if dataset.scaling == "ball" and table.radius is not None else "bounds"
    if table.persons is None:
        size, unit, other = f"{data.rows:,} rows", "row", "another"
        scope = "The promise is for one row: who is in several rows, or resembles many, is protected less."
    else:
        size = f"{table.persons.count:,} persons, of whom each has at most {table.persons.rows_each} rows that count"
        unit, other = "person", "another with any other rows"
        scope = "The promise is for one person with all rows: how many rows a person has is protected, too."
    if facts["noise"] == "simulation":
        leaks = [f"LEAK: {leak.why}." for leak in table.leaks]
        cost = f"With secure noise, the answers would cost {exact}."
        return " ".join([*_warning(dataset), SIMULATED, *leaks, cost, *[DIVERGING_TEXT] * diverging])
    comma = "," if table.persons else ""
    selection = facts.get("selection")
    how = f"fitted once on {size}{comma}"
    if selection is not None:
        how = f"fitted on {size}{comma} and chosen by them among {candidates_text(selection)}"
    promise = [
        *_warning(dataset),
        f"This model was {how} with differential privacy, {exact}.",
        f"Had any one {unit} been {other}, every possible model would have been at most e^ε times as likely, or as unlikely, to "
        f"come out{failure}. {_strength(epsilon, unit)}",
        scope,
    ]
    assumptions = [
        f"Taken as public, and not protected: that there are {size}; the columns and their {bounds}, which the "
        "owner declared, and which must not have been read from the rows; "
        f"{'the mechanism and its' if selection is None else 'the candidates: their mechanisms, models and'} options.",
        f"Before the fit, {'the mechanism' if selection is None else 'every candidate'} was replayed on made-up neighbouring "
        f"tables of up to {_replayed_rows(facts):,} rows, and kept what it claims. That replaces no proof: the "
        "ledger, the list of all private answers, names the proof of each.",
        "The noise was drawn by OpenDP from the operating system's randomness; no seed exists.",
    ]
    price = _not_paid_for() if selection is None else _choice(facts, data)
    errors = [*[DIVERGING_TEXT] * diverging, sentence_of_statement(section)]
    target = data.sample.geometry.target_column
    if target is not None and target.transform is not None:
        name = target.transform.name
        errors.append(
            f"The model was fitted to a transformed target ({name}), so a prediction is close to its median, not to its mean."
        )
    return "\n\n".join(" ".join(paragraph) for paragraph in (promise, assumptions, price, errors))


def _replayed_rows(facts: Mapping[str, Any]) -> int:
    """Return the number of rows up to which the mechanism, or every candidate, was replayed."""
    selection = facts.get("selection")
    vouched_by = [facts["vouched_by"]] if selection is None else [each["vouched_by"] for each in selection["candidates"]]
    return min(int(each["n"]) for each in vouched_by)


def _not_paid_for() -> list[str]:
    """Return what ε does not pay for, where nothing was chosen by the data."""
    return [
        "Releasing more from the same rows costs more: the ε of all releases add up. Choosing this model, or its options, by "
        "looking at the same rows is a release that is not counted here.",
        "No error of this model was computed: a number computed from the private rows would have to be paid for.",
    ]


def _choice(facts: Mapping[str, Any], data: ReleaseData) -> list[str]:
    """Return what the choice by the data cost, what must stay secret of it, and what is known of the model's errors."""
    selection, table, kind = facts["selection"], data.table, data.sample.geometry.target
    return [
        "Releasing more from the same rows costs more: the ε of all releases add up. Choosing the candidates by looking at the "
        "same rows is a release that is not counted here; choosing this model among them is counted.",
        cost_sentence(selection, facts["epsilon"]),
        *filter(None, [secret_sentence(selection)]),
        score_sentence(selection, facts, table.target, kind),
    ]


def _warning(dataset: Dataset) -> list[str]:
    text = "THE ROWS ARE SYNTHETIC: they belong to no person, and this file is a demonstration."
    return [text] if dataset.synthetic else []


def _strength(epsilon: float, unit: str = "row") -> str:
    """Return what the factor e^ε means for a reader who does not know ε."""
    epsilon = float(f"{epsilon:.6g}")  # as the statement shows it: a calibrated ε of 1 may differ in the last bits
    factor = f"{math.exp(epsilon):.3g}" if epsilon < 700 else "more than 10^300"
    if epsilon <= 1:
        return f"The odds of any guess about a single {unit} change by a factor of at most {factor}."
    verdict = "is a weak promise" if epsilon <= 5 else "promises next to nothing"
    return f"The odds of a guess about a single {unit} may change by a factor of {factor}: that {verdict}."
