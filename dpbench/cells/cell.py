"""A cell is a grid point whose configuration is complete and valid. Its content determines its key."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

from dpbench.accounting import privacy_loss
from dpbench.audit.subject import AuditSettings
from dpbench.base.options import check_options, option
from dpbench.contracts.hooks import KINDS
from dpbench.data.splits import Splits
from dpbench.inference.settings import PLAIN_INTERVALS, InferenceSettings
from dpbench.privacy import secure_noise
from dpbench.privacy.queries.polynomial import SensitivityKey
from dpbench.records.budget_free import BUDGET_KEYS
from dpbench.registry.lookup import build

NO_AUDIT = AuditSettings("none")


@dataclass(frozen=True)
class ComponentChoice:
    """A component's name and all of its options, defaults included."""

    name: str
    options: Mapping[str, Any]

    def as_config(self) -> dict[str, Any]:
        return {"name": self.name, **self.options}


@dataclass(frozen=True)
class Settings:
    """The keys of a cell that belong to no component."""

    name: ClassVar[str] = "the command"

    epsilon: float = option(1.0, low=0, open_low=True, help="the privacy budget")
    delta: float = option(1e-6, low=0, high=1, open_low=True, open_high=True, help="where ε is stated for (ε, δ) guarantees")
    budget: Literal["claimed", "matched"] = option(
        "claimed", help="ε as each paper counts it, or what makes the accounted ε equal to it"
    )
    accounting: Literal["closed", "pld"] = option("closed", help="how ε is accounted: closed forms, or the noises' own losses")
    sensitivity: SensitivityKey = option("tight", help="the smallest bound proven for each mechanism, or published: as printed")
    noise: Literal["simulation", "secure"] = option("simulation", help="from the seed, for experiments only; or from OpenDP")
    clipped: bool = option(False, help="whether to compute metrics of clipped predictions too, which takes a pass over the rows")
    exact_weights: bool = option(False, help="whether to record weights that no proof protects, if the table is not public")
    seed: int = option(0, low=0, high=2**63 - 1, help="names every random stream")

    def __post_init__(self) -> None:
        check_options(self, self.name)
        if self.accounting == "pld":
            privacy_loss.require()
        if self.noise == "secure":
            secure_noise.require()

    @property
    def flags(self) -> frozenset[str]:
        """The names of the keys that are true: they ask for something that is not done by default."""
        return frozenset(name for name, value in asdict(self).items() if value is True)

    def as_config(self) -> dict[str, Any]:
        """Return the settings by name. A flag that is off is left out: cells recorded before it existed keep their keys."""
        return {name: value for name, value in asdict(self).items() if value is not False}

    def without_budget(self) -> Self:
        """Return the settings of a cell whose mechanism uses no budget: cells under different budgets are then the same one."""
        budget = Settings()
        return replace(self, **{name: getattr(budget, name) for name in BUDGET_KEYS})


@dataclass(frozen=True)
class Cell:
    """One mechanism, model, dataset and attack at one ε on one set of splits, with all options."""

    mechanism: ComponentChoice
    model: ComponentChoice
    dataset: ComponentChoice
    attack: ComponentChoice
    splits: Splits
    settings: Settings
    versions: Mapping[str, str]
    """Versions of the components, digests of their code and of the data: part of the key."""
    audit: AuditSettings = NO_AUDIT
    """Part of the key if statistics are made, which are recorded. A replay only vouches for what is recorded."""
    inference: InferenceSettings = PLAIN_INTERVALS
    budgeted: bool = True
    """Whether the mechanism uses the budget. If not, ε, δ and how they are counted are no part of the configuration."""

    def build(self, kind: str) -> Any:
        """Return the component of this kind."""
        return build(kind, getattr(self, kind).as_config())

    @cached_property
    def config(self) -> dict[str, Any]:
        """The complete configuration, in the shape of the command line's."""
        components = {kind: getattr(self, kind).as_config() for kind in KINDS}
        audit = {"audit": asdict(self.audit)} if self.audit.level not in ("none", "replay") else {}
        inference = {"inference": keys} if (keys := self.inference.as_config()) else {}
        settings = {key: value for key, value in self.settings.as_config().items() if self.budgeted or key not in BUDGET_KEYS}
        return {**components, "splits": self.splits.as_config(), **settings, **audit, **inference}

    @property
    def record_config(self) -> dict[str, Any]:
        """The configuration with the versions of code and data: what a record must say so that the cell can be run again."""
        return {**self.config, "versions": dict(self.versions)}

    @cached_property
    def key(self) -> str:
        """The hash of the resolved configuration, the components' versions and the data's digest."""
        return digest({"config": self.config, "versions": dict(self.versions)})

    @cached_property
    def shared(self) -> str:
        """A digest that two cells share if they have the same rows, splits and sums, and so may form one work unit."""
        config = {name: self.config[name] for name in ("model", "dataset", "splits", "seed", "noise")}
        versions = {name: self.versions.get(name, "") for name in ("data", "dataset", "model", "metrics")}
        return digest({"config": config, "versions": versions})

    @cached_property
    def fit(self) -> str:
        """A digest that two cells with the same ``shared`` have in common if only their attacks differ, not their weights."""
        config = {name: self.config.get(name) for name in ("mechanism", *BUDGET_KEYS)}
        return digest({"config": config, "version": self.versions.get("mechanism", "")})


def digest(value: Any) -> str:
    """Return a short hash of plain data that does not depend on the order of its keys."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
