"""What the file of a release says of a choice by the data: who could be chosen, what each could spend, and the score that won."""

from collections.abc import Mapping, Sequence
from typing import Any

from dpbench.accounting.costs import Cost, LedgerEntry
from dpbench.accounting.selection_plan import CandidateShare, SelectionPlan
from dpbench.privacy.random_stopping import RandomStopping
from dpbench.releases.fit_release import FitRequest


def selection_section(
    plan: SelectionPlan,
    stopping: RandomStopping,
    candidates: Sequence[tuple[FitRequest, CandidateShare, Sequence[Cost]]],
    vouched_by: Sequence[Mapping[str, Any]],
    chosen: int,
    answers: Sequence[LedgerEntry],
    score: float,
) -> dict[str, Any]:
    """Return the section. Of a candidate that lost, it has only what is public."""
    law = {"odds": stopping.odds} if plan.way == "random stopping" else {}
    parts = [
        {
            "mechanism": {"name": request.mechanism.name, **request.mechanism.options()},
            "model": {"name": request.model.name, **request.model.options()},
            "fit_epsilon": share.fit.epsilon,
            "fit_delta": share.fit.delta,
            "score_epsilon": share.score,
            "costs": [cost.as_dict() for cost in costs],
            "vouched_by": dict(vouch),
        }
        for (request, share, costs), vouch in zip(candidates, vouched_by, strict=True)
    ]
    entries = [entry.as_dict() for entry in answers]
    facts = {"way": plan.way, **law, "cost_of_each": plan.candidate.as_dict(), "candidates": parts}
    return {**facts, "chosen": chosen, "answers": entries, "score": score}


def proof_of(plan: SelectionPlan, stopping: RandomStopping) -> str:
    """Return the proof of the total, for the ledger."""
    if plan.way == "each once":
        return "composition of the fits and the noisy scores of all candidates, of which one is published"
    each = ", ".join(f"{name} {value:.6g}" for name, value in vars(plan.candidate).items())
    return (
        f"the best of K random candidates by scores with noise, K logarithmic with mean {stopping.mean:.3g} (Papernot and "
        f"Steinke 2022, Theorem 2, η = 0, γ = 1/{stopping.odds}); each candidate with its score costs at most {each}"
    )
