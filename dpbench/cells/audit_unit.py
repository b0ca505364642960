"""An audit unit: a mechanism on a model, geometry, number of rows and budget, which a worker audits once for all its cells."""

import time
from dataclasses import asdict, dataclass, replace
from functools import cached_property

import numpy as np

from dpbench.audit.neighbours import common_rows
from dpbench.audit.result import AuditResult
from dpbench.audit.subject import AuditSettings, AuditSubject
from dpbench.base.errors import Refused
from dpbench.base.one_thread import one_thread
from dpbench.cells.budgets import budget_of
from dpbench.cells.cell import NO_AUDIT, Cell, Settings, digest
from dpbench.contracts.fit import Fit
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.model import Model
from dpbench.data.geometry import Geometry
from dpbench.records.cell_tags import NO_WEIGHTS, NOTHING_ASKED, Standing

MAX_SIZE_CLASS = 100_000
MADE_UP_FITS = 5
"""Fits on made-up rows that must not all fail before a model is released."""


@dataclass(frozen=True)
class AuditUnit:
    """What an audit depends on. No private row is part of it: the tables are made up."""

    cell: Cell
    """The first of the cells that share this audit."""
    geometry: Geometry
    n: int
    """The number of training rows of a run."""
    identity: str
    """What names the cell's rows in the random streams: a mechanism must not know the noise of its own cells."""
    code: str
    """The digest of the code that the fit runs: the mechanism's, the model's, and dpbench's own."""

    @property
    def name(self) -> str:
        return f"audit {self.digest[:8]}"

    @cached_property
    def digest(self) -> str:
        """What two cells have in common if one audit vouches for both."""
        settings, components = self.cell.settings, (self.cell.mechanism, self.cell.model)
        budget = {name: getattr(settings, name) for name in ("epsilon", "delta", "budget", "accounting")}
        # a matched budget is searched with as many rows as a run has; otherwise only the size class counts
        size = self.n if settings.budget == "matched" else size_class(self.n)
        config = [*(component.as_config() for component in components), settings.seed, self.identity]
        return digest([config, budget, size, asdict(self.geometry), asdict(self.cell.audit), self.code, np.__version__])


def size_class(n: int) -> int:
    """Return the power of ten below a number of rows, at most 100,000."""
    return int(min(10 ** (len(str(n)) - 1), MAX_SIZE_CLASS))


def run_audit(unit: AuditUnit) -> AuditResult:
    """Audit the mechanism of a unit."""
    with one_thread():
        mechanism, model, settings = unit.cell.build("mechanism"), unit.cell.build("model"), unit.cell.settings
        streams = settings.seed, unit.identity
        return audited(mechanism, model, settings, unit.geometry, unit.n, unit.cell.audit, streams)


def audited(
    mechanism: Mechanism,
    model: Model,
    settings: Settings,
    geometry: Geometry,
    n: int,
    audit_settings: AuditSettings,
    streams: tuple[int, str] | None = None,
) -> AuditResult:
    """Return the result of an audit as n rows are fitted. One that cannot be done says why: that alone costs no cell.

    ``streams`` are the seed and the name of the cell's simulated noise, which a mechanism might know.
    """
    from dpbench.audit.procedure import audit

    start = time.process_time()
    try:
        budget = budget_of(settings, mechanism, model, geometry, n)
        subject = AuditSubject(mechanism, model, budget, geometry, audit_settings, size_class=size_class(n), streams=streams)
        result = AuditResult.of(audit(subject))
    except (Exception, SystemExit) as error:  # noqa: BLE001  a plugin may raise anything
        text = str(error) if isinstance(error, Refused) else f"On made-up tables the fit ends with {type(error).__name__}."
        result = AuditResult(None, 0, reason=text)
    return replace(result, seconds=time.process_time() - start)


def fit_made_up_rows(settings: Settings, mechanism: Mechanism, model: Model, geometry: Geometry, n: int) -> Fit | str:
    """Return a fit of n made-up rows that has finite weights, or why there is none, as the end of a sentence.

    A private test that fails on them is no reason: it may pass on other rows.
    """
    count = min(n, MAX_SIZE_CLASS)
    with one_thread():
        subject = AuditSubject(mechanism, model, budget_of(settings, mechanism, model, geometry, n), geometry, NO_AUDIT)
        (curator,) = subject.curators(common_rows(geometry, count), MADE_UP_FITS, "made-up rows")
        try:
            fit = subject.fit(curator)
        except Refused:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001  a plugin may raise anything
            return f"a fit on {count:,} made-up rows of this geometry ends with {type(error).__name__}."
    if fit.health["not_finite"].all():
        return f"none of its fits on {count:,} made-up rows of this geometry has finite weights."
    return fit


def vouched(standing: Standing, result: AuditResult | None, n: int) -> Standing:
    """Return the standing of a cell with runs of n rows after the audit that it shares; None if there was none."""
    if result is not None and result.passed is not None:
        replayed_n = result.n if result.passed and result.n < size_class(n) else 0
        standing = replace(standing, audit_passed=result.passed, why=result.sentence, replayed_n=replayed_n)
    elif standing.guarantee == "claimed":
        why = "audit.level=none." if result is None else result.sentence
        standing = replace(standing, why=f"Not replayed: {why}")
    if standing.guarantee == "claimed":
        standing = replace(standing, why=" ".join(filter(None, (standing.why, standing.bounds_doubt))))
    if standing.guarantee == "no_weights":
        return replace(standing, why=NO_WEIGHTS)
    return replace(standing, why=NOTHING_ASKED) if standing.guarantee == "unproven" and not standing.leaks else standing
