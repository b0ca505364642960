"""Audit everything: every mechanism on every model that it fits, the planted faults, the controls, and how fast it goes.

    python scripts/audit_full.py                        a quarter of an hour on one core; writes docs/results/audit.md
    python scripts/audit_full.py --runs 1000 --out -    a quick look, printed

The ordinary tests do the same with fewer runs and without the capped loop. The exit code is 1 where a sound mechanism failed or a
fault was missed.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from scipy import stats

HERE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(HERE / "tests" / "privacy" / "audit"))

import cases  # noqa: E402
import faults  # noqa: E402

import dpbench  # noqa: E402
from dpbench.accounting.costs import Gdp, Pure  # noqa: E402
from dpbench.audit.auditing import Audit, at_pair, audit  # noqa: E402
from dpbench.audit.certificate import ClaimedPrivacy, Scores, certify  # noqa: E402
from dpbench.audit.example_geometries import geometries, geometry  # noqa: E402
from dpbench.audit.neighbours import Pairs, ones_to_zeros  # noqa: E402
from dpbench.audit.replays import AuditSubject  # noqa: E402
from dpbench.audit.settings import AuditSettings  # noqa: E402
from dpbench.audit.statistical import weights  # noqa: E402
from dpbench.cells.work_unit import one_thread  # noqa: E402
from dpbench.privacy.ledger import Budget  # noqa: E402
from dpbench.registry.lookup import registry  # noqa: E402

SLOW = ("lasso", "elastic_net")
"""Models that cost a convex program a run: fewer runs, on one geometry."""
CONFIDENCE = 0.9999
"""Of each audit of a sound mechanism: a few hundred of them raise a false alarm together with a probability of a few per cent."""


@dataclass(frozen=True)
class Section:
    """A part of the page, and whether it came out as it must."""

    title: str
    lines: tuple[str, ...]
    holds: bool


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000, help="runs a world of the fast models")
    parser.add_argument("--capped", type=int, default=2_000_000, help="runs a world of the capped loop; 0: leave it out")
    parser.add_argument("--out", default=str(HERE / "docs" / "results" / "audit.md"), help="the page; -: print it")
    arguments = parser.parse_args()
    with one_thread():
        sections = [*_sections(arguments.runs, arguments.capped)]
    page = _page(sections, [argument for argument in sys.argv[1:] if argument != "-"])
    if arguments.out == "-":
        print(page)
    else:
        Path(arguments.out).parent.mkdir(exist_ok=True)
        Path(arguments.out).write_text(page, encoding="utf-8")
    return 0 if all(section.holds for section in sections) else 1


def _sections(runs: int, capped: int) -> Iterator[Section]:
    for section in (speed, calibration, null_control, planted):
        yield _told(section())
    if capped:
        yield _told(capped_redraws(capped))
    yield _told(sound(runs))


def _told(section: Section) -> Section:
    print(f"{'holds' if section.holds else 'DOES NOT HOLD'}: {section.title}", file=sys.stderr, flush=True)
    return section


def build(kind: str, name: str, **options: Any) -> Any:
    return registry().get(kind, name).build(options)


def tried(mechanism: Any, model: Any, table: Any, epsilon: float = 1.0, **plan: Any) -> Audit:
    return audit(mechanism, model, Budget(epsilon, 1e-6, mechanism.counted()), table, AuditSettings(**plan))


# -- the sections ----------------------------------------------------------------------------------------------------


def sound(runs: int) -> Section:
    """Every mechanism that claims privacy, every option that changes what it asks, every model."""
    lines = ["| mechanism | model | tables | moved by at most | least p of the noise | ε proven of the weights | |"]
    lines += ["|---|---|---|---|---|---|---|"]
    holds = True
    for name, options in cases.SOUND:
        mechanism = build("mechanism", name, **options)
        print(f"{name} {options}", file=sys.stderr, flush=True)
        for chosen in registry().names("model"):
            found = [*_audited(mechanism, build("model", chosen), options, runs)]
            if found:
                passed = all(one.passed for one in found)
                holds &= passed
                shown = ", ".join(f"{key}={value}" for key, value in options.items())
                verdict = "passed" if passed else "FAILED"
                lines.append(f"| {name} {shown} | {chosen} | {len(found)} | {_numbers(found)} | {verdict} |")
                lines += [f"\n{line}\n" for one in found for line in one.violations]
    head = (
        "ε = 1 and δ = 10⁻⁶ in each mechanism's own currency, small made-up tables, 2 pairs of neighbours, confidence 99.99 % an "
        f"audit, {runs:,} runs a world (histograms and robust regression 2,000; lasso, elastic net, and histograms with models "
        "that are fitted step by step 300). *Moved by at most*: the largest change of an answer between neighbours, in units of "
        "what is declared; 1 is equality. Where the noise has no number, the answers are those of the linear model.\n"
    )
    return Section("Mechanisms that keep their word", (head, *lines), holds)


def _audited(mechanism: Any, model: Any, options: dict[str, Any], runs: int) -> Iterator[Audit]:
    rows, alone = cases.rows_for(options)
    cells = mechanism.name in ("dpme", "fp")
    slow = model.name in SLOW or (cells and model.name in ("logistic", "robust"))
    for number, table in enumerate(geometries(model)):
        if mechanism.unsupported(model, table) is None and not (alone and table.features > 1) and not (slow and number > 1):
            endless = model.name in SLOW and options.get("repair") == "none"
            level = "replay" if endless else "release" if slow else "all"
            fewer = min(runs, 300 if slow else 2_000 if model.name == "robust" or cells else runs)
            yield tried(mechanism, model, table, level=level, runs=fewer, rows=rows, confidence=CONFIDENCE)


def _numbers(found: list[Audit]) -> str:
    ratio = max(one.replayed.ratio for one in found if one.replayed is not None)
    p_values = [fit.p_value for one in found for fit in one.fits]
    proven = [one for audited in found for one in audited.certificates if one.what == "weights"]
    epsilons = [f"{one.epsilon:.2f} of {one.claim.epsilon:.2f}" for one in proven]
    least = f"{min(p_values):.2g}" if p_values else ""
    return f"{ratio:.4f} | {least} | {max(epsilons, key=lambda text: float(text.split()[0]), default='')}"


def planted() -> Section:
    """The planted faults, each with the levels that see it."""
    linear, robust = build("model", "linear"), build("model", "robust")
    three = geometry(linear, 3)
    subjects = [
        ("FM with Δ/4", faults.QuarterOfTheSensitivity(), linear, three, 1.0),
        ("FM, a diagonal without noise", faults.ExactDiagonal(), linear, three, 1.0),
        ("σ := μ", faults.WrongLaw("InverseScale"), linear, three, 1.0),
        ("0.9 of the scale", faults.WrongLaw("Narrower"), linear, three, 1.0),
        ("one draw for all coefficients", faults.WrongLaw("Shared"), linear, three, 1.0),
        ("half of the price", faults.WrongLaw("Cheap"), linear, three, 1.0),
        ("calls that depend on the rows", faults.Peeking("more"), linear, three, 1.0),
        ("weights that depend on the rows", faults.Peeking("weights"), linear, three, 1.0),
        ("a line less in the ledger", faults.HiddenSpending(), linear, three, 1.0),
    ]
    for options in cases.PUBLISHED:
        shown = f"published CDP-IRLS, {options['distribution']}, {options['composition']}"
        epsilon = 1.0 if options["composition"] == "conventional" else 0.1
        subjects.append((shown, build("mechanism", "cdp_irls", **options), linear, geometry(linear, 2), epsilon))
    weighted = build("mechanism", "cdp_irls", variant="published")
    subjects.append(("published CDP-IRLS, 5 steps", weighted, robust, geometry(robust, 2), 0.1))
    lines, holds = ["| fault | level | what was found |", "|---|---|---|"], True
    for name, mechanism, model, table, epsilon in subjects:
        first = next((found for found in _levels(mechanism, model, table, epsilon) if not found[1].passed), None)
        holds &= first is not None
        lines.append(f"| {name} | {first[0]} | {first[1].violations[0]} |" if first else f"| {name} | MISSED | |")
    return Section("Planted faults", ("The first level that sees each.\n", *lines), holds)


def _levels(mechanism: Any, model: Any, table: Any, epsilon: float) -> Iterator[tuple[str, Audit]]:
    for level in ("replay", "component", "release"):
        yield level, tried(mechanism, model, table, epsilon, level=level, runs=20_000, confidence=CONFIDENCE)


def capped_redraws(runs: int) -> Section:
    """Zhang et al. 2012, Lemma 5 with a cap: the fallback's chance is that of ten rejections in a row."""
    model = build("model", "linear", intercept=False)
    epsilon = 2.0
    found = tried(faults.CappedRedraws(), model, geometry(model, 1), epsilon, level="component", runs=runs, rows=1, pairs=1)
    (one,) = found.certificates
    line = (
        f"Drawn until bounded, ten times at most, at ε/2 a draw, D = 1, {runs:,} runs a world: ε ≥ {one.epsilon:.2f} where "
        f"{epsilon:g} is claimed (confidence {100 * one.confidence:.2f} %; the event: {one.score}). "
        f"{'Caught.' if one.violated else 'MISSED.'}"
    )
    return Section("A capped loop", (line,), one.violated)


