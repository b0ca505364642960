"""Release a model: one fit on all rows, with secure noise, and no number that was computed without noise."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Any, Literal

from dpbench.accounting.costs import Cost
from dpbench.audit.fit_check import check_fit, claims_privacy, runs_plugin
from dpbench.audit.subject import AuditSettings
from dpbench.base.errors import Refused, Unfinished
from dpbench.base.memory import machine_memory
from dpbench.base.one_thread import one_thread
from dpbench.base.random_streams import stream
from dpbench.base.version import __version__
from dpbench.cells.audit_unit import audited, fit_made_up_rows
from dpbench.cells.budgets import budget_of, costs_on_made_up_rows
from dpbench.cells.cell import Settings
from dpbench.cells.loading import identity
from dpbench.cells.streaming import StreamedRows
from dpbench.contracts.dataset import Dataset
from dpbench.contracts.fit import OK, REPAIRED, Fit
from dpbench.contracts.mechanism import Mechanism, fit_closed
from dpbench.contracts.model import Model
from dpbench.data.geometry import Geometry, Neighbours
from dpbench.data.samples import Sample, WholeSample
from dpbench.data.scaling import scale
from dpbench.data.splits import Splits
from dpbench.data.table import Column, Table
from dpbench.inference.settings import InferenceSettings
from dpbench.privacy.curator import Curator
from dpbench.privacy.curator_view import closed
from dpbench.privacy.ledger import Budget, Ledger
from dpbench.privacy.noise import Draws
from dpbench.privacy.replay import Violation
from dpbench.privacy.secure_noise import SecureCurator
from dpbench.registry.code_digest import fit_digest
from dpbench.registry.lookup import build, registry
from dpbench.releases.interval_making import check_method, make_section, sentence_of_statement
from dpbench.releases.release_file import Release
from dpbench.releases.released_intervals import NoIntervals, ReleasedIntervals
from dpbench.sweeps.streamed_tables import needs_rows

Reserve = Callable[[Dataset, Budget, Neighbours], Callable[[], None]]
"""Enters what a fit may spend at most before noise is drawn, or refuses it; returns what takes the entry back."""

SIMULATED = (
    "NO PRIVACY IS PROMISED: the noise was drawn from a seed, so that it can be removed, and the mechanism was not replayed. "
    "This model is for experiments, and must not be published."
)

CostCheck = Callable[[Sequence[Cost]], None]
"""Called with the costs of a fit before it spends them, to refuse a fit that costs too much."""


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
    model: Model = build("model", config["model"])
    dataset: Dataset = build("dataset", config["dataset"]).for_target(model.target).for_memory(machine_memory())
    keys = ("epsilon", "delta", "budget", "accounting", "sensitivity")
    secure = noise == "secure"
    settings = Settings(**{key: config[key] for key in keys}, noise=noise, seed=0 if secure else config["seed"])
    inference = InferenceSettings(**config["inference"])
    chosen: Mechanism = build("mechanism", config["mechanism"])
    mechanism = chosen.with_sensitivity(settings.sensitivity)
    if dataset.sample_rate != 1:
        raise Refused(f"A release is fitted on all rows: dataset.sample_rate must be 1. Got {dataset.sample_rate:g} instead.")
    if dataset.resample:
        raise Refused("A release is fitted on the table's rows: dataset.resample must be false. Got true instead.")
    data = _streamed(dataset, model, mechanism) if dataset.streams() else _loaded(dataset, model, settings.seed)
    table, geometry = data.table, data.sample.geometry
    if reason := mechanism.unsupported(model, geometry):
        raise Refused(reason)
    if len(set(geometry.names)) < len(geometry.names):
        raise Refused("No column of a release may be called 'intercept', unless model.intercept=false.")
    n = int(data.sample.n[0])
    vouched_by = _replayed(settings, mechanism, model, geometry, n, inference) if secure else {}
    if check_costs is not None and secure:
        check_costs(costs_on_made_up_rows(settings, mechanism, model, geometry, n))
    draws = Draws(settings.seed, identity(dataset), [(0, 0)])
    fit, ledger = _fitted(settings, mechanism, model, data, draws, partial(reserve, dataset))
    section = make_section(fit, inference, geometry, n)
    total = ledger.total
    facts: dict[str, Any] = {"epsilon": total.epsilon, "delta": total.delta, "neighbours": ledger.neighbours}
    facts |= {**_size(data), "noise": noise}
    facts |= {"budget": settings.budget, "accounting": settings.accounting, "ledger": ledger.as_dict(), "vouched_by": vouched_by}
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
        statement=_statement(facts, dataset, data, geometry.target_column, section),
        made_by=", ".join(
            [
                f"dpbench {__version__}",
                registry().version_of(type(mechanism)),
                f"OpenDP {version('opendp')}" if secure else "simulated noise",
            ]
        ),
        inference=section,
    )


@dataclass(frozen=True)
class _Data:
    """What a release is fitted on."""

    table: Table
    """The table; of a streamed one, what is declared of it."""
    sample: Sample
    rows: int


def _size(data: _Data) -> dict[str, int]:
    """Return how many rows the table has or, where persons may have several, what is public instead."""
    table = data.table
    if table.persons is None:
        return {"rows": data.rows}
    return {"persons": table.persons.count, "rows_per_person": table.persons.rows_each}


def _table(dataset: Dataset, seed: int) -> Table:
    """Load all rows. The seed draws those of a synthetic table, as in a sweep, and no noise."""
    with _quoting_no_row(dataset):
        return dataset.select(stream(seed, identity(dataset), "table", 0 if dataset.redrawn() else -1))


def _loaded(dataset: Dataset, model: Model, seed: int) -> _Data:
    """Load all rows, and scale them."""
    table = _table(dataset, seed)
    return _Data(table, WholeSample(scale(table, dataset.scaling, model.intercept, model.target)), table.rows)


def _streamed(dataset: Dataset, model: Model, mechanism: Mechanism) -> _Data:
    """Read all rows once, which checks them; every query reads them again."""
    if reason := needs_rows(mechanism, model):
        raise Refused(reason)
    with one_thread(), _quoting_no_row(dataset):
        rows = StreamedRows(dataset, model, Splits(repeats=1, by="blocks"), seed=0)
        return _Data(rows.stream.head, rows.whole_sample(), rows.stream.rows)


@contextmanager
def _quoting_no_row(dataset: Dataset) -> Iterator[None]:
    """Refuse a dataset whose reading fails, without the error's own text, which could quote a row."""
    try:
        yield
    except Refused:
        raise
    except Exception as error:  # noqa: BLE001  a traceback could quote rows, too
        raise Refused(f"The dataset {dataset.name} cannot be loaded: {type(error).__name__}.") from None


