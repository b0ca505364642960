"""Release a model: one fit on all rows, with secure noise, and no number that was computed without noise."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Any, Literal, Self

import numpy as np

from dpbench.accounting.costs import Cost
from dpbench.audit.fit_check import check_fit, claims_privacy
from dpbench.audit.subject import AuditSettings
from dpbench.base.errors import Refused, Unfinished
from dpbench.base.memory import machine_memory
from dpbench.base.one_thread import one_thread
from dpbench.base.version import __version__
from dpbench.cells.audit_unit import audited, fit_made_up_rows
from dpbench.cells.budgets import budget_of, costs_on_made_up_rows
from dpbench.cells.cell import Settings
from dpbench.cells.loading import identity
from dpbench.contracts.dataset import Dataset, doubt_about_bounds
from dpbench.contracts.fit import OK, REPAIRED, Fit
from dpbench.contracts.mechanism import Mechanism, fit_closed
from dpbench.contracts.model import Model
from dpbench.data.geometry import Neighbours
from dpbench.inference.settings import InferenceSettings
from dpbench.privacy.curator import Curator
from dpbench.privacy.curator_view import closed
from dpbench.privacy.ledger import Budget, Ledger
from dpbench.privacy.noise import Draws
from dpbench.privacy.replay import Violation
from dpbench.privacy.secure_noise import NoSecureNoise, SecureCurator
from dpbench.records.names import DIVERGING
from dpbench.registry.code_digest import fit_digest
from dpbench.registry.imported_code import refuse_edited
from dpbench.registry.lookup import build, registry
from dpbench.releases.budget_book import Payer
from dpbench.releases.interval_making import check_method, make_section
from dpbench.releases.release_data import ReleaseData, read_all_rows
from dpbench.releases.release_file import Release
from dpbench.releases.statement import statement_of

Reserve = Callable[[Payer, Budget, Neighbours], Callable[[], None]]
"""Enters what a fit may spend at most before noise is drawn, or refuses it; returns what takes the entry back."""

CostCheck = Callable[[Sequence[Cost]], None]
"""Called with the costs of a fit before it spends them, to refuse a fit that costs too much."""


@dataclass(frozen=True)
class FitRequest:
    """What a configuration asks to be fitted."""

    model: Model
    dataset: Dataset
    mechanism: Mechanism
    settings: Settings
    inference: InferenceSettings

    @classmethod
    def of(cls, config: Mapping[str, Any], noise: Literal["secure", "simulation"] = "secure") -> Self:
        """Return the request of a configuration; refuse what is not a fit of all rows."""
        model: Model = build("model", config["model"])
        dataset: Dataset = build("dataset", config["dataset"]).for_target(model.target).for_memory(machine_memory())
        keys = ("epsilon", "delta", "budget", "accounting", "sensitivity")
        seed = 0 if noise == "secure" else config["seed"]
        settings = Settings(**{key: config[key] for key in keys}, noise=noise, seed=seed)
        inference = InferenceSettings(**config["inference"])
        chosen: Mechanism = build("mechanism", config["mechanism"])
        refuse_edited([type(chosen), type(model), type(dataset)])
        if dataset.sample_rate != 1:
            raise Refused(f"A release is fitted on all rows: dataset.sample_rate must be 1. Got {dataset.sample_rate:g} instead.")
        if dataset.resample:
            raise Refused("A release is fitted on the table's rows: dataset.resample must be false. Got true instead.")
        return cls(model, dataset, chosen.with_sensitivity(settings.sensitivity), settings, inference)

    @property
    def secure(self) -> bool:
        """Whether the noise is secure."""
        return self.settings.noise == "secure"

    def check(self, data: ReleaseData) -> None:
        """Refuse a table that the mechanism and the model cannot be fitted to."""
        geometry = data.sample.geometry
        if reason := self.mechanism.unsupported(self.model, geometry):
            raise Refused(reason)
        if self.secure and (doubt := doubt_about_bounds(self.dataset, data.table)):
            raise Refused(f"dataset={self.dataset.name} cannot be released. {doubt}")
        if len(set(geometry.names)) < len(geometry.names):
            raise Refused("No column of a release may be called 'intercept', unless model.intercept=false.")

    def costs(self, data: ReleaseData) -> list[Cost]:
        """Return what the answers of the fit will cost: public, because no row is used."""
        return costs_on_made_up_rows(self.settings, self.mechanism, self.model, data.sample.geometry, data.n)


def release(
    config: Mapping[str, Any],
    noise: Literal["secure", "simulation"] = "secure",
    reserve: Reserve = lambda *_: lambda: None,
    check_costs: CostCheck | None = None,
) -> Release:
    """Return the release that a configuration describes. What is not sound is refused, before it spends anything if possible.

    With ``noise="simulation"`` the noise is drawn from the configuration's seed. Then nothing is promised: the mechanism is not
    replayed, leaks of the table are allowed, nothing is reserved, and the statement says all of it.
    """
    request = FitRequest.of(config, noise)
    data = read_all_rows(request.dataset, request.model, [request.mechanism], request.settings.seed)
    request.check(data)
    vouched_by = replayed(request, data) if request.secure else {}
    if check_costs is not None and request.secure:
        check_costs(request.costs(data))
    fit, ledger = fitted(request, data, partial(reserve, data.payer))
    return released(request, data, fit, {"ledger": ledger.as_dict(request.settings.epsilon), "vouched_by": vouched_by})


def released(request: FitRequest, data: ReleaseData, fit: Fit, privacy: Mapping[str, Any]) -> Release:
    """Return the release of a fit; ``privacy`` holds its ledger, what vouches for it, and how it was chosen if it was."""
    model, mechanism, dataset, table = request.model, request.mechanism, request.dataset, data.table
    geometry, settings, ledger = data.sample.geometry, request.settings, privacy["ledger"]
    section = make_section(fit, request.inference, geometry, data.n)
    diverging = bool(np.any(fit.health.get(DIVERGING.partition("/")[2], False)))
    total = {name: ledger["total"][name] for name in ("epsilon", "delta")}
    facts = {**total, "neighbours": ledger["neighbours"], **data.size, "noise": settings.noise}
    facts |= {"budget": settings.budget, "accounting": settings.accounting, **privacy}
    noise = f"OpenDP {version('opendp')}" if request.secure else "simulated noise"
    return Release(
        model={"name": model.name, **model.options()},
        mechanism={"name": mechanism.name, **mechanism.options()},
        dataset={"name": dataset.name, "synthetic": dataset.synthetic, "licence": dataset.licence, "citation": dataset.citation},
        columns=table.columns,
        formats={name: form for name, form in table.formats.items() if name in table.attributes},
        target=table.target,
        kind=model.target,
        scaling=dataset.scaling,
        radius=table.radius,
        threshold=table.threshold if model.target == "binary" else None,
        intercept=model.intercept,
        weights=dict(zip(geometry.names, map(float, fit.weights[0]), strict=True)),
        privacy=facts,
        statement=statement_of(facts, dataset, data, section, diverging=diverging),
        made_by=", ".join([f"dpbench {__version__}", registry().version_of(type(mechanism)), noise]),
        inference=section,
    )


def replayed(request: FitRequest, data: ReleaseData) -> dict[str, Any]:
    """Replay the mechanism on made-up rows of the table's geometry; return what vouches for its proofs, or refuse it."""
    mechanism, model, settings, geometry = request.mechanism, request.model, request.settings, data.sample.geometry
    with one_thread():
        result = audited(mechanism, model, settings, geometry, data.n, AuditSettings("replay"))
    if result.passed is None:
        raise Refused(f"{mechanism.name} cannot be released, because it was not replayed: {result.reason}")
    if not result.passed:
        raise Refused(f"{mechanism.name} cannot be released, because a replay refuted its claim: {result.sentence}")
    rehearsal = fit_made_up_rows(settings, mechanism, model, geometry, data.n)
    if isinstance(rehearsal, str):
        raise Refused(f"{mechanism.name} cannot be released: {rehearsal} No row of the table was used, and no ε is spent.")
    check_method(rehearsal, request.inference)
    code = fit_digest([*registry().mechanisms_behind(mechanism.name, mechanism.options()), type(model)])
    versions = {"dpbench": __version__, "numpy": version("numpy"), "code": code}
    return {"audit": "replay", "passed": True, "n": result.n, **versions}


