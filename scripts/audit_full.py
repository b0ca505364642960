"""Audit everything: every mechanism on every model that it fits, the planted faults, the controls, and the speed.

    python scripts/audit_full.py                        a quarter of an hour on one core; writes docs/results/audit.md
    python scripts/audit_full.py --runs 1000 --out -    a quick look, printed
    python scripts/audit_full.py --only alarms --out -  500 audits of sound mechanisms alone

The tests do the same with fewer runs and without the capped loop. The exit code is 1 if a sound mechanism failed or a fault was
missed.
"""

from __future__ import annotations

import argparse
import itertools
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
sys.path.insert(0, str(HERE / "tests" / "audit"))

import cases  # noqa: E402
import faults  # noqa: E402

import dpbench  # noqa: E402
from dpbench.accounting.costs import Gdp, Pure  # noqa: E402
from dpbench.audit.epsilon_lower_bound import epsilon_lower_bound  # noqa: E402
from dpbench.audit.neighbours import Pairs, common_rows, ones_to_zeros  # noqa: E402
from dpbench.audit.procedure import Audit, audit, audit_pair  # noqa: E402
from dpbench.audit.scores import Scores  # noqa: E402
from dpbench.audit.subject import (  # noqa: E402
    AuditSettings,
    AuditSubject,
    ClaimedPrivacy,
    example_geometries,
    example_geometry,
)
from dpbench.base.one_thread import one_thread  # noqa: E402
from dpbench.privacy.ledger import Budget  # noqa: E402
from dpbench.registry.lookup import registry  # noqa: E402

SLOW_MODELS = ("lasso", "elastic_net")
"""Models that solve a convex program for every run: they are audited with fewer runs, on one geometry."""
ALARM_RUNS = 400
"""Runs on each table in the audits that count false alarms."""
ALARM_MODELS = ("linear", "logistic", "ridge", "robust")


@dataclass(frozen=True)
class Section:
    """A part of the page, and whether its result is the expected one."""

    title: str
    lines: tuple[str, ...]
    holds: bool


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--runs",
        type=int,
        default=10_000,
        help="runs a table of the fast models; 0: leave the long table of sound mechanisms out",
    )
    parser.add_argument("--capped", type=int, default=2_000_000, help="runs a table of the capped loop; 0: leave it out")
    parser.add_argument("--alarms", type=int, default=500, help="audits of sound mechanisms that count false alarms; 0: none")
    parser.add_argument("--only", choices=["alarms"], help="this section alone")
    parser.add_argument("--out", default=str(HERE / "docs" / "results" / "audit.md"), help="the page; -: print it")
    arguments = parser.parse_args()
    with one_thread():
        sections: list[Section] = []
        for section in [false_alarms(arguments.alarms)] if arguments.only else _sections(arguments):
            sections.append(_print_outcome(section))
            page = _page(sections, [argument for argument in sys.argv[1:] if argument != "-"])
            if arguments.out != "-":  # section by section, so that an interrupted run leaves what it measured
                Path(arguments.out).parent.mkdir(exist_ok=True)
                Path(arguments.out).write_text(page, encoding="utf-8")
    if arguments.out == "-":
        print(page)
    return 0 if all(section.holds for section in sections) else 1


def _sections(arguments: argparse.Namespace) -> Iterator[Section]:
    for section in (speed, calibration, null_control, replay_alarms, planted):
        yield section()
    if arguments.alarms:
        yield false_alarms(arguments.alarms)
    if arguments.capped:
        yield capped_redraws(arguments.capped)
    if arguments.runs:
        yield sound(arguments.runs)


def _print_outcome(section: Section) -> Section:
    print(f"{'holds' if section.holds else 'DOES NOT HOLD'}: {section.title}", file=sys.stderr, flush=True)
    return section


def build(kind: str, name: str, **options: Any) -> Any:
    return registry().get(kind, name).build(options)


def run_audit(mechanism: Any, model: Any, geometry: Any, epsilon: float = 1.0, **settings: Any) -> Audit:
    budget = Budget(epsilon, 1e-6, mechanism.counted())
    return audit(AuditSubject(mechanism, model, budget, geometry, AuditSettings(**settings)))


# -- the sections ----------------------------------------------------------------------------------------------------


