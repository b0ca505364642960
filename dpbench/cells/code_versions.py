"""The versions of code and data that a cell's key names, and whether this process still has them."""

from collections.abc import Mapping
from typing import Any

from dpbench.base.version import __version__
from dpbench.cells.audit_unit import AuditUnit
from dpbench.cells.cell import Cell, Settings, digest
from dpbench.cells.failures import CAUGHT
from dpbench.cells.loading import last_rows
from dpbench.contracts.dataset import Dataset
from dpbench.contracts.hooks import KINDS
from dpbench.files.digest_key import keyed_digest, known_key_id
from dpbench.registry.code_digest import fit_digest, source_digest
from dpbench.registry.imported_code import refuse_edited
from dpbench.registry.lookup import registry

ADVICE = "than the sweep: start both again."


def versions_of(components: Mapping[str, Any], settings: Settings) -> dict[str, str]:
    """Return what decides a cell's numbers and is not in its configuration: code and data. Code that was edited is refused."""
    mechanism = components["mechanism"]
    refuse_edited([*map(type, components.values()), *registry().mechanisms_behind(mechanism.name, mechanism.options())])
    return {**_code_of(components, settings), "data": _data_version(components["dataset"])}


def fit_code(cell: Cell) -> str:
    """Return the digest of the code that the cell's fit runs: an audit vouches for this code and no other."""
    classes = registry().mechanisms_behind(cell.mechanism.name, cell.mechanism.options)
    return fit_digest([*classes, registry().get("model", cell.model.name)])


def cell_difference(cell: Cell, key: str) -> str:
    """Return a sentence about code or data that this process has other than the cell's key says; empty if all is the same.

    ``key`` is the name of the digest key of the process that planned the cell. Private data can be compared only with that
    key. Rows that are loaded already are those of the cell, whatever has become of their file.
    """
    try:
        components = {kind: cell.build(kind) for kind in KINDS}
        code = _code_of(components, cell.settings)
    except CAUGHT:  # running the cell says what is wrong with the component
        return ""
    for part, version in code.items():
        if cell.versions.get(part, version) != version:
            name = f"the {part} {getattr(cell, part).name}" if part in KINDS else part
            return f"This worker has other code of {name} {ADVICE}"
    dataset = components["dataset"]
    if not (dataset.public or known_key_id() == key) or (last_rows.holds(cell.shared) and not dataset.streams()):
        return ""
    try:
        same = cell.versions.get("data") in (None, _data_version(dataset))
    except CAUGHT:  # loading the rows says what is wrong with them
        return ""
    return "" if same else f"This worker has other data of the dataset {cell.dataset.name} {ADVICE}"


def audit_difference(unit: AuditUnit) -> str:
    """Return a sentence if this process would audit other code than the unit names; empty if it is the same."""
    try:
        same = fit_code(unit.cell) == unit.code
    except CAUGHT:  # the audit says what is wrong with the component
        return ""
    names = f"the mechanism {unit.cell.mechanism.name}, the model {unit.cell.model.name} or dpbench's fits"
    return "" if same else f"This worker has other code of {names} {ADVICE}"


def _code_of(components: Mapping[str, Any], settings: Settings) -> dict[str, str]:
    classes = {kind: type(component) for kind, component in components.items()}
    versions = {kind: f"{registry().version_of(cls)} {source_digest(cls)}" for kind, cls in classes.items()}
    mechanism = components["mechanism"]
    for cls in registry().mechanisms_behind(mechanism.name, mechanism.options())[1:]:
        versions["mechanism"] += f", {registry().version_of(cls)} {source_digest(cls)}"
    metrics = registry().metrics_of(components["model"], settings.flags)
    code = digest([f"{metric.name} {source_digest(metric.function)}" for metric in metrics])
    return {**versions, "dpbench": __version__, "metrics": code}


def _data_version(dataset: Dataset) -> str:
    """Return the dataset's fingerprint, keyed if its rows are private: the hash of a cell's key must not confirm a guess."""
    fingerprint = dataset.fingerprint()
    return fingerprint if dataset.public or not fingerprint else keyed_digest("data", fingerprint.encode())
