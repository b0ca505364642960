"""The hooks of dpbench, the marker that a plugin's functions carry, and the kinds of what they return.

A plugin is a module with one or more of these functions. Each returns a list: component *classes*, or metrics or papers as
objects::

    from dpbench import Mechanism, hookimpl

    @hookimpl
    def dpbench_mechanisms():
        return [MyMechanism]

The distribution's metadata announces the module, in the entry-point group ``dpbench``::

    [project.entry-points.dpbench]
    my_mechanism = "my_package.my_mechanism"
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from dpbench.contracts.attack import Attack
    from dpbench.contracts.dataset import Dataset
    from dpbench.contracts.mechanism import Mechanism
    from dpbench.contracts.metric import Metric
    from dpbench.contracts.model import Model
    from dpbench.contracts.paper import Paper

PROJECT = "dpbench"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def dpbench_mechanisms() -> Iterable[type[Mechanism]]:  # type: ignore[empty-body]
    """Return the mechanism classes of this plugin (:class:`dpbench.contracts.mechanism.Mechanism`)."""


@hookspec
def dpbench_models() -> Iterable[type[Model]]:  # type: ignore[empty-body]
    """Return the model classes of this plugin (:class:`dpbench.contracts.model.Model`)."""


@hookspec
def dpbench_datasets() -> Iterable[type[Dataset]]:  # type: ignore[empty-body]
    """Return the dataset classes of this plugin (:class:`dpbench.contracts.dataset.Dataset`)."""


@hookspec
def dpbench_attacks() -> Iterable[type[Attack]]:  # type: ignore[empty-body]
    """Return the attack classes of this plugin (:class:`dpbench.contracts.attack.Attack`)."""


@hookspec
def dpbench_papers() -> Iterable[Paper]:  # type: ignore[empty-body]
    """Return the papers of this plugin (:class:`dpbench.contracts.paper.Paper`): presets and claims in a folder."""


@hookspec
def dpbench_metrics() -> Iterable[Metric]:  # type: ignore[empty-body]
    """Return the metrics of this plugin (:class:`dpbench.contracts.metric.Metric`): objects, not classes."""


@dataclass(frozen=True)
class Kind:
    """A kind of offer. Its name says which hook returns it, and which class in which module of this room is its contract."""

    name: str

    @property
    def hook(self) -> str:
        """The function of a plugin that returns the offers, as in ``dpbench_models``."""
        return f"dpbench_{self.name}s"

    def load(self) -> Any:
        """Import the contract and return its class: what an offer must be derived from, or be an instance of."""
        return getattr(importlib.import_module(f"dpbench.contracts.{self.name}"), self.name.capitalize())


KINDS = {name: Kind(name) for name in ("mechanism", "model", "dataset", "attack")}
"""The kinds of components: each is a group on the command line."""

OFFERS = {**KINDS, "metric": Kind("metric"), "paper": Kind("paper")}
"""Everything that a plugin can offer: component classes, and metrics and papers as objects."""
