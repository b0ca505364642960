"""A model that is checked, and the made-up rows on which it is fitted."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpbench.contracts.fit import Fit
from dpbench.contracts.model import Capability, Model, Problem
from dpbench.data.samples import Sample, WholeSample
from dpbench.data.scaling import Rows
from dpbench.privacy.curator import Curator
from dpbench.privacy.curator_view import closed
from dpbench.privacy.ledger import Budget
from dpbench.privacy.noise import Draws
from dpbench.testing.checks import NotApplicable
from dpbench.testing.components import ComponentCase
from dpbench.testing.designs import design_rows

MARGINS = np.linspace(-6, 6, 1_201)
"""The values of x'w at which losses are looked at."""


@dataclass(frozen=True, eq=False)
class ModelCase(ComponentCase):
    """A model that is checked."""

    component: Model

    def problem(self, rows: Rows | Sample, model: Model | None = None) -> Problem:
        """Return the problem of rows, in one run, or of a sample."""
        sample = WholeSample(rows) if isinstance(rows, Rows) else rows
        curator = Curator(sample, Draws(0, "conformance", [(run, 0) for run in range(sample.runs)]), Budget())
        return (model or self.component).prepare(closed(curator))

    @cached_property
    def rows(self) -> Rows:
        """The rows of an ordinary table."""
        return design_rows("regular", self.component)

    @cached_property
    def regular(self) -> Problem:
        """The problem of the ordinary table."""
        return self.problem(self.rows)

    def exact(self, sample: Sample) -> Fit:
        return self.problem(sample).exact(sample)

    @property
    def targets(self) -> tuple[float, ...]:
        """Values of the target, both ends included."""
        return (-1.0, -0.3, 0.0, 0.6, 1.0) if self.component.target == "real" else (0.0, 1.0)

    def along(self, y: float, margins: np.ndarray = MARGINS) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return x, y and w of rows whose x'w are these margins."""
        return margins[:, None], np.full(len(margins), y), np.ones(1)

    def require(self, capability: Capability) -> None:
        if capability not in self.component.provides:
            raise NotApplicable(f"the model does not provide {capability!r}")


def overrides(problem: Problem, method: str) -> bool:
    """Return whether a problem has a method of its own instead of the base class's, which refuses."""
    return getattr(type(problem), method) is not getattr(Problem, method)
