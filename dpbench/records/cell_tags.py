"""The tags of a cell in MLflow: the one place where they are made."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

from dpbench.base.version import __version__
from dpbench.records import names
from dpbench.records.leaks import UNPROVEN_NOISE, Leak

Guarantee = Literal["sound", "claimed", "unproven", "refuted", "leaks", "no_weights", "not_private"]
"""What may be said about a cell's privacy, in one word. Only sound and claimed cells are ranked."""
AUDIT_TAGS = (names.GUARANTEE, names.GUARANTEE_WHY, names.SOUND, names.REPLAYED_N)
"""The tags that an audit decides. They may change after the cell was recorded: an audit fits nothing anew."""
NOTHING_ASKED = "The fit asked the curator nothing, so nothing is proven about it."
NO_WEIGHTS = "No run has finite weights: there is no result that a guarantee could be about."


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
    """What a reader must know about this table and the attack on it, in sentences, or an empty text."""
    digest_key: str = ""
    """The short name of the key of the table's digest; empty if the table is public, which needs none."""
    target_unit: str = ""
    target_transform: str = ""
    rows_beyond_limit: int = 0
    licence: str = ""
    """The terms under which the data may be used, or an empty text."""
    citation: str = ""
    bounds_doubt: str = ""
    """Why the table's bounds may follow from its rows, or an empty text: no tag, but a reason of the cell's guarantee."""


@dataclass(frozen=True)
class Standing:
    """What may be said about a cell's privacy. The defaults are those of a failed cell."""

    noise: str
    proven: bool = False
    """Whether the fit asked something, and every answer carries a proof."""
    private: bool | None = None
    leaks: tuple[Leak, ...] = ()
    audit_passed: bool | None = None
    """None if the mechanism was not audited as it is used here."""
    why: str = ""
    """What the audit found, or why there was none: a sentence."""
    replayed_n: int = 0
    """The largest number of rows that were replayed, if it is less than the cell's own size class; else 0."""
    has_weights: bool = True
    """Whether any run has finite weights."""
    bounds_doubt: str = ""
    """Why the bounds may follow from the rows, in sentences: the proofs take them for public."""

    @property
    def guarantee(self) -> Guarantee | None:
        """None for a failed cell: it has no results that anything could be said about."""
        if self.private is None:
            return None
        if not self.private:
            return "not_private"
        if self.audit_passed is False:
            return "refuted"
        if not self.proven:
            return "unproven"
        if any(leak.what != UNPROVEN_NOISE.what for leak in self.leaks):
            return "leaks"
        if not self.has_weights:
            return "no_weights"
        return "sound" if self.audit_passed and not self.bounds_doubt else "claimed"


def guarantee_tags(standing: Standing) -> dict[str, str]:
    """Return those of AUDIT_TAGS that the cell has."""
    word = standing.guarantee
    texts = (word or "", standing.why, str(word == "sound").lower(), str(standing.replayed_n or ""))
    return {name: text for name, text in zip(AUDIT_TAGS, texts, strict=True) if text}


def audit_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """Return those of a cell's tags that an audit may change after the cell was recorded."""
    return {name: text for name, text in tags.items() if name in AUDIT_TAGS}


def guarantee_of(tags: Mapping[str, str]) -> Guarantee:
    """Return the guarantee that tags state. Cells recorded before there was a tag for it were not replayed by default."""
    if names.GUARANTEE in tags:
        return cast(Guarantee, tags[names.GUARANTEE])
    if tags.get(names.PRIVATE) != "true":
        return "not_private"
    if tags.get(names.SOUND) != "true":
        return "unproven"
    return "leaks" if tags.get(names.LEAKS) else "claimed"


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
        names.LICENCE: provenance.licence or None,
        names.CITATION: provenance.citation or None,
        names.DIGEST_KEY: provenance.digest_key or None,
        names.TARGET_UNIT: provenance.target_unit or None,
        names.TARGET_TRANSFORM: provenance.target_transform or None,
        names.NOISE: standing.noise,
        names.LEAKS: ",".join(dict.fromkeys(leak.what for leak in standing.leaks)),
        names.LEAKS_WHY: "; ".join(f"{leak.what}: {leak.why}" for leak in standing.leaks) or None,
        names.ROWS_DROPPED: str(provenance.rows_dropped) if provenance.rows_dropped else None,
        names.ROWS_BEYOND_LIMIT: str(provenance.rows_beyond_limit) if provenance.rows_beyond_limit else None,
        names.PRIVATE: None if standing.private is None else str(standing.private).lower(),
        **guarantee_tags(standing),
    }
    return {name: text for name, text in tags.items() if text is not None}
