"""Which checks belong to which kind of component, and what they are tried on."""

from collections.abc import Callable
from typing import Any

from dpbench.base.errors import Refused
from dpbench.contracts.hooks import OFFERS
from dpbench.testing import attacks, components, datasets, losses, mechanisms, metrics, models, papers, privacy_claims
from dpbench.testing.attack_case import AttackCase
from dpbench.testing.checks import LawCheck
from dpbench.testing.mechanism_case import MechanismCase
from dpbench.testing.model_case import ModelCase

CHECKS: dict[str, tuple[LawCheck, ...]] = {
    "mechanism": (*components.CHECKS, *mechanisms.CHECKS, *privacy_claims.CHECKS),
    "model": (*components.CHECKS, *models.CHECKS, *losses.CHECKS),
    "dataset": (*components.CHECKS, *datasets.CHECKS),
    "attack": (*components.CHECKS, *attacks.CHECKS),
    "metric": metrics.CHECKS,
    "paper": papers.CHECKS,
}
CASES: dict[str, Callable[[Any], Any]] = {
    "mechanism": MechanismCase,
    "model": ModelCase,
    "dataset": datasets.DatasetCase,
    "attack": AttackCase,
    "metric": metrics.MetricCase,
    "paper": papers.PaperCase,
}


def kind_of(component: Any) -> str:
    """Return the kind of a component: a class or an object of one of the contracts."""
    for name, kind in OFFERS.items():
        contract = kind.load()
        if isinstance(component, contract) or (isinstance(component, type) and issubclass(component, contract)):
            return name
    raise Refused(
        "A component must be derived from dpbench.Mechanism, Model, Dataset or Attack, or be a dpbench.Metric or Paper. "
        f"Got {component!r} instead."
    )


def checks_of_kind(kind: str) -> tuple[LawCheck, ...]:
    """Return the checks of a kind, in the order in which they are run."""
    return CHECKS[kind]


def case_of(component: Any) -> Any:
    """Return what the checks of a component are tried on; a class is checked with its default options."""
    built = component() if isinstance(component, type) else component
    return CASES[kind_of(component)](built)
