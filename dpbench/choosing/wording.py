"""Say a choice in plain words, with the command that follows from it."""

import math
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from dpbench.choosing.choice import LARGEST_EPSILON, Choice, Estimate, Rating
from dpbench.choosing.question import DEFAULT_DELTA, risk_of_epsilon
from dpbench.report.decision import MAX_FAILED_SHARE
from dpbench.report.formatting import listed, quantity
from dpbench.report.leaderboard.wording import TWO_CLASSES

FAILED_HEADER = "fits that lose all"
WEAK_EPSILON = 10.0
"""An ε above this promises little, and the answer says so."""
NO_ROW = "No row was read for this answer: only public facts were used, so choosing like this costs no ε."


def sentences(choice: Choice, files: Mapping[str, Any]) -> list[str]:
    """Return the answer, line by line; ``files`` are the options of ``dataset=table`` that are known, such as ``path``."""
    return [*answer(choice), "", *_table_lines(choice), "", *grounds(choice), "", *next_step(choice, files)]


def answer(choice: Choice) -> Iterator[str]:
    """Yield what was asked and the two numbers."""
    question, best = choice.question, choice.best
    yield f"Mechanism: {best.candidate.name}."
    if best.share_lost is not None:
        yield from _error_at(choice, best)
    elif best.epsilon is not None:
        yield from _epsilons(choice, best)
    else:
        assert best.rows is not None
        yield f"Wanted: {_wanted(choice)}, at ε = {question.allowed_epsilon:.3g}{_of_risk(choice)}."
        if best.rows.typical == math.inf:
            yield f"No number of rows is enough on at least half of the plausible tables. {_why_never(choice)}"
        else:
            yield f"Typical: {_rows(best.rows.typical)} are enough. Safe: {_rows(best.rows.safe)}."
            yield from _never_safe(choice, best)
    yield from _failures(best)


def _epsilons(choice: Choice, best: Rating) -> Iterator[str]:
    """Yield the smallest ε, or that none is enough, and how many rows would be."""
    assert best.epsilon is not None
    assert best.rows is not None
    yield f"Wanted: {_wanted(choice)}, with {_rows(choice.question.rows or 0)}."
    if best.epsilon.typical == math.inf:
        yield f"No ε up to {LARGEST_EPSILON:g} is enough with this mechanism on at least half of the plausible tables."
    else:
        yield f"Typical: ε = {best.epsilon.typical:g} is enough. Safe: {_epsilon(best.epsilon.safe)}."
    finite = [number for number in (best.epsilon.typical, best.epsilon.safe) if number != math.inf]
    if finite and max(finite) > WEAK_EPSILON:
        yield f"An ε above {WEAK_EPSILON:g} promises little: a guess about a row may become e^{WEAK_EPSILON:g} times as likely."
    if best.rows.typical == math.inf:
        yield f"More rows would not help. {_why_never(choice)}"
    else:
        yield f"At ε = 1, {_rows(best.rows.typical)} would be enough (typical), or {_rows(best.rows.safe)} (safe)."
        yield from _never_safe(choice, best)


def _never_safe(choice: Choice, best: Rating) -> Iterator[str]:
    """Yield why no number of rows is safe, if none is."""
    if best.fails_too_often:
        yield _too_often()
    elif best.rows is not None and best.rows.safe == math.inf:
        yield f"On more than a tenth of the plausible tables nothing is enough. {_why_never(choice)}"


def _too_often() -> str:
    return f"Nothing is safe: more than {100 * MAX_FAILED_SHARE:g} % of the simulated fits lose everything."


def _failures(best: Rating) -> Iterator[str]:
    """Yield which share of the fits lost everything, which medians hide, if any did."""
    failed = best.failed
    if best.share_lost is not None and failed.typical:
        yield f"{_failed(failed.typical)} of the simulated fits lose everything."
    elif failed.typical or failed.safe:
        numbers = {"typical": failed.typical, "safe": failed.safe}
        reached = best.rows is not None and best.rows.safe != math.inf
        parts = [f"{_failed(share)} with the {which} number" for which, share in numbers.items() if which != "safe" or reached]
        yield f"Of the simulated fits, {listed(parts)} lose everything: the mean of the target predicts as well."


def _error_at(choice: Choice, best: Rating) -> Iterator[str]:
    question, lost = choice.question, best.share_lost
    assert lost is not None
    assert question.rows is not None
    yield f"Fixed: {_rows(question.rows)} and ε = {question.allowed_epsilon:.3g}{_of_risk(choice)}."
    yield f"Typical: {_share(lost.typical)} of what is explained is lost to privacy. Safe: {_share(lost.safe)}."
    yield from [_too_often()] if best.fails_too_often else []


def table(choice: Choice) -> list[list[str]]:
    """Return the numbers of all candidates as rows of cells: a header, then the best candidate."""
    best = choice.best
    if best.share_lost is not None:
        header = ["mechanism", "lost, typical", "lost, safe"]
    elif best.epsilon is not None:
        header = ["mechanism", "ε, typical", "ε, safe", "rows at ε = 1, typical", "rows at ε = 1, safe"]
    else:
        header = ["mechanism", "rows, typical", "rows, safe"]
    fixed, fails = best.share_lost is not None, any(rating.failed != Estimate(0.0, 0.0) for rating in choice.ratings)
    header += ([FAILED_HEADER] if fixed else [f"{FAILED_HEADER}, typical", f"{FAILED_HEADER}, safe"]) if fails else []
    rows = [header]
    for rating in choice.ratings:
        marks = " [pure ε]" * rating.candidate.pure + " [cannot be released]" * (not rating.candidate.released)
        cells = [rating.candidate.name + marks]
        for estimate, spell in ((rating.share_lost, _share), (rating.epsilon, _number), (rating.rows, _number)):
            cells += [spell(number) for number in (estimate.typical, estimate.safe)] if estimate else []
        shares = [rating.failed.typical] if fixed else [rating.failed.typical, rating.failed.safe]
        cells += map(_failed, shares) if fails else []
        rows.append(cells)
    return rows


