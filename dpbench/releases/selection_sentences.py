"""What a choice by the data costs, and what its score says, in plain words for the statement and the model card."""

import math
from collections.abc import Mapping
from typing import Any

from dpbench.data.table import Column
from dpbench.privacy.random_stopping import RandomStopping
from dpbench.report.formatting import plural, quantity

NOISE_REACH = 3.0
"""Laplace noise stays within this many scales with probability 0.95."""


def candidates_text(section: Mapping[str, Any]) -> str:
    """Return how many candidates there were."""
    return plural(len(section["candidates"]), "candidate")


def cost_sentence(section: Mapping[str, Any], epsilon: float) -> str:
    """Return what choosing cost, in one sentence."""
    chosen, number = section["candidates"][section["chosen"]], len(section["candidates"])
    at = f" (at δ = {chosen['fit_delta']:.3g})" if chosen["fit_delta"] else ""
    spent = f"this model was fitted with ε = {chosen['fit_epsilon']:.3g}{at} of the {epsilon:.6g}, and scored with"
    fit = f"Choosing has its price: {spent} {chosen['score_epsilon']:.3g}"
    if number == 1:
        return f"{fit}; there was no other candidate."
    if section["way"] == "each once":
        return f"{fit}; the rest paid for the other candidates, each of which was tried once."
    stopping = RandomStopping(section["odds"])
    tried = 1 - stopping.chance_untried(number)
    return (
        f"{fit}; the rest pays for trying candidates at random, a secret number of times, {stopping.mean:.3g} on average, so "
        f"that each was tried with a probability of {100 * tried:.0f} %."
    )


def secret_sentence(section: Mapping[str, Any]) -> str:
    """Return what must not become known besides the model; empty if there is nothing."""
    if section["way"] == "each once":
        return ""
    return "How long the choice took tells how many candidates were tried, so it must stay secret."


def score_sentence(section: Mapping[str, Any], facts: Mapping[str, Any], target: Column, kind: str) -> str:
    """Return what the score says of the model's errors, and what limits it."""
    best = "the best of several noisy scores, on" if len(section["candidates"]) > 1 else "a noisy score on"
    limits = f"It is {best} the rows that were fitted, so it flatters the model."
    scale = section["answers"][-1]["scale"]
    if "rows" not in facts:
        sizes = f"{quantity(section['score'])} with noise (of up to {quantity(NOISE_REACH * scale)})"
        return f"The score of this model, the sum of its errors over the rows that count, is {sizes}. {limits}"
    middle, low, high = (
        min(max((section["score"] + step * scale) / facts["rows"], 0.0), 1.0) for step in (0, -NOISE_REACH, NOISE_REACH)
    )
    hidden = section["score"] <= 0  # the noise is larger than the errors, so a middle of 0 would say too much
    if kind == "binary":
        value = f"at most about {high:.1%}" if hidden else f"about {middle:.1%}"
        noise = "the noise hides how many" if hidden else f"noise alone: {low:.1%} to {high:.1%}"
        return f"By its score, it predicts {value} of the rows wrongly ({noise}). {limits}"
    unit = f" {target.unit}" if target.unit else ""
    half = 1.0 if target.transform is not None else (target.high - target.low) / 2
    what = " on the scaled, transformed target" if target.transform is not None else unit
    rmse, least, most = (quantity(half * math.sqrt(square)) for square in (middle, low, high))
    value = f"at most about {most}{what}" if hidden else f"about {rmse}{what}"
    noise = "the noise hides how large" if hidden else f"noise alone: {least} to {most}"
    return (
        f"By its score, the root mean squared error of its predictions is {value} ({noise}), "
        f"where no error counts more than half of the target's range. {limits}"
    )