def sound(runs: int) -> Section:
    """Audit every mechanism that claims privacy, with every option that changes its calls, on every model."""
    lines = ["| mechanism | model | tables | moved by at most | least p of the noise | ε proven of the weights | |"]
    lines += ["|---|---|---|---|---|---|---|"]
    holds = True
    for name, options in cases.SOUND:
        mechanism = build("mechanism", name, **options)
        print(f"{name} {options}", file=sys.stderr, flush=True)
        for model_name in registry().names("model"):
            audits = [*_audits(mechanism, build("model", model_name), options, runs)]
            if audits:
                passed = all(outcome.passed for outcome in audits)
                holds &= passed
                changes = ", ".join(f"{key}={value}" for key, value in options.items())
                outcome = "passed" if passed else "FAILED"
                lines.append(f"| {name} {changes} | {model_name} | {len(audits)} | {_numbers(audits)} | {outcome} |")
                lines += [f"\n{line}\n" for failed in audits for line in failed.violations]
    head = (
        "ε = 1 and δ = 10⁻⁶ in each mechanism's own currency, small made-up tables, 2 pairs of neighbours, confidence 99.99 % an "
        f"audit, {runs:,} runs a world (histograms and robust regression 2,000; lasso, elastic net, and histograms with models "
        "that are fitted step by step 300). *Moved by at most*: the largest change of an answer between neighbours, in units of "
        "what is declared; 1 is equality. Where the noise has no number, the answers are those of the linear model.\n"
    )
    return Section("Mechanisms that keep their claim", (head, *lines), holds)


def _audits(mechanism: Any, model: Any, options: dict[str, Any], runs: int) -> Iterator[Audit]:
    rows, one_column = cases.rows_for(options)
    histogram = mechanism.name in ("dpme", "fp")
    slow = model.name in SLOW_MODELS or (histogram and model.name in ("logistic", "robust"))
    for number, geometry in enumerate(example_geometries(model)):
        if (one_column and geometry.features > 1) or (slow and number > 1) or mechanism.unsupported(model, geometry):
            continue
        # without a repair the solver may iterate on an unbounded objective for very long
        unbounded = model.name in SLOW_MODELS and options.get("repair") == "none"
        level = "replay" if unbounded else "release" if slow else "all"
        fewer = min(runs, 300 if slow else 2_000 if model.name == "robust" or histogram else runs)
        yield run_audit(mechanism, model, geometry, level=level, runs=fewer, rows=rows)


def false_alarms(count: int) -> Section:
    """Audit sound mechanisms this many times, each time with another seed, and count the alarms."""
    names = sorted({name for name, _ in cases.SOUND})
    outcomes: dict[str, list[Audit]] = {name: [] for name in names}
    for number, (mechanism, model, geometry, rows) in zip(range(count), _endless_cases(), strict=False):
        outcome = run_audit(mechanism, model, geometry, rows=rows, runs=ALARM_RUNS, seed=number)
        outcomes[mechanism.name].append(outcome)
    lines = [
        "| mechanism | audits | alarms | least p of the noise | largest share of a claimed ε proven |",
        "|---|---|---|---|---|",
    ]
    for name, audits in outcomes.items():
        if audits:
            least = min((test.p_value for outcome in audits for test in outcome.noise_tests), default=1.0)
            share = max(bound.epsilon / bound.claim.epsilon for outcome in audits for bound in outcome.lower_bounds)
            alarms = sum(not outcome.passed for outcome in audits)
            lines.append(f"| {name} | {len(audits)} | {alarms} | {least:.2g} | {share:.2f} |")
    audits = [outcome for group in outcomes.values() for outcome in group]
    alarms, rate = sum(not outcome.passed for outcome in audits), sum(outcome.false_alarm for outcome in audits)
    head = (
        f"{len(audits)} audits of every level, each with a seed of its own, {ALARM_RUNS:,} runs a table: {alarms} alarms. "
        f"A family-wise rate of {audits[0].false_alarm:.0g} an audit allows {rate:.2g} of them.\n"
    )
    return Section("False alarms", (head, *lines), alarms == 0)


