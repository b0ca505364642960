"""The control for every claim about a sensitive attribute: a fit without the attribute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from dpbench.accounting.costs import Currency
from dpbench.base.options import option, options_of
from dpbench.contracts.fit import Fit
from dpbench.contracts.hooks import hookimpl
from dpbench.contracts.mechanism import Mechanism, fit_closed
from dpbench.contracts.model import Model, Problem
from dpbench.data.geometry import Geometry
from dpbench.privacy.curator import Curator
from dpbench.privacy.ledger import Budget
from dpbench.privacy.queries.polynomial import Sensitivity, SensitivityKey
from dpbench.registry.lookup import registry

from .._sensitive import lacks_sensitive


@dataclass(frozen=True)
class DropSensitive(Mechanism):
    """Remove the sensitive columns, then run any other mechanism with its default options; the removed columns get weight zero.

    An attack on such a model learns no more about the attribute than the other attributes and the target reveal. ``dpc`` and
    every attack on a sensitive attribute must be compared with this control.

    Formula: that of ``base`` on the remaining columns.

    Guarantee: that of ``base``; none with the default ``base=no_privacy``. Status and health are those of the base.

    Public: what ``base`` assumes to be public, and which attributes are sensitive.

    Cost: that of ``base`` on fewer columns.

    Reference: none; published attacks on a sensitive attribute leave this control out.
    """

    name: ClassVar[str] = "drop_sensitive"
    handles_persons: ClassVar[bool] = True
    guarantee: ClassVar[str] = "its base's"
    expected_failures: ClassVar[Mapping[str, str]] = {
        "ledger within budget": "the default base releases the exact fit of the other columns",
        "limit": "the sensitive columns have no weight at any ε",
    }

    base: str = option("no_privacy", help="the mechanism that fits the remaining columns, with its default options")
    sensitivity: Sensitivity = option("auto", help="the same option of the base, if it has one; auto: by the key")
    sensitive: tuple[str, ...] = option(
        (), names_attributes=True, help="the sensitive attributes; empty: those that the dataset declares"
    )

    def counted(self) -> Currency:
        return self._base().counted()

    def uses_budget(self) -> bool:
        return self._base().uses_budget()

    def uses_moments_alone(self) -> bool:
        return self._base().uses_moments_alone()

    def sensitivity_rule(self, key: SensitivityKey = "tight") -> Sensitivity | None:
        return self._base().sensitivity_rule(key)

    def with_sensitivity(self, key: SensitivityKey) -> Self:
        # the option has no effect where the base has none, so all of its values are one cell
        return replace(self, sensitivity=self.sensitivity_rule(key) or "auto")

    def refuses(self, model: Model, geometry: Geometry) -> str | None:
        base = self._base()
        if reason := lacks_sensitive(self.sensitive, geometry, "mechanism.sensitive=[...]"):
            return reason
        remaining = geometry.without(self.sensitive or geometry.sensitive)
        if not remaining.features:
            return "no attribute remains"
        reason = base.unsupported(model, remaining)
        return reason.removesuffix(".") if reason else None

    def fit(self, curator: Curator, problem: Problem, budget: Budget) -> Fit:
        geometry = curator.geometry
        sensitive = self.sensitive or geometry.sensitive
        narrow = curator.without(sensitive)
        fit = fit_closed(self._base(), problem.with_geometry(narrow.geometry), narrow, budget)
        remaining = np.ones(geometry.dimension, dtype=bool)
        for attribute in sensitive:
            remaining[list(geometry.positions(attribute))] = False
        weights = np.zeros((len(fit.weights), geometry.dimension))
        weights[:, remaining] = fit.weights
        left_out = "without the sensitive columns, the coefficients of the others are about another regression"
        return replace(fit, weights=weights, uncertainty=left_out)

    def _base(self) -> Mechanism:
        cls: type[Mechanism] = registry().get("mechanism", self.base)
        chooses = cls.published_sensitivity is not None and any(opt.name == "sensitivity" for opt in options_of(cls))
        return cls.build({"sensitivity": self.sensitivity} if chooses else {})


@hookimpl
def dpbench_mechanisms() -> list[type[Mechanism]]:
    return [DropSensitive]
