"""A row: one cell as reports see it, whether it ran just now or was read back from MLflow."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from dpbench.records.leaks import UNPROVEN_NOISE

CLIPPED = 0.01
"""The share of clipped targets from which on a table says so."""

State = Literal["run", "resumed", "failed", "pruned"]

PLAIN = ("state", "reason", "primary", "run_id")
"""The columns of ``records.parquet`` that are neither a parameter, nor a tag, nor a metric."""


class Detail(Protocol):
    """What a cell holds beside its numbers: in memory where it just ran, else read from its run's files when it is asked for."""

    @property
    def config(self) -> Mapping[str, Any]: ...
    @property
    def ledger(self) -> Mapping[str, Any]: ...
    @property
    def runs(self) -> Mapping[str, np.ndarray]: ...
    @property
    def curves(self) -> Mapping[str, Mapping[str, np.ndarray]]: ...


@dataclass(frozen=True)
class Bare:
    """The detail of a cell that has none: it was pruned, or it failed."""

    config: Mapping[str, Any] = field(default_factory=dict)
    ledger: Mapping[str, Any] = field(default_factory=dict)
    runs: Mapping[str, np.ndarray] = field(default_factory=dict)
    curves: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)


@dataclass(frozen=True)
class CellRecord:
    """A cell's public names and numbers."""

    state: State
    params: Mapping[str, str]
    tags: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    primary: str = ""
    reason: str = ""
    """Why it was pruned, or why it failed."""
    run_id: str = ""
    """Its run in the store, where it is recorded."""
    detail: Detail = field(default_factory=Bare, repr=False, compare=False)

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
        if not self.private:
            return "NOT PRIVATE"
        named = [name for name in self.tags.get("dpbench.leaks", "").split(",") if name not in ("", UNPROVEN_NOISE.what)]
        failed = ["AUDIT FAILED"] if self.tags.get("dpbench.audit") == "failed" else []
        unproven = failed or (["UNPROVEN"] if self.tags.get("dpbench.sound") != "true" else [])
        return ", ".join([*unproven, *([f"LEAKS {', '.join(named)}"] if named else [])]) or "sound"

    def metric(self, name: str, suffix: str = "median") -> float | None:
        """A metric over the runs; one that has a single value has it under every suffix."""
        return self.metrics.get(f"{name}_{suffix}", self.metrics.get(name))

    def as_record(self) -> dict[str, Any]:
        """As a row of ``records.parquet``: everything but the detail."""
        return {**{name: getattr(self, name) for name in PLAIN}, **self.params, **self.tags, **self.metrics}

    @property
    def accounted(self) -> float:
        """The accounted ε to four digits, by which cells are compared: what each paper calls ε is not one currency."""
        return float(f"{self.metrics.get('privacy/epsilon_accounted', math.inf):.4g}")

    @property
    def problem(self) -> tuple[tuple[str, str], ...]:
        """Everything but the mechanism and ε: only errors on the same problem can be compared."""
        return tuple((key, value) for key, value in self.params.items() if key.partition(".")[0] not in ("mechanism", "epsilon"))

    @property
    def epsilon(self) -> float:
        return float(self.params["epsilon"])


def label(row: CellRecord) -> str:
    """The mechanism, and its options where the sweep varied them."""
    own = [f"{key.partition('.')[2]}={value}" for key, value in row.params.items() if key.startswith("mechanism.")]
    return row.params["mechanism"] + (f" ({', '.join(own)})" if own else "")


def reasons(row: CellRecord) -> list[tuple[str, str]]:
    """Each leak with its reason, which may hold semicolons of its own."""
    names = [re.escape(name) for name in row.tags.get("dpbench.leaks", "").split(",") if name]
    parts = re.split(f"(?:^|; )({'|'.join(names)}): ", row.tags.get("dpbench.leaks_why", "")) if names else []
    return list(zip(parts[1::2], parts[2::2], strict=True))


def leaks(rows: Sequence[CellRecord]) -> list[str]:
    """A sentence for everything that leaked, and for noise without a proof, with the number of cells."""
    told = []
    for (what, why), count in Counter(reason for row in rows if row.done for reason in reasons(row)).items():
        word, named = ("UNPROVEN", "") if what == UNPROVEN_NOISE.what else ("LEAKS", f"{what}: ")
        told.append(f"{word} in {count} cell{'s' * (count > 1)}: {named}{why}.")
    return told


def telling(rows: Sequence[CellRecord]) -> list[str]:
    """The parameters beyond the mechanism, model, dataset and ε that tell these cells apart: swept options, and what differs."""
    known = ("mechanism", "model", "dataset", "attack", "epsilon")
    fixed = (*known, "delta", "splits")
    keys = dict.fromkeys(key for row in rows for key in row.params)
    return [key for key in keys if key not in fixed or (key not in known and len({row.params.get(key) for row in rows}) > 1)]


def broken(rows: Sequence[CellRecord]) -> list[str]:
    """A sentence for the mechanisms some of whose runs gave no weights: their numbers are over the others."""
    worst: dict[str, float] = {}
    for row in rows:
        rate = row.metrics.get("health/not_finite", 0.0)
        if rate > 0:
            worst[row.params["mechanism"]] = max(rate, worst.get(row.params["mechanism"], 0.0))
    return [
        f"{name}: up to {rate:.0%} of the runs of a cell gave no finite weights and are left out." for name, rate in worst.items()
    ]


def clipped(rows: Sequence[CellRecord]) -> list[str]:
    """A sentence for tables many of whose targets lie outside the declared bounds: errors are against the clipped ones."""
    worst: dict[str, float] = {}
    for row in rows:
        rate = row.metrics.get("health/target_clipped", 0.0)
        if rate > CLIPPED:
            worst[row.params["dataset"]] = max(rate, worst.get(row.params["dataset"], 0.0))
    return [
        f"{name}: {rate:.0%} of the targets lie outside the declared bounds and are clipped to them; the errors leave out "
        "what lies beyond."
        for name, rate in worst.items()
    ]