def _table_lines(choice: Choice) -> list[str]:
    rows = table(choice)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def grounds(choice: Choice) -> Iterator[str]:
    """Yield what the numbers mean and what they rest on."""
    facts, question = choice.facts, choice.question
    low, high = facts.r_squared
    yield (
        "Typical is the median over plausible tables, simulated from the public facts; safe is enough for nine of ten of them, "
        f"with at most {100 * MAX_FAILED_SHARE:g} % of all fits losing everything."
    )
    if facts.model.target == "binary":
        yield TWO_CLASSES.sentence
    yield (
        f"Known of {facts.known_columns} of {len(facts.knowledge)} columns: typical values and spreads, or shares. "
        f"Assumed: R² between {low:g} and {high:g}. δ = {question.delta:g}."
    )
    if facts.known_columns < len(facts.knowledge):
        yield "What is not known is drawn anew for each table: `typical:`, `spread:` and `shares:` in the bounds file say more."
    if choice.error_without_privacy is not None:
        errors = choice.error_without_privacy
        exact, mean = quantity(errors.typical), quantity(errors.safe)
        unit = f" {facts.target.unit}" if facts.target.unit else ""
        yield f"On these tables a prediction errs by {exact}{unit} without privacy, by {mean}{unit} if it is the mean."
    if question.allowed_epsilon is not None:
        risk = 100 * risk_of_epsilon(question.allowed_epsilon, question.delta)
        yield f"No attack guesses more often than in {risk:.3g} % of cases which of two rows was fitted (50 % is a blind guess)."
    yield "Such facts cannot show nearly collinear columns, which may need a larger ε than the safe one."
    yield NO_ROW


def next_step(choice: Choice, files: Mapping[str, Any]) -> Iterator[str]:
    """Yield the command that releases a model with the safe number, or the typical one if none is safe."""
    best, question = choice.best, choice.question
    epsilon, warning = question.allowed_epsilon, ""
    if best.epsilon is not None:
        epsilon = min(best.epsilon.safe, best.epsilon.typical, key=math.isinf)
        warning = ", with the typical ε, because none is safe" if math.isinf(best.epsilon.safe) else ""
    never = best.epsilon is None and best.rows is not None and best.rows.typical == math.inf
    never |= best.share_lost is not None and best.share_lost.typical >= 1
    if epsilon is None or epsilon == math.inf or never:
        yield "Nothing is worth releasing with these rows." if question.rows is not None else "Nothing is worth releasing."
        return
    if not best.candidate.released:
        yield f"`release` has no secure noise for {best.candidate.name}: choose another mechanism to release a model."
        return
    yield f"Release, once{warning}:"
    yield f"  {release_command(choice, epsilon, files)}"


def release_command(choice: Choice, epsilon: float, files: Mapping[str, Any]) -> str:
    """Return the command that fits the chosen mechanism once."""
    candidate, facts, question = choice.best.candidate, choice.facts, choice.question
    defaults = type(facts.model)().options()
    options = {f"mechanism.{key}": value for key, value in candidate.options.items()}
    options |= {f"model.{key}": value for key, value in facts.model.options().items() if value != defaults[key]}
    keys = {"mechanism": candidate.mechanism.name, "model": facts.model.name, "dataset": "table", **options}
    table = {"path": "TABLE.csv", "bounds": "BOUNDS.yaml", **files, "target": facts.target.name}
    keys |= {f"dataset.{key}": value for key, value in table.items()}
    keys |= {"epsilon": f"{epsilon:.4g}"} | ({"delta": f"{question.delta:g}"} if question.delta != DEFAULT_DELTA else {})
    words = [f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in keys.items()]
    return shlex.join(["python", "-m", "dpbench", "release", *words, "out=model.json"])


def _wanted(choice: Choice) -> str:
    question = choice.question
    if question.error is not None:
        return f"at most {_share(question.error)} of what is explained lost to privacy"
    if question.interval is not None:
        return f"intervals of the coefficients at most {question.interval:g} times as wide as without privacy"
    return f"a prediction error of at most {question.rmse:g} {choice.facts.target.unit or choice.facts.target.name}"


def _why_never(choice: Choice) -> str:
    if choice.question.rmse is not None:
        return "Without privacy, too, the error is larger there."
    if choice.question.interval is not None:
        return "There are no intervals, or none without privacy to compare them with."
    return "The errors stay above the target on these tables."


def _of_risk(choice: Choice) -> str:
    risk = choice.question.risk
    return "" if risk is None else f", the largest at which no attack guesses right in more than {100 * risk:g} % of cases"


def _epsilon(number: float) -> str:
    return "no ε is" if number == math.inf else f"ε = {number:g}"


def _rows(number: float) -> str:
    return "no number of rows" if number == math.inf else f"{number:,.0f} rows"


def _share(number: float) -> str:
    if number >= 1:
        return "all" if number == 1 else "more than all"
    return f"{100 * number:.2g} %" if number < 0.995 else "99 %"


def _failed(share: float) -> str:
    """Return a share of the fits, in which a thousandth is the least that matters."""
    return "<0.1 %" if 0 < share < 0.001 else _share(share)


def _number(number: float) -> str:
    return "none" if number == math.inf else f"{number:,.0f}" if number >= 1000 else f"{number:g}"