def _endless_cases() -> Iterator[tuple[Any, Any, Any, int]]:
    """Yield every sound mechanism on every model and small geometry that it fits, again and again."""
    models = [build("model", name) for name in ALARM_MODELS]
    while True:
        for model in models:
            for number in range(len(example_geometries(model))):
                for name, options in cases.SOUND:
                    mechanism, geometry = build("mechanism", name, **options), example_geometries(model)[number]
                    rows, one_column = cases.rows_for(options)
                    histogram = name in ("dpme", "fp") and model.name != "linear"  # fitted step by step: seconds a run
                    if not (histogram or (one_column and geometry.features > 1) or mechanism.unsupported(model, geometry)):
                        yield mechanism, model, geometry, rows


def _numbers(audits: list[Audit]) -> str:
    ratio = max(outcome.replays.ratio for outcome in audits)
    p_values = [test.p_value for outcome in audits for test in outcome.noise_tests]
    bounds = [bound for outcome in audits for bound in outcome.lower_bounds if bound.output == "weights"]
    epsilons = [f"{bound.epsilon:.2f} of {bound.claim.epsilon:.2f}" for bound in bounds]
    least = f"{min(p_values):.2g}" if p_values else ""
    return f"{ratio:.4f} | {least} | {max(epsilons, key=lambda text: float(text.split()[0]), default='')}"


def replay_alarms() -> Section:
    """Replay built-in mechanisms on ten geometries with five seeds."""
    model, replays, alarms = build("model", "linear"), 0, []
    for seed, shape, name in itertools.product(cases.SEEDS, cases.GEOMETRIES, cases.REPLAYED):
        outcome = run_audit(build("mechanism", name), model, example_geometry(model, *shape), level="replay", seed=seed)
        replays += 1
        alarms += [f"{name} on {shape} with seed {seed}: {text}" for text in outcome.violations]
    line = f"{len(alarms)} alarms in {replays} replays of built-in mechanisms."
    return Section("False alarms of replays", (line, *alarms), not alarms)


def planted() -> Section:
    """Audit the planted faults, and name the first level that sees each."""
    linear, robust = build("model", "linear"), build("model", "robust")
    three = example_geometry(linear, 3)
    subjects = [
        ("FM with Δ/4", faults.QuarterOfTheSensitivity(), linear, three, 1.0),
        ("FM, a diagonal without noise", faults.ExactDiagonal(), linear, three, 1.0),
        ("σ := μ", faults.WrongLaw("InverseScale"), linear, three, 1.0),
        ("0.9 of the scale", faults.WrongLaw("Narrower"), linear, three, 1.0),
        ("one draw for all coefficients", faults.WrongLaw("Shared"), linear, three, 1.0),
        ("half of the price", faults.WrongLaw("Cheap"), linear, three, 1.0),
        ("truncated at three scales, sold as Laplace noise", faults.WrongLaw("Truncated"), linear, three, 1.0),
        ("truncated at three scales, with its own function", faults.WrongLaw("HonestlyTruncated"), linear, three, 1.0),
        (
            "truncated at three scales, without a function",
            faults.WrongLaw("Untestable"),
            linear,
            example_geometry(linear, 1),
            1.0,
        ),
        ("calls that depend on the rows", faults.Peeking("more"), linear, three, 1.0),
        ("weights that depend on the rows", faults.Peeking("weights"), linear, three, 1.0),
        ("a line missing in the ledger", faults.HiddenSpending(), linear, three, 1.0),
    ]
    for options in cases.PUBLISHED:
        title = f"published CDP-IRLS, {options['distribution']}, {options['composition']}"
        epsilon = 1.0 if options["composition"] == "conventional" else 0.1
        subjects.append((title, build("mechanism", "cdp_irls", **options), linear, example_geometry(linear, 2), epsilon))
    weighted = build("mechanism", "cdp_irls", variant="published")
    subjects.append(("published CDP-IRLS, 5 steps", weighted, robust, example_geometry(robust, 2), 0.1))
    lines, holds = ["| fault | level | what was found |", "|---|---|---|"], True
    for name, mechanism, model, geometry, epsilon in subjects:
        caught = (
            f"{level} | {outcome.violations[0]}"
            for level, outcome in _levels(mechanism, model, geometry, epsilon)
            if not outcome.passed
        )
        first = next(caught, "MISSED | ")
        holds &= first != "MISSED | "
        lines.append(f"| {name} | {first} |")
    return Section(
        "Planted faults",
        ("The first level that sees each, at 5,000 runs, the default (with advanced composition, 20,000).\n", *lines),
        holds,
    )


