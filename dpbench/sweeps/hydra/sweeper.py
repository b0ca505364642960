"""dpbench's Hydra sweeper: the whole grid in this process, on one engine, written by one writer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


class DpbenchSweeper(Sweeper):
    """``hydra/sweeper=dpbench``, the default: composes each choice once and runs cells, not Hydra jobs."""

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        self.params = params
        self.context: HydraContext | None = None

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        self.context = hydra_context

    def sweep(self, arguments: list[str]) -> None:
        from dpbench.sweeps.grid import expand
        from dpbench.sweeps.hydra.app import finish, request
        from dpbench.sweeps.plan import plan

        assert self.context is not None
        points = expand(arguments, self.context.config_loader)
        finish(plan(points), points[0].config, sweep=True, command=request.command)
