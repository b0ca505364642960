"""``dpbench.choose``: the question as keywords, the answer as an object that prints as plain words."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dpbench.base.errors import Refused
from dpbench.base.one_thread import one_thread
from dpbench.choosing.choice import Choice, Estimate, choose_from
from dpbench.choosing.error_curves import Simulation, candidates
from dpbench.choosing.public_facts import PLAUSIBLE_R_SQUARED, facts_of
from dpbench.choosing.question import DEFAULT_DELTA, Question
from dpbench.choosing.wording import release_command, sentences
from dpbench.files.bounds_file import parse_bounds, read_bounds
from dpbench.files.data_frames import is_frame
from dpbench.files.dialects import Dialect
from dpbench.files.table_files import open_table
from dpbench.registry.lookup import build


@dataclass(frozen=True)
class Choosing:
    """What ``choose`` answers: print it, or read its numbers.

    ``mechanism`` is the name that is chosen. ``epsilon``, ``rows`` and ``share_lost`` each have ``typical`` and ``safe``,
    infinite where no number is enough, and are None where they were not asked for. ``command(epsilon)`` releases the model.
    """

    choice: Choice
    files: Mapping[str, Any]
    """The options of ``dataset=table`` that are known."""

    @property
    def mechanism(self) -> str:
        """The name of the mechanism that is chosen."""
        return self.choice.best.candidate.mechanism.name

    @property
    def epsilon(self) -> Estimate | None:
        """The smallest ε that reaches the target."""
        return self.choice.best.epsilon

    @property
    def rows(self) -> Estimate | None:
        """The fewest rows that reach the target, at the fixed ε or at ε = 1."""
        return self.choice.best.rows

    @property
    def share_lost(self) -> Estimate | None:
        """The share of what is explained that is lost, where no target was named."""
        return self.choice.best.share_lost

    def command(self, epsilon: float) -> str:
        """Return the command that releases the model at this ε."""
        return release_command(self.choice, epsilon, self.files)

    def __str__(self) -> str:
        return "\n".join(sentences(self.choice, self.files))


def choose(
    rows: int | None = None,
    bounds: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    *,
    data: Any = None,
    target: str = "",
    model: str | Mapping[str, Any] = "linear",
    mechanism: str | Sequence[str] = (),
    epsilon: float | None = None,
    delta: float = DEFAULT_DELTA,
    target_error: float | None = None,
    target_rmse: float | None = None,
    target_interval: float | None = None,
    target_risk: float | None = None,
    r_squared: tuple[float, float] = PLAUSIBLE_R_SQUARED,
    dialect: Mapping[str, Any] | None = None,
) -> Choosing:
    """Choose a mechanism and an ε (or a number of rows) from public facts; no private row is used.

    ``choose(8000, "people.yaml", target_error=0.1)`` returns the smallest ε at which at most 10 % of what is explained is lost;
    ``choose(bounds="people.yaml", epsilon=1, target_error=0.1)`` the rows that are needed; ``choose(8000, "people.yaml",
    epsilon=1)`` what is lost. ``bounds`` is a bounds file, or what it has under ``columns``. Of ``data``, a file or a DataFrame
    in place of ``rows``, the number of rows is taken and nothing else. docs/choose.md explains every key.
    """
    if bounds is None:
        raise Refused(
            "A choice needs the bounds of the columns: dataset.bounds=FILE, a bounds file, which "
            "`python -m dpbench data describe` drafts."
        )
    is_file = isinstance(bounds, (str, os.PathLike))
    # what is wrong with the question is said before a file is opened
    question = Question(2 if data is not None else rows, epsilon, delta, target_error, target_rmse, target_interval, target_risk)
    declared = read_bounds(os.fspath(bounds)) if is_file else parse_bounds(bounds, "bounds")  # type: ignore[arg-type]
    if data is not None and rows is not None:
        raise Refused("The number of rows comes from rows= or from the table: leave one of them out.")
    facts = facts_of(declared, target, build("model", {"name": model} if isinstance(model, str) else model), r_squared)
    if target_rmse is not None and (facts.model.target == "binary" or facts.target.transform is not None):
        raise Refused("The key 'target_rmse' is for targets that are numbers without a transform: use target_error instead.")
    if target_interval is not None and facts.geometry.groups and facts.model.intercept:
        raise Refused(
            "The key 'target_interval' is for columns of numbers: with a column for each level and an intercept, the "
            "coefficients have no intervals without privacy to compare with. Use target_error instead."
        )
    chosen = candidates([mechanism] if isinstance(mechanism, str) and mechanism else mechanism)
    if data is not None:
        question = replace(question, rows=_count_rows(data, {**declared.dialect, **(dialect or {})}))
    with one_thread():
        choice = choose_from(Simulation(facts), question, chosen)
    if not choice.ratings:
        raise Refused(f"None of the mechanisms fits model={facts.model.name}.")
    paths = {"path": data, "bounds": bounds if is_file else None}
    files = {key: os.fspath(path) for key, path in paths.items() if isinstance(path, (str, os.PathLike))}
    return Choosing(choice, {**files, **(dialect or {})})


def _count_rows(data: Any, dialect: Mapping[str, Any]) -> int:
    """Return the number of rows of a file or a table in memory."""
    if is_frame(data):
        return int(data.num_rows if hasattr(data, "num_rows") else len(data))
    if not isinstance(data, (str, os.PathLike)):
        raise Refused("The data must be a file's name or a table: pandas, Polars or Arrow. Got something else.")
    return open_table(os.fspath(data), Dialect.of(dialect)).count_rows()
