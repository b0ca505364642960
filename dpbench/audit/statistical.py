"""The statistical audit: what many runs in two worlds that differ in one row prove about ε, answer by answer and end to end."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpbench.accounting.costs import Cost, Gdp
from dpbench.audit.certificate import Certificate, ClaimedPrivacy, Scores, certify
from dpbench.audit.learned_score import separating
from dpbench.audit.noise_tests import REFERENCES, NoiseTest, fit_of_noise
from dpbench.audit.repeated_calls import BATCH, RepeatedAnswers
from dpbench.audit.replays import AuditSubject, taped
from dpbench.audit.samples import BoundedRetryCurator, RepeatedSample
from dpbench.base.random_streams import stream
from dpbench.data.scaling import Rows
from dpbench.privacy.noise import Noise

Array = np.ndarray

DIGITS = 6
"""Of a likelihood ratio."""
COEFFICIENTS = 60
"""Numbers of an answer that are tried as scores: those that moved furthest."""


def answer_certificate(again: RepeatedAnswers, delta: float, false_alarm: float, pair: str) -> Certificate:
    """What repeated answers to one call prove about its price."""
    noise = again.answer.noise
    claim = ClaimedPrivacy.of([again.call.cost if noise is None else native(again.call.cost, noise)], delta)
    return certify(_scores(again), claim, false_alarm, again.answer.query, pair)


def answer_fit(again: RepeatedAnswers, false_alarm: float, seed: int) -> NoiseTest | None:
    """The goodness of fit of one call's noise; None where it has no law that is known here.

    Where the noise is seen through a choice only (until accepted, in a summary), the law's own draws are looked at.
    """
    noise = again.answer.noise
    if noise is None or noise.law.name not in REFERENCES:
        return None
    name = again.answer.query
    if again.noise_alone:
        drawn = np.concatenate([numbers - exact for numbers, exact in zip(again.numbers, again.exact, strict=True)])
    else:
        runs, size = len(again.numbers[0]), noise.scale.shape[1]
        standard = noise.law.standard(stream(seed, "audit, law", name), runs * size)
        drawn = noise.law.shape(standard.reshape(runs, size), noise.scale[:1])
    return fit_of_noise(noise, drawn, false_alarm, stream(seed, "audit, ties", name), name)


def release_certificate(
    subject: AuditSubject, worlds: tuple[Rows, Rows], claim: ClaimedPrivacy, runs: int, false_alarm: float, pair: str
) -> Certificate:
    """What whole fits, judged by their weights, prove about the whole claim."""
    first, second = (weights(subject, rows, runs, f"release, world {at}") for at, rows in enumerate(worlds))
    names = tuple(f"weight of {name}" for name in subject.geometry.names)
    return certify(separating(Scores(first, second, names)), claim, false_alarm, "weights", pair)


def weights(subject: AuditSubject, rows: Rows, runs: int, world: str) -> Array:
    """The weights of so many fits on the same rows: (runs, D)."""
    found = []
    for start in range(0, runs, BATCH):
        size = min(BATCH, runs - start)
        curator = BoundedRetryCurator(RepeatedSample(rows, size), subject.draws(world, size, start), subject.budget)
        found.append(subject.fit(curator).weights)
    return np.concatenate(found)


def claimed(subject: AuditSubject) -> ClaimedPrivacy:
    """What a whole fit claims: by its ledger, and in μ where every answer is a sum with normal noise."""
    curator = taped(subject)
    claim = ClaimedPrivacy(curator.ledger.total.epsilon, curator.ledger.total.delta)
    costs = [native(answer.call.cost, answer.noise) for answer in curator.tape or [] if answer.call and answer.noise]
    if len(costs) == len(curator.ledger.entries) and all(isinstance(cost, Gdp) for cost in costs):
        return replace(claim, mu=ClaimedPrivacy.of(costs, claim.delta).mu)
    return claim


def native(cost: Cost, noise: Noise) -> Cost:
    """A sum's price as its noise has it: normal noise that is counted in zCDP has an exact μ."""
    return Gdp(float(noise.bound)) if noise.law.name == "gaussian" and cost == noise.cost else cost


def _scores(again: RepeatedAnswers) -> Scores:
    """The numbers that moved furthest and their likelihood ratio where the noise is known, else all and a learned rule."""
    first, second = again.numbers
    noise = again.answer.noise
    if noise is None:
        scores = separating(Scores(first, second, tuple(f"number {at}" for at in range(first.shape[1]))))
        return _with_eigenvalues(scores, again)
    scale = noise.scale[0]
    change = np.abs(again.exact[1] - again.exact[0]) / scale
    kept = np.argsort(-change, kind="stable")[: min(COEFFICIENTS, int((change > 0).sum()))]
    scores = Scores(first[:, kept], second[:, kept], tuple(f"number {at}" for at in kept))
    if not len(kept) or not again.noise_alone:
        return scores
    ratios = [_log_ratio(numbers, again, noise, scale)[:, None] for numbers in again.numbers]
    return scores.beside(ratios[0], ratios[1], ("likelihood",))


def _with_eigenvalues(scores: Scores, again: RepeatedAnswers) -> Scores:
    """And, for symmetric matrices, the least eigenvalue of what is left without either world's exact matrix.

    It is negative where positive definite noise could not have led there.
    """
    size = math.isqrt(again.numbers[0].shape[1])
    if size * size != again.numbers[0].shape[1]:
        return scores
    for world, exact in enumerate(again.exact):
        first, second = ((numbers - exact).reshape(-1, size, size) for numbers in again.numbers)
        least = [np.linalg.eigvalsh(matrix)[:, :1] for matrix in (first, second)]
        scores = scores.beside(least[0], least[1], (f"least eigenvalue without world {world}",))
    return scores


def _log_ratio(numbers: Array, again: RepeatedAnswers, noise: Noise, scale: Array) -> Array:
    """The log-likelihood of the second world against the first, by the declared law.

    It has atoms, which rounding places differently in the two worlds: the low bits of simulated noise are no secret, and out of
    this audit's scope.
    """
    near, far = ((numbers - exact) / scale for exact in again.exact)
    l2 = noise.law.norm == "L2"
    ratio = (np.square(near) - np.square(far)) / 2 if l2 else np.abs(near) - np.abs(far)
    return np.asarray(np.round(ratio.sum(axis=1), DIGITS))
