"""Write docs/gallery.md: what audits find in other people's packages and in patterns of public code.

    python scripts/gallery.py                          a few minutes; installs two packages in environments of their own
    python scripts/gallery.py --only boosted_sigma     one entry, printed
    python scripts/gallery.py --no-install             skips packages that are not installed yet

The exit code is 1 if a broken guarantee was not found, or a sound one was called broken.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np

import dpbench
from dpbench.accounting.conversion import epsilon_of_gdp, gdp_of_epsilon
from dpbench.audit.black_box import NeighbouringTables, audit_black_box
from dpbench.audit.epsilon_lower_bound import EpsilonLowerBound
from dpbench.audit.procedure import audit
from dpbench.audit.subject import AuditSettings, AuditSubject, ClaimedPrivacy, example_geometry
from dpbench.base.errors import Refused
from dpbench.base.one_thread import one_thread
from dpbench.base.outside_package import OutsidePackage
from dpbench.files.download_cache import cache_folder
from dpbench.privacy.ledger import Budget
from dpbench.registry.lookup import registry

HERE = Path(__file__).resolve().parent.parent
GALLERY = HERE / "examples" / "gallery"
PROGRAMS = HERE / "plugins" / "mechanisms"
PAGE = HERE / "docs" / "gallery.md"
READING = "as we read it; not confirmed by its authors"
DELTA = 1e-6


@dataclass(frozen=True)
class Finding:
    """What an audit of one entry measured."""

    sentences: tuple[str, ...]
    bound: EpsilonLowerBound | None = None
    broken: bool = False
    seconds: float = 0.0
    skipped: str = ""


@dataclass(frozen=True)
class Entry:
    """One exhibit: what was audited, where it was seen, and what is expected of it."""

    name: str
    title: str
    seen: str
    setting: str
    expected: Literal["broken", "sound"]
    measure: Callable[[AuditSettings], Finding]


def package(name: str, *requirements: str) -> OutsidePackage:
    """Return a package with its environment in the cache of downloads."""
    return OutsidePackage(name, requirements, cache_folder("packages", name))


DIFFPRIVLIB = package("diffprivlib", "diffprivlib==0.6.6", "scikit-learn<1.6", "numpy<2.3")
OPENDP = package("opendp", "opendp[scikit-learn]==0.16.0")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=[entry.name for entry in ENTRIES], help="measure this entry and print it")
    parser.add_argument("--no-install", action="store_true", help="skip packages that are not installed yet")
    parser.add_argument("--out", default=str(PAGE), help="the page")
    options = parser.parse_args(arguments)
    chosen = [entry for entry in ENTRIES if options.only in (None, entry.name)]
    with one_thread():
        measured = [(entry, measure(entry, AuditSettings(), not options.no_install)) for entry in chosen]
    if options.only:
        print("\n".join(describe(*measured[0])))
    else:
        Path(options.out).write_text(page(measured), encoding="utf-8")
    return int(any(finding.broken != (entry.expected == "broken") for entry, finding in measured if not finding.skipped))


def measure(entry: Entry, settings: AuditSettings, install: bool = False) -> Finding:
    """Audit one entry; an entry whose package is not there is skipped with the reason."""
    start = processor_seconds()
    try:
        if install and entry.name.startswith(("diffprivlib", "opendp")):
            (DIFFPRIVLIB if entry.name.startswith("diffprivlib") else OPENDP).install()
        start = processor_seconds()
        finding = entry.measure(settings)
    except Refused as refusal:
        return Finding((), skipped=str(refusal))
    print(f"{entry.name}: {'broken' if finding.broken else 'nothing found'}", file=sys.stderr, flush=True)
    return replace(finding, seconds=processor_seconds() - start)


def processor_seconds() -> float:
    """Return the processor time of this program and of the packages that it ran."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


# -- what the entries measure ----------------------------------------------------------------------------------------