def _replayed(
    settings: Settings, mechanism: Mechanism, model: Model, geometry: Geometry, n: int, inference: InferenceSettings
) -> dict[str, Any]:
    """Replay the mechanism on made-up rows of the table's geometry; return what vouches for its proofs, or refuse it."""
    with one_thread():
        result = audited(mechanism, model, settings, geometry, n, AuditSettings("replay"))
    if result.passed is None:
        raise Refused(f"{mechanism.name} cannot be released, because it was not replayed: {result.reason}")
    if not result.passed:
        raise Refused(f"{mechanism.name} cannot be released, because a replay refuted its claim: {result.sentence}")
    rehearsal = fit_made_up_rows(settings, mechanism, model, geometry, n)
    if isinstance(rehearsal, str):
        raise Refused(f"{mechanism.name} cannot be released: {rehearsal} No row of the table was used, and no ε is spent.")
    check_method(rehearsal, inference)
    code = fit_digest([type(mechanism), type(model)])
    versions = {"dpbench": __version__, "numpy": version("numpy"), "code": code}
    return {"audit": "replay", "passed": True, "n": result.n, **versions}


def _fitted(
    settings: Settings,
    mechanism: Mechanism,
    model: Model,
    data: _Data,
    draws: Draws,
    reserve: Callable[[Budget, Neighbours], Callable[[], None]],
) -> tuple[Fit, Ledger]:
    """Fit all rows and return the fit with its ledger. ``draws`` are the streams of simulated noise."""
    sample, leaks, secure = data.sample, data.table.leaks, settings.noise == "secure"
    budget = budget_of(settings, mechanism, model, sample.geometry, int(sample.n[0]))
    curator = SecureCurator(sample, budget, leaks) if secure else Curator(sample, draws, budget, leaks)
    ledger = curator.ledger
    checked = runs_plugin(mechanism, model)
    curator.tape = [] if checked else None
    take_back = reserve(budget, ledger.neighbours) if secure else lambda: None
    start = time.perf_counter()
    try:
        fit = fit_closed(mechanism, model.prepare(closed(curator)), curator, budget)
        if checked and claims_privacy(ledger):
            check_fit(mechanism, model, curator, sample, fit, time.perf_counter() - start)
    except Violation as violation:
        raise Refused(f"{mechanism.name} cannot be released. {violation}") from None
    except (Refused, Unfinished):
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001  its text, or a traceback, could quote rows
        spent = f" What it had released is spent: ε = {ledger.total.epsilon:.6g}." if ledger.entries else ""
        raise Unfinished(f"The fit of {mechanism.name} failed with {type(error).__name__}.{spent}") from None
    finally:
        if not ledger.entries:  # each answer is entered before it is drawn, so nothing was
            take_back()
    if not (ledger.sound and ledger.total.private and ledger.entries) or (secure and ledger.leaks):
        raise Refused(f"{mechanism.name} cannot be released: its ledger has no proof of a finite ε.")
    if fit.status[0] not in (OK, REPAIRED):
        raise Unfinished(
            f"The fit of {mechanism.name} ended as {str(fit.status[0])!r}, so there is no model to write. Its ε = "
            f"{ledger.total.epsilon:.6g} is spent nevertheless: fitting again spends it again."
        )
    return fit, ledger


