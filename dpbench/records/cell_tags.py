"""The tags of a cell in MLflow: the one place where they are made."""

from dataclasses import dataclass

from dpbench.base.version import __version__
from dpbench.records import names
from dpbench.records.leaks import Leak


@dataclass(frozen=True)
class Provenance:
    """What a cell's numbers come from, apart from its configuration."""

    synthetic: bool
    rows_dropped: int
    plugin_version: str
    numpy: str
    cpu: str
    """The machine and its BLAS kernels: with the same NumPy on the same CPU, the same command gives the same bits."""
    sensitivity: str = ""
    """The rule of the mechanism's bounds, or an empty text."""
    remarks: str = ""
    """What a reader must know about the attack on this table, in sentences, or an empty text."""
    digest_key: str = ""
    """The short name of the key of the table's digest; empty if the table is public, which needs none."""
    target_unit: str = ""
    target_transform: str = ""


@dataclass(frozen=True)
class Standing:
    """What may be said about a cell's privacy. The defaults are those of a failed cell."""

    noise: str
    sound: bool = False
    private: bool | None = None
    leaks: tuple[Leak, ...] = ()
    audit_passed: bool | None = None
    """None if the cell was not audited."""


def cell_tags(provenance: Provenance, standing: Standing) -> dict[str, str]:
    """Return the tags of a cell. No other function makes them."""
    tags = {
        names.SYNTHETIC: str(provenance.synthetic).lower(),
        names.VERSION: __version__,
        names.NUMPY: provenance.numpy,
        names.CPU: provenance.cpu,
        names.PLUGIN_VERSION: provenance.plugin_version,
        names.SENSITIVITY: provenance.sensitivity,
        names.REMARKS: provenance.remarks or None,
        names.DIGEST_KEY: provenance.digest_key or None,
        names.TARGET_UNIT: provenance.target_unit or None,
        names.TARGET_TRANSFORM: provenance.target_transform or None,
        names.NOISE: standing.noise,
        names.SOUND: str(standing.sound and standing.audit_passed is not False).lower(),
        names.LEAKS: ",".join(dict.fromkeys(leak.what for leak in standing.leaks)),
        names.LEAKS_WHY: "; ".join(f"{leak.what}: {leak.why}" for leak in standing.leaks),
        names.ROWS_DROPPED: str(provenance.rows_dropped) if provenance.rows_dropped else None,
        names.PRIVATE: None if standing.private is None else str(standing.private).lower(),
        names.AUDIT: {True: "passed", False: "failed", None: None}[standing.audit_passed],
    }
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in tags.items() if value is not None
    }
