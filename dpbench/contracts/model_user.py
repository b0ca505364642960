"""What mechanisms and attacks have in common: they work with some models and tables, and say why not with others."""

from dataclasses import dataclass
from typing import ClassVar

from dpbench.contracts.component import Component
from dpbench.contracts.model import Capability, Model
from dpbench.data.geometry import Geometry


@dataclass(frozen=True)
class ModelUser(Component):
    """The base class of mechanisms and attacks: a component that is used on a model, if the two fit together."""

    needs: ClassVar[frozenset[Capability]] = frozenset()
    mismatch: ClassVar[str] = "{name} does not fit {model}"
    """The beginning of the sentence for a pruned cell."""

    def refuses(self, model: Model, geometry: Geometry) -> str | None:
        """Return why this component cannot be used on the model and such a table, as the end of a sentence, or None if it can."""
        return None

    def unsupported(self, model: Model, geometry: Geometry) -> str | None:
        """Return the sentence for a pruned cell, or None if the component and the model fit together."""
        missing = sorted(self.needs - model.provides)
        reason = f"the model provides no {' and no '.join(missing)}" if missing else self.refuses(model, geometry)
        return f"{self.mismatch.format(name=self.name, model=model.name)}: {reason}." if reason else None
