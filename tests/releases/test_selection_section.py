"""What the file of a release says of a choice by the data, and the proof of its price."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dpbench.accounting.costs import LedgerEntry, Pure
from dpbench.accounting.selection_plan import SelectionPlan, each_once, random_stopping
from dpbench.privacy.random_stopping import RandomStopping
from dpbench.releases.fit_release import FitRequest
from dpbench.releases.selection_section import proof_of, selection_section
from dpbench.sweeps.hydra.composition import grid_points

STOPPING = RandomStopping(100)
OVERRIDES = ("dataset=gaussian", "mechanism=fm", "mechanism.ridge=2,4", "epsilon=1", "budget=matched")
VOUCHED = {"audit": "replay", "passed": True}


def made(plan: SelectionPlan) -> dict[str, Any]:
    requests = [FitRequest.of(point.config) for point in grid_points(OVERRIDES)]
    parts = [(request, share, [Pure(0.4), Pure(0.05)]) for request, share in zip(requests, plan.shares, strict=True)]
    answers = [LedgerEntry("score", Pure(0.05), True, "a proof")]
    return selection_section(plan, STOPPING, parts, [VOUCHED, VOUCHED], 1, answers, 12.5)


def test_each_candidate_has_its_options_its_share_and_what_vouches_for_it() -> None:
    section = made(each_once(1.0, 1e-6, [True, True]))
    assert [candidate["mechanism"]["ridge"] for candidate in section["candidates"]] == [2.0, 4.0]
    for candidate in section["candidates"]:
        assert (candidate["fit_epsilon"], candidate["fit_delta"], candidate["score_epsilon"]) == pytest.approx((0.45, 0, 0.05))
        assert [cost["epsilon"] for cost in candidate["costs"]] == [0.4, 0.05]
        assert candidate["vouched_by"] == VOUCHED
    assert (section["chosen"], section["score"], section["answers"][0]["query"]) == (1, 12.5, "score")


def test_it_is_plain_data() -> None:
    section = made(random_stopping(1.0, 1e-6, [True, True], STOPPING.mean))
    assert json.loads(json.dumps(section)) == section


def test_only_random_stopping_has_odds_and_cites_its_theorem() -> None:
    once, stopped = each_once(1.0, 1e-6, [True, True]), random_stopping(1.0, 1e-6, [True, True], STOPPING.mean)
    assert "odds" not in made(once)
    assert made(stopped)["odds"] == 100
    assert proof_of(once, STOPPING).startswith("composition")
    proof = proof_of(stopped, STOPPING)
    for words in ("mean 21.5", "Theorem 2", "1/100", "at most epsilon 0.5"):
        assert words in proof