def fitted(
    request: FitRequest,
    data: ReleaseData,
    reserve: Callable[[Budget, Neighbours], Callable[[], None]] = lambda *_: lambda: None,
) -> tuple[Fit, Ledger]:
    """Fit all rows and return the fit with its ledger. Simulated noise is drawn from the settings' seed."""
    mechanism, model, settings = request.mechanism, request.model, request.settings
    sample, leaks = data.sample, data.table.leaks
    budget = budget_of(settings, mechanism, model, sample.geometry, data.n)
    draws = Draws(settings.seed, identity(request.dataset), [(0, 0)])
    curator = SecureCurator(sample, budget, leaks) if request.secure else Curator(sample, draws, budget, leaks)
    ledger = curator.ledger
    checked = registry().runs_plugin(mechanism, model)
    curator.tape = [] if checked else None
    take_back = reserve(budget, ledger.neighbours) if request.secure else lambda: None
    start = time.perf_counter()
    try:
        fit = fit_closed(mechanism, model.prepare(closed(curator)), curator, budget)
        if checked and claims_privacy(ledger):
            check_fit(mechanism, model, curator, sample, fit, time.perf_counter() - start)
    except Violation as violation:
        raise Refused(f"{mechanism.name} cannot be released. {violation}") from None
    except NoSecureNoise as refusal:
        raise Refused(f"{mechanism.name} cannot be released. {refusal}{_spent(ledger)}") from None
    except (Refused, Unfinished):
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001  its text, or a traceback, could quote rows
        raise Unfinished(f"The fit of {mechanism.name} failed with {type(error).__name__}.{_spent(ledger)}") from None
    finally:
        if not ledger.entries:  # each answer is entered before it is drawn, so nothing was
            take_back()
    if not (ledger.sound and ledger.total.private and ledger.entries) or (request.secure and ledger.leaks):
        raise Refused(f"{mechanism.name} cannot be released: its ledger has no proof of a finite ε.")
    if fit.status[0] not in (OK, REPAIRED):
        raise Unfinished(
            f"The fit of {mechanism.name} ended as {str(fit.status[0])!r}, so there is no model to write. Its ε = "
            f"{ledger.total.epsilon:.6g} is spent nevertheless: fitting again spends it again."
        )
    return fit, ledger


def _spent(ledger: Ledger) -> str:
    """Return what a fit had cost when it failed, as a sentence after another one."""
    return f" What it had released is spent: ε = {ledger.total.epsilon:.6g}." if ledger.entries else ""
