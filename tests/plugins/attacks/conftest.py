"""What the tests of the attacks share: a target to attack that is built by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpbench.base.random_streams import stream
from dpbench.contracts.attack import AttackTarget
from dpbench.contracts.model import Problem
from dpbench.data.blocks import Block


@pytest.fixture(scope="session")
def attack_target(score: Callable[..., dict[str, np.ndarray]]) -> Callable[..., AttackTarget]:
    """Builds a target from a problem, a block and the weights of its runs; ``refit`` returns the weights of shadow fits."""

    def target(
        problem: Problem,
        block: Block,
        weights: np.ndarray,
        refit: Callable[[Block], np.ndarray] | None = None,
        seed: int = 0,
        epsilon: float = 1.0,
    ) -> AttackTarget:
        memory: dict[Any, Any] = {}

        def remember(key: Any, compute: Callable[[], Any]) -> Any:
            if key not in memory:
                memory[key] = compute()
            return memory[key]

        def evaluated(weights: np.ndarray, sample: Any) -> dict[str, np.ndarray]:
            return score("linear" if problem.geometry.target == "real" else "logistic", weights, sample)

        def named_stream(*names: Any) -> np.random.Generator:
            return stream(seed, *names)

        return AttackTarget(
            problem,
            weights,
            block.train,
            block.test,
            epsilon,
            block,
            refit or (lambda other: weights),
            named_stream,
            evaluated,
            remember,
        )

    return target
