"""Check what a release says of a choice by the data: its price, and what each candidate could spend."""

from collections.abc import Mapping, Sequence
from typing import Any

from dpbench.accounting.composition import Guarantee, compose
from dpbench.accounting.costs import Approx, Cost, LedgerEntry, Pure, cost_of
from dpbench.accounting.privacy_loss import GRID_TOLERANCE, epsilon_of_dp_accounting
from dpbench.accounting.selection_plan import CandidateShare, SelectionPlan
from dpbench.privacy.random_stopping import RandomStopping
from dpbench.releases.release_file import Release


def check_choice(
    released: Release,
    section: Mapping[str, Any],
    entries: Sequence[LedgerEntry],
    answers: Sequence[LedgerEntry],
    delta: float,
) -> tuple[bool, str]:
    """Return whether the ledger's entries pay for the choice, and a sentence; ``answers`` are those of the chosen candidate."""
    if len(entries) != 1:
        return False, f"a choice is one entry of the ledger, and it has {len(entries)}"
    plan = _plan_of(section, entries[0].cost, delta)
    candidates = section["candidates"]
    chosen = candidates[section["chosen"]]
    if any(chosen[kind] != dict(getattr(released, kind)) for kind in ("mechanism", "model")):
        return False, "the model is not the chosen candidate's"
    if not plan.adds_up(RandomStopping(section["odds"]).mean if "odds" in section else 0.0):
        return False, "what the candidates may cost adds up to more than the ledger states"
    if not all(plan.covers([cost_of(cost) for cost in candidate["costs"]]) for candidate in candidates):
        return False, "a candidate costs more than it may"
    if not (all(answer.sound for answer in answers) and plan.covers([answer.cost for answer in answers])):
        return False, "the answers of the chosen candidate cost more than they may, or lack a proof"
    most = _guarantee(plan.candidate, delta)
    if epsilon_of_dp_accounting(answers, most.delta) > most.epsilon * (1 + GRID_TOLERANCE):
        return False, "by dp-accounting, the answers of the chosen candidate cost more than they may"
    each = f"ε = {most.epsilon:.6g}" + (f" at δ = {most.delta:.3g}" if most.delta else "")
    return True, f"{plan.way}, {len(candidates)} candidates, of which each could cost {each}"


def _plan_of(section: Mapping[str, Any], total: Cost, delta: float) -> SelectionPlan:
    """Return the plan that a section describes, with the total that the ledger states at δ."""
    shares = tuple(
        CandidateShare(Guarantee(part["fit_epsilon"], part["fit_delta"]), part["score_epsilon"]) for part in section["candidates"]
    )
    return SelectionPlan(section["way"], total, delta, cost_of(section["cost_of_each"]), shares)


def _guarantee(cost: Cost, delta: float) -> Guarantee:
    """Return the (ε, δ) of a cost, at its own δ or at the one that the total is stated at."""
    own = cost.delta if isinstance(cost, Approx) else 0.0 if isinstance(cost, Pure) else delta
    return Guarantee(compose([cost], own).epsilon, own)
