"""What is audited: every mechanism that claims privacy, with the options that change what it asks or draws."""

from __future__ import annotations

from itertools import product
from typing import Any

SOUND: list[tuple[str, dict[str, Any]]] = [
    *(
        ("fm", {"convention": convention, "sensitivity": sensitivity})
        for convention, sensitivity in product(("monomial", "matrix", "code"), ("paper", "fang", "code", "tight"))
    ),
    ("fm", {"sensitivity": "tight", "repair": "floor"}),
    ("fm", {"noise": "knorm", "repair": "floor"}),
    ("fm", {"sensitivity": "tight", "repair": "none", "ridge": 0}),
    ("fm", {"sensitivity": "tight", "repair": "stationary", "ridge": 0}),
    ("fm", {"sensitivity": "tight", "until_bounded": True}),
    *(
        ("dpba", {**options, "sensitivity": sensitivity})
        for options, sensitivity in product(({}, {"alpha": "paper"}, {"alpha": 0.3}, {"epsilon_1": 0.4}), ("fang", "tight"))
    ),
    *(("dpc", {"sensitivity": s, "beta_rule": rule}) for s, rule in product(("paper", "code", "tight"), ("share", "paper"))),
    ("dpc", {"sensitivity": "tight", "convention": "code", "repair": "floor", "gamma": 0.3}),
    *(("privr", {"rule": rule, "repair": repair}) for rule, repair in (("proportional", "trim"), ("threshold", "floor"))),
    *(("dpme", {"counts": counts}) for counts in ("clip", "raw", "threshold")),
    ("fp", {}),
    ("fp", {"bins": 3, "threshold": 2, "size": 50}),
    ("cdp_irls", {"distribution": "gaussian"}),
    ("cdp_irls", {"distribution": "laplace", "iterations": 3}),
    *(("ssp", options) for options in ({}, {"weight": 0.5}, {"noise": "laplace"})),
    ("best", {}),
    ("boosted_adassp", {"rounds": 3}),
    ("dp_gd", {"steps": 4}),
    ("dp_newton", {"steps": 2}),
    ("frank_wolfe", {"steps": 2}),
    *(("adassp", {"calibration": calibration}) for calibration in ("joint", "published")),
    ("binagg", {}),
    *(("objective_perturbation", {"variant": variant}) for variant in ("tight", "pure")),
    ("output_perturbation", {}),
    ("drop_sensitive", {"base": "fm"}),
]

OWN_MODEL = {"dp_newton": "logistic"}
"""The model on which a mechanism is audited that does not fit linear regression."""

NOT_SUMS = {"frank_wolfe", "objective_perturbation", "output_perturbation"}
"""Mechanisms whose answers are choices or minimisers: they have no noise on a sum that could be tested."""

CLAIMLESS = {"no_privacy", "truncated"}
"""Mechanisms that claim nothing."""

PUBLISHED: list[dict[str, Any]] = [
    {"variant": "published", "distribution": distribution, "composition": composition}
    for distribution, composition in product(("gaussian", "laplace"), ("cdp", "conventional", "advanced"))
    if (distribution, composition) != ("gaussian", "conventional")
]
"""Private iteratively reweighted least squares with Wishart noise, as published."""


def rows_for(options: dict[str, Any]) -> tuple[int, bool]:
    """How many rows the small tables need, and whether one column alone: drawing until accepted must accept at times."""
    return (2_000, True) if options.get("until_bounded") else (8, False)


REPLAYED = ("fm", "dpba", "dpc", "cdp_irls", "ssp")
"""Mechanisms that are replayed on every geometry below, with every seed: 250 replays, none of which may raise an alarm."""
GEOMETRIES: list[tuple[int, int, Any]] = [
    *((1, 0, "box"), (2, 3, "box"), (3, 0, "box"), (5, 0, "box"), (3, 4, "box"), (6, 2, "box")),
    *((1, 0, "ball"), (2, 3, "ball"), (4, 0, "ball"), (8, 0, "ball")),
]
"""Numeric columns, the levels of a one-hot group, and the scaling."""
SEEDS = range(5)
