"""The contract of a mechanism, which asks the Curator and returns weights."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np

from dpbench.accounting.costs import Cost, Currency
from dpbench.base.core_classes import is_core_class
from dpbench.base.core_functions import unreplaced
from dpbench.contracts.fit import OK, Fit, Status
from dpbench.contracts.model import ModelUser, Problem
from dpbench.data.bins import BinCounts
from dpbench.data.geometry import Geometry
from dpbench.data.samples import Sample
from dpbench.privacy.calls import Sampler
from dpbench.privacy.curator import Curator
from dpbench.privacy.curator_view import closed
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Noise
from dpbench.privacy.procedures.procedure import Procedure
from dpbench.privacy.queries.histogram import Histogram, Scan
from dpbench.privacy.queries.polynomial import Sensitivity, SensitivityKey
from dpbench.privacy.queries.query import Query

T = TypeVar("T")


@dataclass(frozen=True)
class Mechanism(ModelUser):
    """The base class of mechanisms. Subclass it as a frozen dataclass with a ``name``; fields are options.

    Required
        ``name``; ``guarantee``: a few words for listings (``ε-DP``); ``fit(curator, problem, budget)``.

    Optional
        ``needs``: the capabilities that a model must have; ``refuses(model, geometry)``: any other reason not to fit a model;
        ``currency``: how the budget's ε is counted (``pure``; ``approx``: accounted at δ; ``zcdp``: ρ = ε; ``gdp``: μ = ε);
        ``counted()``: the same, if an option decides it; ``depends_on_budget``: False if the fit is the same under every budget,
        as that of a baseline without privacy is: then one cell stands for all values of ε and δ; ``uses_budget()``: the same,
        if an option decides it; ``published_sensitivity``: the rule for bounds that the paper prints
        (``sensitivity=published``). With it goes an option ``sensitivity: Sensitivity = option("auto", ...)``, which a
        mechanism passes to ``l1_bound``; ``tight`` needs no option, and says that no published bound is known;
        ``moments_alone``: whether every answer is a linear map of second moments, an unweighted ``MomentQuery``, so that it also
        runs on a table that is streamed; ``uses_moments_alone()``: the same, if an option decides it; ``counts_alone``: whether
        every answer is a histogram's, by ``scan`` or ``sparse``, which can be counted while a table is streamed;
        ``handles_persons``: whether the guarantee also holds where a person has several rows (``geometry.rows_per_person``).
        Bounds of the queries are for all rows of a person then; a bound that the mechanism states itself must be, too.

    A mechanism has no rows, no random generator, no accounting and no loop over runs. A private answer is one call of
    ``curator.release(query, noise)``, whose arrays have the runs as their first axis. ``curator.geometry`` and ``curator.n``
    are public; nothing else is free. To write a mechanism for one run at a time, subclass :class:`OneRunMechanism`.

    The curator is a closed view with these calls alone, and all arrays are read-only: copy what you want to change. The weights,
    status and health of a run must follow from the answers of that run alone. A query of your own is a
    :class:`dpbench.privacy.queries.query.MomentQuery` or a :class:`~dpbench.privacy.queries.query.RowQuery`.

    The docstring is what users read: what it does in two sentences, the guarantee (definition, neighbours, what is assumed
    public), the citation, and any error of the paper.
    """

    kind: ClassVar[str] = "mechanism"
    rows_only: ClassVar[str] = "its guarantee is proven for neighbours that differ in one row, not in all rows of a person"
    guarantee: ClassVar[str] = ""
    currency: ClassVar[Currency] = "pure"
    depends_on_budget: ClassVar[bool] = True
    published_sensitivity: ClassVar[Sensitivity | None] = None
    moments_alone: ClassVar[bool] = False
    counts_alone: ClassVar[bool] = False

    @abstractmethod
    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        """Return one weight vector for each of the curator's runs, within the budget."""

    def counted(self) -> Currency:
        """Return the currency of this mechanism's budget: its class's, unless an option decides."""
        return self.currency

    def uses_budget(self) -> bool:
        """Return whether the fit depends on the budget, on ε, δ and how they are counted: its class says so, or an option."""
        return self.depends_on_budget

    def uses_moments_alone(self) -> bool:
        """Return whether every answer is a linear map of second moments: its class says so, or an option decides."""
        return self.moments_alone

    def sensitivity_rule(self, key: SensitivityKey = "tight") -> Sensitivity | None:
        """Return the rule of this mechanism's bounds when the command says ``key``; None if no rule changes them."""
        if self.published_sensitivity is None:
            return None
        # a mechanism without the option has no bound but the tight one
        chosen = cast(Sensitivity, getattr(self, "sensitivity", "tight"))
        if chosen != "auto":
            return chosen
        return "tight" if key == "tight" else self.published_sensitivity

    def with_sensitivity(self, key: SensitivityKey) -> Self:
        """Return the mechanism with ``sensitivity=auto`` replaced by what the command's key says."""
        options: dict[str, Any] = self.options()
        rule = self.sensitivity_rule(key)
        return self if rule is None or "sensitivity" not in options else self.build({**options, "sensitivity": rule})