def null_control() -> Section:
    """Two worlds the same, 400 times."""
    model, repetitions, most = build("model", "linear"), 400, 13
    table = geometry(model, 1)
    row = ones_to_zeros(table).first
    alarms = 0
    for seed in range(repetitions):
        subject = AuditSubject(build("mechanism", "fm"), model, Budget(1.0, 1e-6, "pure"), table, 8, seed)
        found = at_pair(
            subject, Pairs(row, row, ("null",)), ClaimedPrivacy(0.0, 0.0), AuditSettings(runs=400, pairs=1, seed=seed)
        )
        alarms += any(fit.violated for fit in found.fits) or any(one.epsilon > 0 for one in found.certificates)
    chance = stats.binom.sf(most, repetitions, 0.01)
    line = (
        f"{alarms} alarms in {repetitions} audits of two equal worlds at a nominal 1 %; more than {most} would have the "
        f"probability {chance:.1g}."
    )
    return Section("The null control", (line,), alarms <= most)


def calibration() -> Section:
    """One number, where the truth is known."""
    lines, holds = ["| noise | runs | proven |", "|---|---|---|"], True
    for runs in (10_000, 100_000, 1_000_000):
        generator = np.random.default_rng(runs)
        numbers = generator.laplace(size=(2, runs, 1))
        pure = certify(Scores(numbers[0], numbers[1] + 1, ("x",)), ClaimedPrivacy.of([Pure(1.0)], 0.0), 0.05)
        numbers = generator.standard_normal((2, runs, 1))
        normal = certify(Scores(numbers[0], numbers[1] + 1, ("x",)), ClaimedPrivacy.of([Gdp(1.0)], 1e-6), 0.05)
        holds &= pure.epsilon <= 1.0 and (normal.mu or 0.0) <= 1.0
        lines += [f"| Laplace, ε = 1 | {runs:,} | {pure.epsilon:.3f} |", f"| normal, μ = 1 | {runs:,} | {normal.mu:.3f} |"]
    return Section("How near the statistics come, at 95 % confidence", tuple(lines), holds)