def patterns() -> ModuleType:
    """Return the rewritten patterns, which are no part of dpbench."""
    spec = importlib.util.spec_from_file_location("gallery_patterns", GALLERY / "patterns.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def found(bound: EpsilonLowerBound, *sentences: str) -> Finding:
    """Return the finding of a lower bound on the numbers that were returned."""
    return Finding(sentences, bound, bool(bound.violation))


def pattern(name: str, tables: NeighbouringTables, claim: ClaimedPrivacy, **options: Any) -> Callable[[AuditSettings], Finding]:
    def fits(x: np.ndarray, y: np.ndarray, runs: int, seed: int) -> np.ndarray:
        return np.asarray(getattr(patterns(), name)(x, y, runs, seed, **options))

    return lambda settings: found(audit_black_box(fits, tables, claim, settings))


def zeros_to_ones(count: int, size: int) -> NeighbouringTables:
    """Return tables of rows whose first feature is 1; of the last row, all other features and the target turn from 0 into 1."""
    features = np.zeros((count, size))
    features[:, 0] = 1
    return NeighbouringTables(features, np.zeros(count), np.ones(size), 1.0)


def ball(count: int, size: int) -> NeighbouringTables:
    """Return tables of rows in the unit ball, along the axes; the last one turns around, and so does its target."""
    features = 0.5 * np.eye(size)[np.arange(count) % size]
    return NeighbouringTables(features, np.zeros(count), np.full(size, 1 / math.sqrt(size)), 1.0)


def axes(count: int) -> NeighbouringTables:
    """Return tables in the plane: rows on the first axis, and a last one without which X'X is almost singular."""
    features = np.tile([1.0, 0.0], (count, 1))
    features[0], features[-1] = [0.0, 0.05], [0.0, 1.0]
    return NeighbouringTables(features, np.zeros(count), np.array([1.0, 0.0]), 0.0)


def one_table(x: np.ndarray, y: np.ndarray, runs: int, seed: int) -> dict[str, np.ndarray]:
    """Return what an outside program needs to fit one table this many times."""
    seeds = np.random.default_rng(seed).integers(2**31, size=runs)
    return {"features": x, "target": y, "ends": np.array([len(y)]), "fits": np.array([runs]), "seeds": seeds}


def diffprivlib(epsilon: float, bounds_x: tuple[float, float], intercept: bool, pair: tuple[float, float]) -> Any:
    """Return the measurement of diffprivlib's regression with one feature, two rows, and the last feature as in the pair."""

    def measured(settings: AuditSettings) -> Finding:
        calls: dict[str, np.ndarray] = {}

        def fits(x: np.ndarray, y: np.ndarray, runs: int, seed: int) -> np.ndarray:
            options: dict[str, Any] = {"bounds_X": bounds_x, "bounds_y": (-1.0, 1.0), "fit_intercept": intercept}
            script = PROGRAMS / "_diffprivlib_program.py"
            calls.update(DIFFPRIVLIB.run(script, one_table(x, y, runs, seed), estimator="linear", epsilon=epsilon, **options))
            return calls["weights"]

        tables = NeighbouringTables(np.array([[0.05], [pair[0]]]), np.zeros(2), np.array([pair[1]]), 0.0)
        claim = ClaimedPrivacy(epsilon, 0.0)
        bound = audit_black_box(fits, tables, claim, settings)
        spent, sensitivities = calls["epsilons"], ", ".join(f"{value:.3g}" for value in calls["sensitivities"])
        budget = " + ".join(f"{value:.4g}" for value in spent)
        sentences = [
            f"The noise mechanisms that one fit built had ε = {budget} = {spent.sum():.4g} in all, where {epsilon:g} was "
            f"requested, and the sensitivities {sensitivities}."
        ]
        overspent = spent.sum() > epsilon * (1 + 1e-9)
        if overspent and not bound.violation:
            sentences.append(
                "The statistics do not certify more than ε: the sum is an upper bound, which these tables need not attain."
            )
        elif overspent:
            sentences.append(
                "The overspending need not be the cause of the certified excess: the noisy means shift the bounds, which then "
                "are no longer symmetric, and the sensitivity of the diagonal is computed from one end of them here too."
            )
        return Finding(tuple(sentences), bound, bool(bound.violation) or bool(overspent))

    return measured


def theil_sen(settings: AuditSettings) -> Finding:
    """Audit OpenDP's Theil–Sen regression, whose measurement says itself what it costs."""
    epsilons: list[float] = []

    def fits(x: np.ndarray, y: np.ndarray, runs: int, seed: int) -> np.ndarray:
        options: dict[str, Any] = {"epsilon": 2.0, "bounds_x": (0.0, 1.0), "bounds_y": (0.0, 1.0)}
        results = OPENDP.run(PROGRAMS / "_opendp_program.py", one_table(x, y, runs, seed), **options)
        epsilons.append(float(results["epsilon"]))
        return results["weights"]

    grid = np.linspace(0, 1, 4)
    tables = NeighbouringTables(grid[:, None], np.array([0.0, 0.0, 1.0, 1.0]), np.array([1.0]), 0.0)
    bound = audit_black_box(fits, tables, ClaimedPrivacy(2.0, 0.0), settings, ("intercept", "slope"))
    return found(replace(bound, claim=ClaimedPrivacy(epsilons[0], 0.0)), f"Its own map says ε = {epsilons[0]:g}.")


def published_irls(settings: AuditSettings) -> Finding:
    """Audit the built-in mechanism that runs the published noise."""
    mechanism = registry().get("mechanism", "cdp_irls").build({"variant": "published"})
    model = registry().get("model", "linear").build({})
    budget, geometry = Budget(0.1, DELTA, mechanism.counted()), example_geometry(model, 2)
    outcome = audit(AuditSubject(mechanism, model, budget, geometry, replace(settings, level="component")))
    worst = max(outcome.lower_bounds, key=lambda bound: bound.epsilon / bound.claim.epsilon)
    return Finding(("A replay finds nothing: the noise declares no bound.",), worst, not outcome.passed)


MU = gdp_of_epsilon(1.0, DELTA)
ENTRIES = (
    Entry(
        "diffprivlib_diagonal",
        "diffprivlib 0.6.6: bounds (0, b) leave the diagonal of X'X without noise",
        "The installed package. Reported in issues 104 and 105 and in pull request 110 of IBM/differential-privacy-library.",
        "`LinearRegression(epsilon=0.5, bounds_X=(0, 1), bounds_y=(-1, 1), fit_intercept=False)`, one feature, two rows",
        "broken",
        diffprivlib(0.5, (0.0, 1.0), False, (1.0, 0.05)),
    ),
    Entry(
        "diffprivlib_intercept",
        "diffprivlib 0.6.6: with an intercept, a fit spends more than ε",
        "The installed package. Reported in issue 104 of IBM/differential-privacy-library.",
        "`LinearRegression(epsilon=1, bounds_X=(-1, 1), bounds_y=(-1, 1))`, one feature, two rows",
        "broken",
        diffprivlib(1.0, (-1.0, 1.0), True, (1.0, -1.0)),
    ),
    Entry(
        "boosted_sigma",
        "The pattern of a boosted AdaSSP whose μ is used as σ",
        f"shuaitang/BoostedAdaSSP, BoostedAdaSSP.py (commit 3a7198ba): {READING}.",
        f"(1, 10⁻⁶) claimed, which is μ = {MU:.3f}; ten rounds, three features, six rows",
        "broken",
        pattern("boosted_sigma", ball(6, 3), ClaimedPrivacy(1.0, DELTA, MU)),
    ),
    Entry(
        "least_eigenvalue",
        "The pattern of a sensitivity with the least eigenvalue of the private X'X",
        "A shortcut that we have no public file for. AdaSSP releases this eigenvalue with noise of its own, because it is "
        "private (Wang 2018, arXiv 1803.02596).",
        "ε = 1 claimed, two features, eight rows",
        "broken",
        pattern("least_eigenvalue", axes(8), ClaimedPrivacy(1.0, 0.0)),
    ),
    Entry(
        "one_coordinate",
        "The pattern of a binned regression that charges one coordinate of a vector",
        f"Shuronglin/BinAgg, src/binagg/binning.py (commit e1c4768a): {READING}.",
        "μ = 1 claimed for two bins of 12 features; in the last row 11 of them and the target turn from 0 into 1",
        "broken",
        pattern("one_coordinate", zeros_to_ones(6, 12), ClaimedPrivacy(epsilon_of_gdp(1.0, DELTA), DELTA, 1.0)),
    ),
    Entry(
        "published_irls",
        "Iteratively reweighted least squares with Wishart noise, as published",
        "Park and Welling 2016, arXiv 1605.07511; built in as `cdp_irls variant=published`, where it runs as UNPROVEN.",
        "ρ = 0.1 claimed; also `python -m dpbench audit mechanism=cdp_irls mechanism.variant=published epsilon=0.1`",
        "broken",
        published_irls,
    ),
    Entry(
        "gradient_mean",
        "The pattern of a gradient mean that gets the noise of the sum: private, and wasteful",
        f"google-deepmind/jax_privacy, examples/jax_api_example.py, as reported in its issue 383: {READING}.",
        "μ = 1 claimed, ten steps, three features, six rows",
        "sound",
        pattern("gradient_mean", ball(6, 3), ClaimedPrivacy(epsilon_of_gdp(1.0, DELTA), DELTA, 1.0)),
    ),
    Entry(
        "one_coordinate_charged",
        "The same binned sums with the whole vector charged",
        "Our correction of the pattern above.",
        "the same tables and the same claim",
        "sound",
        pattern(
            "one_coordinate",
            zeros_to_ones(6, 12),
            ClaimedPrivacy(epsilon_of_gdp(1.0, DELTA), DELTA, 1.0),
            charge_vector=True,
        ),
    ),
    Entry(
        "diffprivlib_symmetric",
        "diffprivlib 0.6.6: symmetric bounds, no intercept",
        "The installed package.",
        "`LinearRegression(epsilon=1, bounds_X=(-1, 1), bounds_y=(-1, 1), fit_intercept=False)`, one feature, two rows",
        "sound",
        diffprivlib(1.0, (-1.0, 1.0), False, (1.0, 0.05)),
    ),
    Entry(
        "opendp_theil_sen",
        "OpenDP 0.16.0: Theil–Sen regression",
        "The installed package.",
        "`dp.sklearn.linear_model.LinearRegression(dp.max_divergence(), …, scale=2)`, one feature, four rows",
        "sound",
        theil_sen,
    ),
)


HEAD = """# The gallery: other people's guarantees

Written by `python scripts/gallery.py` (dpbench {version}, NumPy {numpy}). Packages run as installed, in environments of their
own. A *pattern* is rewritten in examples/gallery/patterns.py from what we read; it is not the program, and its authors have not
confirmed our reading. Every number is measured on made-up tables that differ in one row. A lower bound that exceeds the claim
shows that the claim is false for what was run here; a lower bound below the claim proves nothing. After *by* comes the event
that tells the two tables apart. How the statistics work, and how sure they are: [privacy.md](privacy.md).
"""

# -- the page --------------------------------------------------------------------------------------------------------


def describe(entry: Entry, finding: Finding) -> Iterator[str]:
    """Yield the lines about one entry."""
    yield f"### {entry.title}\n"
    yield f"Seen: {entry.seen}  "
    yield f"Audited: {entry.setting}  "
    yield f"Command: `python scripts/gallery.py --only {entry.name}`\n"
    if finding.skipped:
        yield f"Skipped: {finding.skipped}\n"
        return
    yield from finding.sentences
    if bound := finding.bound:
        mu = f" (μ ≥ {bound.mu:.2f} of {bound.claim.mu:.2f})" if bound.mu is not None and bound.claim.mu is not None else ""
        ending = "**More than is claimed.**" if bound.violation else "No more than is claimed."
        yield (
            f"Certified: ε ≥ {bound.epsilon:.2f} of {bound.claim.epsilon:.2f} claimed{mu}, confidence "
            f"{100 * bound.confidence:.6g} %, {bound.runs:,} fits on each table, by {bound.event}. {ending}"
        )
    yield f"{finding.seconds:.0f} s of processor time.\n"


def verdict(finding: Finding) -> str:
    """Return what was found, in two or three words."""
    if finding.skipped or not finding.broken:
        return "skipped" if finding.skipped else "nothing found"
    return "**more than claimed**" if finding.bound is not None and finding.bound.violation else "**overspends**"


def page(measured: Sequence[tuple[Entry, Finding]]) -> str:
    """Return the page."""
    head = HEAD.format(version=dpbench.__version__, numpy=np.__version__)
    broken = "\n".join(line for item in measured if item[0].expected == "broken" for line in describe(*item))
    sound = "\n".join(line for item in measured if item[0].expected == "sound" for line in describe(*item))
    summary = ["| | claimed ε | certified ε | |", "|---|---|---|---|"]
    for entry, finding in measured:
        claimed = certified = ""
        if bound := finding.bound:
            claimed, certified = f"{bound.claim.epsilon:.2f}", f"{bound.epsilon:.2f}"
        summary.append(f"| {entry.title} | {claimed} | {certified} | {verdict(finding)} |")
    return "\n".join(
        [head, *summary, "\n## Guarantees that do not hold\n", broken, "\n## Guarantees in which nothing was found\n", sound]
    )


if __name__ == "__main__":
    sys.exit(main())