@dataclass(frozen=True)
class OneRunMechanism(Mechanism):
    """The base class of mechanisms that are written for a single run; the core loops over the runs.

    Implement ``fit_run(curator, problem, budget)``. Its curator has the same calls, but answers come without the run axis
    (``release`` returns a vector). Return the weight vector (D,), or (weights, status).
    """

    @abstractmethod
    def fit_run(self, curator: OneRunCurator, problem: Problem, budget: Budget) -> np.ndarray | tuple[np.ndarray, Status]:
        """Return the weight vector of one run: (D,)."""

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        runs = range(curator.runs)
        results = [self.fit_run(OneRunCurator(curator.for_run(run)), problem.for_run(run), budget) for run in runs]
        weights, status = zip(*(result if isinstance(result, tuple) else (result, OK) for result in results), strict=True)
        return Fit(np.stack([np.asarray(vector, dtype=float) for vector in weights]), np.array(status))


def fit_closed(mechanism: Mechanism, problem: Problem, curator: Curator, budget: Budget) -> Fit:
    """Fit a mechanism against the closed view of a curator, and refuse weights of a wrong type or shape.

    This is how the core runs every mechanism. A plugin's gets a copy of the problem, because other cells use the original, and
    may not replace functions that others share.
    """
    if is_core_class(type(mechanism)):
        fit = mechanism.fit(closed(curator), problem, budget)
    else:
        with unreplaced(f"The mechanism {mechanism.name}"):
            fit = mechanism.fit(closed(curator), deepcopy(problem), budget)
    if not isinstance(fit, Fit):
        raise TypeError(f"{mechanism.name} must return a dpbench.Fit. Got {type(fit).__name__} instead.")
    shape = (curator.runs, curator.geometry.dimension)
    if fit.weights.shape != shape:
        raise ValueError(f"{mechanism.name} must return weights of shape {shape}. Got {fit.weights.shape} instead.")
    return Fit(fit.weights, fit.status, fit.health, fit.notes, fit.uncertainty)


class OneRunCurator:
    """A curator of a single run: the calls of :class:`Curator`, with answers that have no run axis."""

    def __init__(self, curator: Curator) -> None:
        self._curator = closed(curator)

    @property
    def geometry(self) -> Geometry:
        """The public facts about the design."""
        return self._curator.geometry

    @property
    def n(self) -> int:
        """The number of training rows."""
        return int(self._curator.n[0])

    def release(self, query: Query, noise: Noise) -> np.ndarray:
        """Return the query's sum with noise: (coefficients,)."""
        return np.asarray(self._curator.release(query, noise)[0])

    def until(
        self, query: Query, noise: Noise, accept: Callable[[np.ndarray], bool], max_tries: int | None = None
    ) -> tuple[np.ndarray, bool]:
        """Draw again until ``accept(answer)`` is true; return the answer and whether it was accepted."""
        answers, accepted = self._curator.until(query, noise, lambda _, answer: accept(answer), max_tries)
        return answers[0], bool(accepted[0])

    def scan(self, query: Histogram, noise: Noise, step: int) -> Scan:
        """Return the noisy count of every bin: iterate over its ``blocks()``."""
        return self._curator.scan(query, noise, step)

    def sparse(self, query: Histogram, noise: Noise, threshold: int, size: int) -> BinCounts:
        """Return at most ``size`` bins, sampled by priority among those whose noisy count reaches the threshold."""
        return next(self._curator.sparse(query, noise, threshold, size))

    def ask(self, procedure: Procedure) -> np.ndarray:
        """Return a procedure's answer: a private answer that is not noise on a sum."""
        return np.asarray(self._curator.ask(procedure)[0])

    def unproven(self, query: Query, sampler: Sampler, claimed: Cost, reason: str) -> np.ndarray:
        """Return ``sampler(exact answer, generator)``: published noise without a proof of privacy."""
        return np.asarray(self._curator.unproven(query, sampler, claimed, reason)[0])

    def reveal(self, what: str, compute: Callable[[Sample], T], reason: str) -> T:
        """Return something that is not private at all, computed on a sample of this run alone."""
        return self._curator.reveal(what, compute, reason)

    def leak(self, what: str, why: str, compute: Callable[[Sample], T]) -> T:
        """Return something chosen on the exact data that ε does not count: every record names the leak."""
        return self._curator.leak(what, why, compute)

    def without(self, attributes: Sequence[str]) -> OneRunCurator:
        """Return a curator of the same rows without these attributes."""
        return OneRunCurator(self._curator.without(attributes))
