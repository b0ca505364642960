"""Hold the record of one cell: what a worker returns, what the store keeps, and what reports are made from."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np

from dpbench.records import names
from dpbench.records.cell_tags import AUDIT_TAGS, guarantee_of
from dpbench.records.leaks import UNPROVEN_NOISE, Leak

State = Literal["run", "resumed", "failed", "pruned"]

COLUMNS = ("state", "reason", "primary", "run_id", "key")
"""The columns of ``records.parquet`` that are neither a parameter, nor a tag, nor a metric."""


class CellDetail(Protocol):
    """What a cell holds apart from its numbers: in memory if it just ran, else read from its files on demand."""

    @property
    def config(self) -> Mapping[str, Any]: ...
    @property
    def ledger(self) -> Mapping[str, Any]: ...
    @property
    def runs(self) -> Mapping[str, np.ndarray]: ...
    @property
    def curves(self) -> Mapping[str, Mapping[str, np.ndarray]]: ...
    @property
    def clipped(self) -> Mapping[str, float]: ...
    @property
    def intervals(self) -> Mapping[str, Mapping[str, float]]: ...
    @property
    def traceback(self) -> str: ...


@dataclass(frozen=True)
class DetailInMemory:
    """The detail of a cell that just ran. It is empty for a pruned cell."""

    config: Mapping[str, Any] = field(default_factory=dict)
    """The complete configuration, defaults included."""
    ledger: Mapping[str, Any] = field(default_factory=dict)
    runs: Mapping[str, np.ndarray] = field(default_factory=dict)
    """One column per name, one row per run."""
    curves: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)
    """Curves over the runs, such as ``utility/roc``: ``x``, and the summaries of a metric at each of its points."""
    clipped: Mapping[str, float] = field(default_factory=dict)
    """The share of each feature's values that lie outside its declared bounds: as private as the rows."""
    intervals: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """By coefficient: the ``estimate`` and the interval of the first run (``low``, ``high``), the non-private one
    (``reference_low``, ``reference_high``), the ``truth``, and over all runs the ``coverage``, that of the non-private intervals
    (``reference_coverage``), and the median ``width``."""
    traceback: str = ""
    """Where a failed cell failed: lines of code, and no values."""


