"""An outside program sees the rows: its answers are paid as claimed, never sound, and audited as whole fits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from dpbench.accounting.costs import Pure
from dpbench.audit.procedure import audit
from dpbench.audit.subject import AuditSettings, AuditSubject, example_geometry
from dpbench.audit.wording import describe_audit
from dpbench.base.errors import Refused
from dpbench.contracts.fit import Fit
from dpbench.contracts.mechanism import Mechanism
from dpbench.data.samples import WholeSample
from dpbench.privacy.ledger import Budget
from dpbench.privacy.procedures import outside_program
from dpbench.privacy.procedures.outside_program import OutsideProgram
from dpbench.records.leaks import UNPROVEN_NOISE


def sums(arrays: Any, scale: float = 0.0) -> np.ndarray:
    """The sum of each column of a fit's table, with Laplace noise of its seed."""
    design = np.column_stack([arrays["features"], arrays["target"]])
    tables = np.repeat(np.add.reduceat(design, np.r_[0, arrays["ends"][:-1]], axis=0), arrays["fits"], axis=0)
    noise = [np.random.default_rng(seed).laplace(0, 1, design.shape[1]) for seed in arrays["seeds"]]
    return np.asarray(tables + scale * np.stack(noise))


def program(answer: Any = sums) -> OutsideProgram:
    return OutsideProgram("theirs", answer, "{}", Pure(0.5), "nobody knows")


@dataclass(frozen=True)
class Theirs(Mechanism):
    """Returns what a program returned."""

    name: ClassVar[str] = "theirs"
    scale: float = 0.0

    def fit(self, curator: Any, problem: Any, budget: Any) -> Fit:
        return Fit.good(curator.ask(program(lambda arrays: sums(arrays, self.scale))))


def test_a_table_of_several_fits_is_passed_once_and_every_fit_has_a_seed(geometry, rows, curate) -> None:
    one, other = (rows(geometry(1), [[value], [value]], [value, 0]) for value in (0.25, 0.5))
    seen = []
    curator = curate(WholeSample(one, one, other), runs=[(0, 0), (1, 0), (2, 0)])
    answer = curator.ask(program(lambda arrays: seen.append(arrays) or sums(arrays)))
    np.testing.assert_allclose(answer, [[0.5, 0.25], [0.5, 0.25], [1.0, 0.5]])
    (arrays,) = seen
    assert (arrays["ends"].tolist(), arrays["fits"].tolist(), len(set(arrays["seeds"].tolist()))) == ([2, 4], [2, 1], 3)


def test_a_function_of_one_table_is_called_for_each_fit_with_a_seed_of_its_own(geometry, rows, curate) -> None:
    one, other = (rows(geometry(1), [[value], [value]], [value, 0]) for value in (0.25, 0.5))
    seeds = []

    def fit(features: np.ndarray, target: np.ndarray, seed: int) -> np.ndarray:
        seeds.append(seed)
        return np.array([features.sum(), target.sum(), len(target)])

    curator = curate(WholeSample(one, one, other), runs=[(0, 0), (1, 0), (2, 0)])
    answer = curator.ask(OutsideProgram.of_tables("theirs", fit, "{}", Pure(0.5), "nobody knows"))
    np.testing.assert_allclose(answer, [[0.5, 0.25, 2], [0.5, 0.25, 2], [1.0, 0.5, 2]])
    assert len(set(seeds)) == 3
    assert curator.ledger.doubt


def test_tables_that_are_too_large_together_are_passed_one_after_the_other(geometry, rows, curate, monkeypatch) -> None:
    tables = [rows(geometry(1), [[value], [value]], [value, 0]) for value in (0.25, 0.5, 0.75)]
    together = curate(WholeSample(*tables), runs=[(0, 0), (1, 0), (2, 0)]).ask(program())
    monkeypatch.setattr(outside_program, "MAX_NUMBERS", 12)
    calls = []
    alone = curate(WholeSample(*tables), runs=[(0, 0), (1, 0), (2, 0)]).ask(
        program(lambda arrays: calls.append(len(arrays["ends"])) or sums(arrays))
    )
    assert calls == [2, 1]
    np.testing.assert_array_equal(alone, together)


def test_its_claim_is_in_the_ledger_and_is_never_sound(geometry, rows, curate) -> None:
    curator = curate(rows(geometry(1), [[0.5]], [1]))
    curator.ask(program())
    (entry,) = curator.ledger.entries
    assert (entry.cost, entry.sound, entry.proof) == (Pure(0.5), False, "unproven: nobody knows")
    assert not curator.ledger.sound
    assert curator.ledger.leaks == [UNPROVEN_NOISE]


@pytest.mark.parametrize(("scale", "passed"), [(0.5, False), (16.0, True)])
def test_an_audit_tries_whole_fits_and_no_replay(scale: float, passed: bool, make) -> None:
    """Two columns that move by 2 each, at ε = 0.5, need noise of scale 8."""
    model = make("model", "linear", intercept=True)
    subject = AuditSubject(
        Theirs(scale), model, Budget(0.5), example_geometry(model, 1), AuditSettings("all", runs=1_000, pairs=1)
    )
    with pytest.raises(Refused, match=r"theirs runs an outside program, which only audit\.level=release can try"):
        audit(replace(subject, settings=AuditSettings("replay")))
    outcome = audit(subject)
    assert outcome.passed == passed
    assert any("cannot be replayed" in line for line in describe_audit(outcome))
