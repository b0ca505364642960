"""A mechanism that is checked: on which models, with which budgets, and on which made-up tables it is fitted."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

from dpbench.audit.subject import AuditSettings, AuditSubject, example_geometries, example_geometry
from dpbench.audit.wording import describe_geometry
from dpbench.cells.budgets import budget_of
from dpbench.cells.cell import Settings
from dpbench.contracts.fit import Fit
from dpbench.contracts.mechanism import Mechanism, fit_closed
from dpbench.contracts.model import Model, Problem
from dpbench.data.geometry import Geometry
from dpbench.data.samples import Sample, WholeSample
from dpbench.data.scaling import Rows
from dpbench.privacy.calls import Answer
from dpbench.privacy.curator import Curator
from dpbench.privacy.curator_view import closed
from dpbench.privacy.ledger import Budget, Ledger
from dpbench.privacy.noise import Draws
from dpbench.privacy.replay import Violation
from dpbench.registry.lookup import registry
from dpbench.testing.checks import Failure
from dpbench.testing.components import ComponentCase

AUDIT_SETTINGS = AuditSettings("component", runs=500, pairs=1, confidence=0.9999)
EXAMPLE_COLUMNS, EXAMPLE_LEVELS = 2, 3


@dataclass(frozen=True)
class CheckedFit:
    """A fit with what belongs to it."""

    fit: Fit
    problem: Problem
    ledger: Ledger
    tape: list[Answer]


@dataclass(frozen=True, eq=False)
class MechanismCase(ComponentCase):
    """A mechanism that is checked."""

    component: Mechanism

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """The models that the mechanism is fitted to: one for each kind of target that it supports.

        A model whose loss is a polynomial comes before one whose polynomial is a truncation, and a closed form before a solver.
        """
        models = [registry().get("model", name)() for name in registry().names("model")]
        supported = [model for model in models if self.supports(model)]
        chosen: dict[str, Model] = {}
        for model in sorted(supported, key=self._preference):
            chosen.setdefault(model.target, model)
        return tuple(chosen.values())

    def supports(self, model: Model) -> bool:
        """Return whether the mechanism fits the model on an ordinary table."""
        return not self.component.unsupported(model, example_geometry(model, EXAMPLE_COLUMNS))

    def _preference(self, model: Model) -> tuple[bool, bool, str]:
        return "truncation" in model.provides, not model.moments_alone, model.name

    @property
    def model(self) -> Model:
        """The first of the models."""
        return self.models[0]

    @cached_property
    def subjects(self) -> tuple[AuditSubject, ...]:
        """What audits try: the first model on every example geometry, every other model on one."""
        geometries = [(self.model, geometry) for geometry in example_geometries(self.model)]
        geometries += [(model, example_geometry(model, EXAMPLE_COLUMNS, EXAMPLE_LEVELS)) for model in self.models[1:]]
        chosen = [(model, each) for model, each in geometries if not self.component.unsupported(model, each)]
        return tuple(self.subject(model, geometry) for model, geometry in chosen)

    def subject(self, model: Model, geometry: Geometry) -> AuditSubject:
        """Return what an audit of the mechanism tries on a geometry."""
        budget = self.budget(model, geometry, AUDIT_SETTINGS.rows)
        return AuditSubject(self.component, model, budget, geometry, AUDIT_SETTINGS)

    def budget(self, model: Model, geometry: Geometry, n: int, epsilon: float = 1.0) -> Budget:
        """Return the budget of ε in the mechanism's own currency."""
        return budget_of(Settings(epsilon=epsilon), self.component, model, geometry, n)

    def fit(self, rows: Rows | Sample, model: Model | None = None, epsilon: float = 1.0, seed: int = 0) -> CheckedFit:
        """Fit the mechanism to rows, in one run, or to a sample."""
        sample = WholeSample(rows) if isinstance(rows, Rows) else rows
        model = model or self.model
        budget = self.budget(model, sample.geometry, int(sample.n[0]), epsilon)
        curator = Curator(sample, Draws(seed, "conformance", [(run, 0) for run in range(sample.runs)]), budget)
        curator.tape = []
        problem = model.prepare(closed(curator))
        fit = fit_closed(self.component, problem, curator, replace(budget))
        return CheckedFit(fit, problem, curator.ledger, curator.tape)

    @cached_property
    def claims_privacy(self) -> bool:
        """Whether a fit claims to be private."""
        return all(self._claims(subject) for subject in self.subjects)

    @cached_property
    def is_opaque(self) -> bool:
        """Whether a fit is made by an outside program, whose steps nobody sees."""
        return any(getattr(answer.noise, "opaque", False) for answer in self.subjects[0].tape_fit().tape or [])

    def _claims(self, subject: AuditSubject) -> bool:
        return subject.tape_fit().ledger.total.private


@contextmanager
def named_tables(subject: AuditSubject) -> Iterator[None]:
    """Let a violation say on which tables it was found, so that its author can make them again."""
    try:
        yield
    except Violation as violation:
        rows, tables = subject.settings.rows, describe_geometry(subject.geometry)
        raise Failure(f"{violation} The fit was one of {subject.model.name} to tables of {rows} rows: {tables}.") from violation