def speed() -> Section:
    """100,000 releases of FM at 13 coefficients."""
    model = build("model", "linear")
    subject = AuditSubject(build("mechanism", "fm", sensitivity="tight"), model, Budget(1.0, 1e-6, "pure"), geometry(model, 12))
    start = time.perf_counter()
    count = len(weights(subject, subject.filling, 100_000, "speed"))
    seconds = time.perf_counter() - start
    line = f"{count:,} FM releases at D = 13 in {seconds:.1f} s on one core (limit: 20 s on two)."
    return Section("Speed", (line,), seconds < 20)


def _page(sections: list[Section], arguments: list[str]) -> str:
    versions = [f"dpbench {dpbench.__version__}", f"Python {platform.python_version()}"]
    versions += [f"NumPy {np.__version__}", f"SciPy {scipy.__version__}"]
    command = " ".join(["python scripts/audit_full.py", *arguments])
    head = (
        f"# The full audit\n\nWritten by `{command}` ({', '.join(versions)}). "
        "What each level can and cannot see: [privacy.md](../privacy.md)."
    )
    parts = [
        "\n".join([f"## {section.title}: {'holds' if section.holds else 'DOES NOT HOLD'}\n", *section.lines])
        for section in sections
    ]
    return "\n\n".join([head, *parts]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
