"""A model whose exact fit divides the shared moments in place. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import hookimpl
from dpbench.contracts.fit import Fit
from dpbench.contracts.model import Model, Problem
from dpbench.privacy.queries.polynomial import Loss

SPOILS_OTHERS = True


class Dividing(Problem):
    """Least squares that divides."""

    loss = Loss(1.0, (0.0, -2.0), 2.0, 1.0)

    def exact(self, sample: Any) -> Fit:
        xx, xy = sample.moments.xx, sample.moments.xy
        xx /= self.n[:, None, None]
        xy /= self.n[:, None]
        return Fit.good(np.linalg.solve(xx, xy[..., None])[..., 0])

    def predict(self, x: Any, weights: Any) -> Any:
        return x @ weights


@dataclass(frozen=True)
class ModelWritesMoments(Model):
    """A model whose exact fit divides the shared moments in place."""

    name: ClassVar[str] = "model_writes_moments"
    provides: ClassVar[frozenset[Any]] = frozenset({"polynomial"})

    def prepare(self, curator: Any) -> Problem:
        return Dividing(curator.geometry, curator.n)


@hookimpl
def dpbench_models() -> Any:
    return [ModelWritesMoments]