def _statement(
    facts: Mapping[str, Any], dataset: Dataset, data: _Data, target: Column | None, section: ReleasedIntervals | NoIntervals
) -> str:
    """Return what is promised, to whom, under which assumptions, and what is not."""
    table, epsilon, delta = data.table, facts["epsilon"], facts["delta"]
    exact = f"ε = {epsilon:.6g}" + (f" and δ = {delta:.3g}" if delta else "")
    failure = f", except with probability {delta:.3g}" if delta else ""
    bounds = "bounds and the norm of a row" if dataset.scaling == "ball" and table.radius is not None else "bounds"
    if table.persons is None:
        size, unit, other = f"{data.rows:,} rows", "row", "another"
        scope = "The promise is for one row: who is in several rows, or resembles many, is protected less."
    else:
        size = f"{table.persons.count:,} persons, of whom each has at most {table.persons.rows_each} rows that count"
        unit, other = "person", "another with any other rows"
        scope = "The promise is for one person with all rows: how many rows a person has is protected, too."
    if facts["noise"] == "simulation":
        leaks = [f"LEAK: {leak.why}." for leak in table.leaks]
        return " ".join([*_warning(dataset), SIMULATED, *leaks, f"With secure noise, the answers would cost {exact}."])
    sentences = [
        f"This model was fitted once on {size}{',' if table.persons else ''} with differential privacy, {exact}.",
        f"Had any one {unit} been {other}, every possible model would have been at most e^ε times as likely, or as unlikely, to "
        f"come out{failure}. {_strength(epsilon, unit)}",
        scope,
        f"Taken as public, and not protected: that there are {size}; the columns and their {bounds}, which the "
        "owner declared, and which must not have been read from the rows; the mechanism and its options.",
        "Before the fit, the mechanism was replayed on made-up neighbouring tables of up to "
        f"{facts['vouched_by']['n']:,} rows, and kept what it claims. That replaces none of the proofs that the ledger names.",
        "The noise was drawn by OpenDP from the operating system's randomness; no seed exists.",
        "Releasing more from the same rows costs more: the ε of all releases add up. Choosing this model, or its options, by "
        "looking at the same rows is a release that is not counted here.",
        "No error of this model was computed: a number computed from the private rows would have to be paid for.",
        sentence_of_statement(section),
    ]
    if target is not None and target.transform is not None:
        name = target.transform.name
        sentences.append(
            f"The model was fitted to a transformed target ({name}), so a prediction is close to its median, not to its mean."
        )
    return " ".join([*_warning(dataset), *sentences])


def _warning(dataset: Dataset) -> list[str]:
    text = "THE ROWS ARE SYNTHETIC: they belong to no person, and this file is a demonstration."
    return [text] if dataset.synthetic else []


def _strength(epsilon: float, unit: str = "row") -> str:
    """Return what the factor e^ε means for a reader who does not know ε."""
    factor = f"{math.exp(epsilon):.3g}" if epsilon < 700 else "more than 10^300"
    if epsilon <= 1:
        return f"The odds of any guess about a single {unit} change by a factor of at most {factor}."
    verdict = "is a weak promise" if epsilon <= 5 else "promises next to nothing"
    return f"The odds of a guess about a single {unit} may change by a factor of {factor}: that {verdict}."