def _levels(mechanism: Any, model: Any, geometry: Any, epsilon: float) -> Iterator[tuple[str, Audit]]:
    for level in ("replay", "component", "release"):
        # with advanced composition an impossible answer has a probability of 1 %: the default runs do not suffice
        runs = 20_000 if getattr(mechanism, "composition", "") == "advanced" else 5_000
        yield level, run_audit(mechanism, model, geometry, epsilon, level=level, runs=runs)


def capped_redraws(runs: int) -> Section:
    """Audit Lemma 5 of Zhang et al. 2012 with a cap: the fallback is as likely as ten rejections in a row."""
    model = build("model", "linear", intercept=False)
    epsilon = 2.0
    settings: dict[str, Any] = {"level": "component", "runs": runs, "rows": 1, "pairs": 1, "confidence": 0.99}
    (bound,) = run_audit(faults.CappedRedraws(), model, example_geometry(model, 1), epsilon, **settings).lower_bounds
    line = (
        f"Drawn until bounded, ten times at most, at ε/2 a draw, D = 1, {runs:,} runs a world: ε ≥ {bound.epsilon:.2f} where "
        f"{epsilon:g} is claimed (confidence {100 * bound.confidence:.2f} %; the event: {bound.event}). "
        f"{'Caught.' if bound.violation else 'MISSED.'}"
    )
    return Section("A capped loop", (line,), bool(bound.violation))


def null_control() -> Section:
    """Audit two equal tables 400 times."""
    model, repetitions, most = build("model", "linear"), 400, 13
    geometry = example_geometry(model, 1)
    row = ones_to_zeros(geometry).first
    alarms = 0
    for seed in range(repetitions):
        settings = AuditSettings(runs=400, pairs=1, seed=seed, confidence=0.99)
        subject = AuditSubject(build("mechanism", "fm"), model, Budget(1.0, 1e-6, "pure"), geometry, settings)
        tests, bounds = audit_pair(subject, Pairs(row, row, ("null",)), ClaimedPrivacy(0.0, 0.0))
        alarms += any(test.violation for test in tests) or any(bound.epsilon > 0 for bound in bounds)
    chance = stats.binom.sf(most, repetitions, 0.01)
    line = (
        f"{alarms} alarms in {repetitions} audits of two equal tables at a nominal 1 %; more than {most} would have the "
        f"probability {chance:.1g}."
    )
    return Section("The null control", (line,), alarms <= most)


def calibration() -> Section:
    """Bound the ε of one number, where the true value is known."""
    lines, holds = ["| noise | runs | proven |", "|---|---|---|"], True
    for runs in (10_000, 100_000, 1_000_000):
        generator = np.random.default_rng(runs)
        numbers = generator.laplace(size=(2, runs, 1))
        numbers[1] += 1
        pure = epsilon_lower_bound(Scores(numbers, ("x",)), ClaimedPrivacy.of([Pure(1.0)], 0.0), 0.05)
        numbers = generator.standard_normal((2, runs, 1))
        numbers[1] += 1
        normal = epsilon_lower_bound(Scores(numbers, ("x",)), ClaimedPrivacy.of([Gdp(1.0)], 1e-6), 0.05)
        holds &= pure.epsilon <= 1.0 and (normal.mu or 0.0) <= 1.0
        lines += [f"| Laplace, ε = 1 | {runs:,} | {pure.epsilon:.3f} |", f"| normal, μ = 1 | {runs:,} | {normal.mu:.3f} |"]
    return Section("How near the statistics come, at 95 % confidence", tuple(lines), holds)


def speed() -> Section:
    """Time 100,000 fits of FM with 13 coefficients."""
    model = build("model", "linear")
    mechanism, geometry = build("mechanism", "fm", sensitivity="tight"), example_geometry(model, 12)
    subject = AuditSubject(mechanism, model, Budget(1.0, 1e-6, "pure"), geometry, AuditSettings())
    start = time.process_time()
    count = len(subject.repeat_fits(common_rows(geometry, 7), 100_000, "speed"))
    seconds = time.process_time() - start
    line = f"{count:,} FM releases at D = 13 in {seconds:.1f} s of processor time (limit: 20 s)."
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