@dataclass(frozen=True)
class CellRecord:
    """A cell's public names and numbers. It holds no private row. docs/records.md explains every name."""

    state: State
    params: Mapping[str, str]
    tags: Mapping[str, str] = field(default_factory=dict)
    """The tags that :func:`cell_tags` returns. The properties below read them."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """Finite numbers by their public names, suffixes included."""
    primary: str = ""
    reason: str = ""
    """Why the cell was pruned, or why it failed."""
    run_id: str = ""
    """The cell's run in the store, if it is recorded."""
    key: str = field(default="", compare=False)
    detail: CellDetail = field(default_factory=DetailInMemory, repr=False, compare=False)

    @property
    def done(self) -> bool:
        """Whether the cell has results."""
        return self.state in ("run", "resumed")

    @property
    def private(self) -> bool:
        """Whether everything released is accounted with a finite ε."""
        return self.tags.get(names.PRIVATE) == "true"

    @property
    def sound(self) -> bool:
        """Whether every answer carries a proof, nothing leaks, and the audit of the mechanism passed."""
        return self.tags.get(names.SOUND) == "true"

    @property
    def synthetic(self) -> bool:
        """Whether the rows were drawn and not collected."""
        return self.tags.get(names.SYNTHETIC) == "true"

    @property
    def remarks(self) -> str:
        """What a reader must know about this table and the attack on it, in sentences."""
        return self.tags.get(names.REMARKS, "")

    @property
    def simulated(self) -> bool:
        """Whether the noise was drawn from a seed."""
        return self.tags.get(names.NOISE) == "simulation"

    @property
    def secure(self) -> bool:
        """Whether the noise came from the operating system's randomness."""
        return self.tags.get(names.NOISE) == "secure"

    @property
    def sensitivity(self) -> str:
        """The rule of the mechanism's bounds; empty if its bound is the same under every rule."""
        return self.tags.get(names.SENSITIVITY, "")

    @property
    def target_unit(self) -> str:
        """The unit of the target; empty if it is not declared."""
        return self.tags.get(names.TARGET_UNIT, "")

    @property
    def target_transform(self) -> str:
        """What the target was transformed by before it was scaled; empty if it was not."""
        return self.tags.get(names.TARGET_TRANSFORM, "")

    @property
    def leaks(self) -> tuple[Leak, ...]:
        """What reached the result without being paid for. Without the ledger's file, the reasons are empty."""
        listed = self.detail.ledger.get("leaks", ()) if self._leak_names else ()
        return tuple(Leak(leak["what"], leak["why"]) for leak in listed) or tuple(Leak(name, "") for name in self._leak_names)

    @property
    def _leak_names(self) -> list[str]:
        return [name for name in self.tags.get(names.LEAKS, "").split(",") if name]

    @property
    def ranked(self) -> bool:
        """Whether it may appear in a ranking: it is private, proven, without a leak, and no audit failed."""
        return self.done and guarantee_of(self.tags) in ("sound", "claimed")

    @property
    def refuted(self) -> bool:
        """Whether an audit showed that the mechanism reveals more than it claims."""
        return guarantee_of(self.tags) == "refuted"

    @property
    def guarantee(self) -> str:
        """What may be said about its privacy, in a few plain words: what is never ranked is in capitals."""
        word = guarantee_of(self.tags)
        if word in ("sound", "claimed", "not_private"):
            return word if word != "not_private" else "NOT PRIVATE"
        if word == "no_weights":
            return "NO WEIGHTS"
        leaks = ", ".join(name for name in self._leak_names if name != UNPROVEN_NOISE.what)
        return ", ".join(filter(None, [word.upper() if word != "leaks" else "", leaks and f"LEAKS {leaks}"]))

    @property
    def guarantee_why(self) -> str:
        """What the audit found, or why there was none: a sentence, empty if there is nothing to say."""
        return self.tags.get(names.GUARANTEE_WHY, "")

    @property
    def replayed_n(self) -> int:
        """The rows of the largest replayed table, if it is smaller than the cell's own size class; else 0."""
        return int(self.tags.get(names.REPLAYED_N, 0))

    @property
    def table_is_public(self) -> bool:
        """Whether anyone may see the rows: the digest of a private table has a key."""
        return names.DIGEST_KEY not in self.tags

    def metric(self, name: str, suffix: str = "median") -> float | None:
        """Return a summary of a metric over the runs. A metric with a single value has the same value for every suffix."""
        return self.metrics.get(f"{name}_{suffix}", self.metrics.get(name))

    def error(self, suffix: str = "median") -> float | None:
        """Return the primary metric, by which cells are ordered."""
        return self.metric(f"utility/{self.primary}", suffix)

    def error_in_unit(self) -> float | None:
        """Return the primary metric in the target's own unit; None if it is measured in no such unit."""
        return self.metric(f"utility/{self.primary}{names.IN_UNIT}")

    def reference(self, name: str) -> float | None:
        """Return the primary metric of the non-private fit (``no_privacy``) or of the ``mean_predictor``."""
        return self.metric(f"reference/{name}/{self.primary}")

    def reference_in_unit(self, name: str) -> float | None:
        """Return a reference's primary metric in the target's own unit; None if it is measured in no such unit."""
        return self.metric(f"reference/{name}/{self.primary}{names.IN_UNIT}")

    @property
    def failed_share(self) -> float:
        """The share of the runs that lost everything, which a median hides; 0 also where it is not recorded."""
        return self.metrics.get(names.FAILED_SHARE, 0.0)

    @property
    def attacked(self) -> bool:
        """Whether an attack measured something on this cell. The attack that is named may do nothing."""
        return any(name.startswith("attack/") for name in self.metrics)

    @property
    def versions(self) -> dict[str, str]:
        """What must agree for the same command to give the same bits."""
        tags = {"dpbench": names.VERSION, "plugins": names.PLUGIN_VERSION, "NumPy": names.NUMPY, "processor and BLAS": names.CPU}
        return {part: self.tags.get(tag, "") for part, tag in tags.items()}

    def as_columns(self) -> dict[str, Any]:
        """Return the row of ``records.parquet``: everything except the detail."""
        return {**{name: getattr(self, name) for name in COLUMNS}, **self.params, **self.tags, **self.metrics}

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any], detail: CellDetail) -> "CellRecord":
        """Make the record again from a row of ``records.parquet``."""
        fields: dict[str, Any] = {name: columns.get(name) or "" for name in COLUMNS}
        rest = {name: value for name, value in columns.items() if name not in COLUMNS and value is not None}
        metrics = {name: float(value) for name, value in rest.items() if "/" in name and math.isfinite(value)}
        tags = {name: str(value) for name, value in rest.items() if name.startswith("dpbench.")}
        params = {name: str(value) for name, value in rest.items() if name not in tags and "/" not in name}
        return cls(params=params, tags=tags, metrics=metrics, detail=detail, **fields)

    def with_audit_tags(self, tags: Mapping[str, str]) -> "CellRecord":
        """Return the record with these tags in the place of those that an audit decides."""
        kept = {name: text for name, text in self.tags.items() if name not in AUDIT_TAGS}
        return replace(self, tags={**kept, **tags})

    @property
    def accounted(self) -> float:
        """The accounted ε to four digits. Cells are compared at equal accounted ε: papers count ε in several units."""
        return float(f"{self.metrics.get(names.EPSILON_ACCOUNTED, math.inf):.4g}")

    @property
    def problem(self) -> tuple[tuple[str, str], ...]:
        """All parameters except the mechanism and ε: only errors on the same problem can be compared."""
        return tuple(sorted(item for item in self.params.items() if item[0].partition(".")[0] not in ("mechanism", "epsilon")))

    @property
    def epsilon(self) -> float | None:
        """The requested ε; None if the mechanism uses no budget, so that the cell stands for every ε."""
        return float(self.params["epsilon"]) if "epsilon" in self.params else None


def label(cell: CellRecord) -> str:
    """Return the mechanism's name, with those of its options that the sweep varied."""
    options = [f"{key.partition('.')[2]}={value}" for key, value in cell.params.items() if key.startswith("mechanism.")]
    return cell.params["mechanism"] + (f" ({', '.join(options)})" if options else "")


def distinguishing_params(cells: Sequence[CellRecord]) -> list[str]:
    """Return the parameters that distinguish these cells, in addition to mechanism, model, dataset, attack and ε.

    Options are parameters only if the sweep varied them, so they always count.
    """
    known = ("mechanism", "model", "dataset", "attack", "epsilon")
    values: dict[str, set[str]] = {}
    for cell in cells:
        for key, text in cell.params.items():
            values.setdefault(key, set()).add(text)
    return [key for key in values if key not in (*known, "delta", "splits") or (key not in known and len(values[key]) > 1)]
