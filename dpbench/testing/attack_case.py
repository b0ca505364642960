"""An attack that is checked, and what it is run against: releases of made-up rows."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpbench.base.random_streams import stream
from dpbench.contracts.attack import Attack, AttackTarget
from dpbench.contracts.metric import Predictions, evaluate
from dpbench.contracts.model import Model
from dpbench.data.blocks import Block
from dpbench.data.scaling import Rows
from dpbench.data.splits import Splits
from dpbench.registry.lookup import registry
from dpbench.testing.checks import Failure, NotApplicable
from dpbench.testing.components import ComponentCase
from dpbench.testing.designs import design_rows
from dpbench.testing.model_case import ModelCase

SPLITS = Splits(repeats=10, folds=2)
RELEASED_EPSILON = 0.01


@dataclass(frozen=True, eq=False)
class AttackCase(ComponentCase):
    """An attack that is checked."""

    component: Attack

    @cached_property
    def model(self) -> Model:
        """The first model that the attack runs on."""
        models: list[Model] = [registry().get("model", name)() for name in registry().names("model")]
        closed_forms = sorted(models, key=lambda model: (not model.moments_alone, model.name))
        for model in closed_forms:
            if not self.component.unsupported(model, design_rows("regular", model).geometry):
                return model
        raise Failure(f"It runs on none of the models {', '.join(model.name for model in models)}.")

    def require_attack(self) -> None:
        if self.component.attacks_nothing:
            raise NotApplicable("it is the placeholder that attacks nothing")

    @cached_property
    def rows(self) -> Rows:
        return design_rows("regular", self.model)

    @cached_property
    def block(self) -> Block:
        """Splits of the ordinary table into halves: each row trains one of two runs."""
        labels = {repeat: SPLITS.assign(self.rows.n, self.rows.n, 0, "conformance", repeat) for repeat in range(SPLITS.repeats)}
        return Block(lambda _: self.rows, labels.__getitem__, range(SPLITS.repeats), SPLITS.parts, SPLITS.tests)

    def exact(self, block: Block) -> np.ndarray:
        """Return the weights of the non-private fits of a block."""
        return np.asarray(ModelCase(self.model).exact(block.train).weights)

    def unrelated(self, block: Block, seed: int = 0) -> np.ndarray:
        """Return weights that do not depend on any row: what a release at ε → 0 is."""
        return stream(seed, "conformance", "unrelated").normal(size=(block.train.runs, self.rows.geometry.dimension))

    def run(
        self,
        fit: Callable[[Block], np.ndarray],
        epsilon: float = np.inf,
        memory: dict[Hashable, Any] | None = None,
        seed: int = 0,
    ) -> dict[str, np.ndarray]:
        """Run the attack against the releases that ``fit`` makes; shadow fits are made in the same way."""
        remembered: dict[Hashable, Any] = {} if memory is None else memory

        def remember(key: Hashable, compute: Callable[[], Any]) -> Any:
            if key not in remembered:
                remembered[key] = compute()
            return remembered[key]

        metrics = [metric for metric in registry().metrics_of(self.model) if metric.compare is None]
        block = self.block
        return self.component.run(
            AttackTarget(
                ModelCase(self.model).problem(block.train),
                fit(block),
                block.train,
                block.test,
                epsilon,
                block,
                fit,
                lambda *names: stream(seed, "conformance", "attack", *names),
                lambda weights, sample: evaluate(metrics, Predictions(weights, sample)),
                remember,
            )
        )
