"""Every mechanism that claims privacy passes a replay at the worst neighbours."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dpbench.data.scaling import Rows


@pytest.mark.parametrize("scaling", ["box", "ball", "corner"])
@pytest.mark.parametrize("model", ["linear", "ridge"])
def test_every_mechanism_passes_at_adversarial_neighbours(scaling, model, make, geometry, adversary, replayed) -> None:
    g = geometry(4, scaling="corner")
    if scaling != "corner":
        g = geometry(3, (2,), True, scaling, constant=1.0 if scaling == "box" else 5**-0.5)
    start = adversary.neighbours(g, np.random.default_rng(0)).rows(30)
    problem = make("model", "linear").prepare(type("Public", (), {"geometry": g, "n": np.array([30.0])})())
    chosen = [
        ("fm", {"convention": c, "sensitivity": s})
        for c, s in product(["monomial", "matrix", "code"], ["paper", "code", "tight"])
    ]
    chosen += [("fm", {"until_bounded": True, "sensitivity": "tight"})]
    chosen += [("dpba", {"alpha": alpha}) for alpha in ("paper", "opt", 0.6)]
    query = problem.polynomial()
    first, second = adversary.hostile(query)
    for at in np.argsort(adversary.moved(query, first, second))[-3:]:
        tables = []
        for row in (first.z[at], second.z[at]):
            z = start.z.copy()
            z[-1] = row
            tables.append(Rows(z, g))
        for name, options in chosen:
            before, after, replay = replayed(make("mechanism", name, **options), *tables, model)
            assert replay.ratios
            assert max(replay.ratios) <= 1 + 1e-12
            np.testing.assert_array_equal(before.weights, after.weights)
