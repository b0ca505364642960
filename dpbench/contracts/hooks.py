"""The hooks of dpbench, and the marker that a plugin's functions carry.

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

from collections.abc import Iterable
from typing import TYPE_CHECKING

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
