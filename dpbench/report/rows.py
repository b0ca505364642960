"""A row: one cell as reports see it, whether it ran just now or was read back from MLflow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

State = Literal["run", "resumed", "failed", "pruned"]


@dataclass(frozen=True)
class Row:
    """A cell's public names and numbers."""

    state: State
    params: Mapping[str, str]
    tags: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    primary: str = ""
    reason: str = ""
    """Why it was pruned, or why it failed."""

    @property
    def done(self) -> bool:
        return self.state in ("run", "resumed")

    @property
    def private(self) -> bool:
        """Whether everything released is accounted with a finite ε."""
        return self.tags.get("dpbench.private") == "true"

    @property
    def ranked(self) -> bool:
        """Whether its number may stand in a ranking: private, proven, and nothing leaked."""
        return self.done and self.private and self.tags.get("dpbench.sound") == "true" and not self.tags.get("dpbench.leaks")

    @property
    def guarantee(self) -> str:
        """The privacy standing in a few plain words."""
        leaks = self.tags.get("dpbench.leaks", "")
        if not self.private:
            return "NOT PRIVATE"
        if self.tags.get("dpbench.sound") != "true":
            return "UNPROVEN"
        return f"LEAKS {leaks.replace(',', ', ')}" if leaks else "sound"

    def metric(self, name: str, suffix: str = "median") -> float | None:
        return self.metrics.get(f"{name}_{suffix}")

    @property
    def epsilon(self) -> float:
        return float(self.params["epsilon"])
