"""Run every preset, and write the papers' figures, the scorecard of their claims, and an index of both.

    python scripts/results.py                          all of them: most of an hour on two cores; writes docs/results
    python scripts/results.py --quick --out results    a first look in minutes
    python scripts/results.py --jobs 2                 two presets at a time, each in one process
    python scripts/results.py --only fang2019          one paper, or one figure (zhang2012/fig6)
    python scripts/results.py --summary                only the tables of claims, from the scorecard that is there

All go to one store, a new one unless --uri names another, so that cells which figures share run once. Presets whose figures
show seconds run first, one at a time, so that nothing else slows their fits. The exit code is 1 where a preset failed, or a cell
of one.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count, groupby
from pathlib import Path

from dpbench.base.errors import Refused
from dpbench.base.version import __version__
from dpbench.experiments.claims import claims_of, judge, papers_with_claims
from dpbench.experiments.presets import Experiment, experiments, papers, select
from dpbench.experiments.scorecard import markdown
from dpbench.report.figures.catalog import save_preset_figure
from dpbench.tracking.store import Store, open_store
from dpbench.tracking.sweep_files import preset_sweeps, read_sweep

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"
README = ROOT / "README.md"
START, END = "<!-- claims: written by scripts/results.py -->", "<!-- end of claims -->"
OUTCOMES = {
    "hold": "holds (",
    "hold in part": "holds in ",
    "do not hold": "does not hold",
    "not testable": "not testable",
    "open": "not ",
}
"""The columns of the summary, and how the verdicts that they count begin."""
CLAIMS_INTRODUCTION = (
    "Written by `python scripts/results.py`. The evidence for each verdict is in [scorecard.md](scorecard.md), which also has",
    "lines that no paper asserts; [claims.md](../claims.md) says how to read them. Verdicts on real tables and on synthetic ones",
    "(the census stand-ins) stand apart: a verdict is about these records, not about the papers' data.",
)


@dataclass(frozen=True)
class PresetRun:
    """A preset that was run, and how it went."""

    experiment: Experiment
    command: str
    seconds: float
    counts: str
    """How many cells ran, were recorded already, failed or were pruned."""
    failed: bool


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few repeats, for a first look")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="a figure or a paper; may be given again")
    parser.add_argument("--jobs", type=int, default=1, help="the number of presets at a time; with more than one, each is serial")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the folder that is written")
    parser.add_argument("--uri", help="the tracking store; what it has already is not run again")
    parser.add_argument("--summary", action="store_true", help="write claims.md and the README's table from scorecard.md")
    arguments = parser.parse_args()
    if arguments.summary:
        show_claims(RESULTS, README)
        return 0
    known = experiments()
    try:
        wanted = [experiment for name in arguments.only for experiment in select(name, known)]
        wanted = wanted or list((known if arguments.quick else with_figures(known)).values())
    except Refused as refusal:
        print(refusal, file=sys.stderr)
        return 2
    with _store(arguments.uri) as uri:
        wanted = in_order(wanted)
        timed = [experiment for experiment in wanted if shows_seconds(experiment)]
        others = [experiment for experiment in wanted if experiment not in timed]
        labels = (f"{number}/{len(wanted)}" for number in count(1))
        runs = [*_run(timed, labels, uri, arguments.quick, jobs=1, serial=True)]
        runs += _run(others, labels, uri, arguments.quick, arguments.jobs, serial=arguments.jobs > 1)
        runs.sort(key=lambda run: wanted.index(run.experiment))
        failed = [run.experiment.name for run in runs if run.failed]
        written = write(runs, uri, arguments.out.resolve(), arguments.quick)
        scorecard(uri, arguments.out.resolve())
    if arguments.out.resolve() == RESULTS:
        show_claims(RESULTS, README)
    minutes = sum(run.seconds for run in runs) / 60
    print(f"{len(runs)} presets, which took {minutes:.1f} minutes together; {written} figures in {arguments.out}.")
    if failed:
        print(f"FAILED: {', '.join(failed)}", file=sys.stderr)
    return 0 if not failed and written == len(runs) else 1


def with_figures(known: Mapping[str, Experiment]) -> dict[str, Experiment]:
    """Return the presets that are figures of papers: each study has a script of its own, except for a quick run."""
    return {name: experiment for name, experiment in known.items() if name.partition("/")[0] not in _studies()}


def _studies() -> set[str]:
    return {paper.name for paper in papers() if paper.folder.parent.name == "studies"}


def shows_seconds(experiment: Experiment) -> bool:
    """Whether the figure of a preset shows how long fits take."""
    return experiment.preset is not None and any(name.startswith("time/") for name in experiment.preset.figure.y)


def in_order(wanted: Sequence[Experiment]) -> list[Experiment]:
    """Sort by paper and figure number, variants after their figure and other presets last.

    A figure that shows the cells of another one comes later, and finds them recorded.
    """

    def key(name: str) -> tuple[str, float, str]:
        paper, _, figure = name.partition("/")
        number = re.match(r"fig(\d+)", figure)
        return paper, int(number[1]) if number else math.inf, figure

    by_name = {experiment.name: experiment for experiment in wanted}
    return [by_name[name] for name in sorted(by_name, key=key)]


@contextmanager
def _store(uri: str | None) -> Iterator[str]:
    if uri is not None:
        yield uri
        return
    with tempfile.TemporaryDirectory(prefix="dpbench-results-") as folder:
        yield f"sqlite:///{folder}/mlflow.db"


def _run(
    wanted: Sequence[Experiment], labels: Iterator[str], uri: str, quick: bool, jobs: int, *, serial: bool
) -> Iterator[PresetRun]:
    def run(experiment: Experiment, label: str) -> PresetRun:
        words = ["-m", "dpbench", "-m", f"experiment={experiment.name}", *(["quick=true"] if quick else [])]
        command = [sys.executable, "-P", *words, f"tracking.uri={uri}", *(["engine=serial"] if serial else [])]
        start = time.perf_counter()
        result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
        seconds = time.perf_counter() - start
        counts = next((line for line in result.stdout.splitlines() if line.startswith("Cells: ")), "")
        print(f"{label} {experiment.name}: {seconds:.0f} s. {counts or 'FAILED'}", flush=True)
        failed = result.returncode != 0 or "FAILED" in counts
        if failed:
            print("\n".join([*result.stdout.splitlines()[-5:], *result.stderr.splitlines()[-5:]]), file=sys.stderr, flush=True)
        return PresetRun(experiment, " ".join(["python", *words]), seconds, _without_hints(counts), failed)

    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(run, wanted, labels)


def _without_hints(counts: str) -> str:
    """Return the line that a sweep ends with, without the hints for who runs it."""
    return re.sub(r" \([^)]*\)", "", counts).removeprefix("Cells: ").removesuffix(".")


def write(runs: Sequence[PresetRun], uri: str, out: Path, quick: bool) -> int:
    """Write the figures and the index, and return the number of figures."""
    out.mkdir(parents=True, exist_ok=True)
    captions = {}
    with open_store(uri, create=False) as store:
        for run in runs:
            caption = _figure(store, run.experiment.name, out)
            if caption is None:
                print(f"{run.experiment.name} has no figure.", file=sys.stderr)
            else:
                captions[run.experiment.name] = caption
    (out / "index.md").write_text(index(runs, captions, quick), encoding="utf-8")
    return len(captions)


def scorecard(uri: str, out: Path) -> None:
    """Write how the papers' claims came out. Those of a study are on the page that its own script writes."""
    claims = [claim for name, file in papers_with_claims().items() if name not in _studies() for claim in claims_of(file)]
    with open_store(uri, create=False) as store:
        sweeps = preset_sweeps(store)
        text = markdown([judge(claim, sweeps) for claim in claims])
    (out / "scorecard.md").write_text(text, encoding="utf-8")


def show_claims(results: Path, readme: Path) -> None:
    """Write how the claims came out: all of them next to the scorecard, and their counts into the README."""
    scored = verdicts_in((results / "scorecard.md").read_text(encoding="utf-8"))
    (results / "claims.md").write_text(claims_page(scored), encoding="utf-8")
    before, _, rest = readme.read_text(encoding="utf-8").partition(START)
    _, _, after = rest.partition(END)
    readme.write_text(f"{before}{START}\n\n{summary(scored)}\n{END}{after}", encoding="utf-8")


@dataclass(frozen=True)
class ScoredClaim:
    """A claim of a paper, with its verdict on each kind of tables by the title of the column."""

    text: str
    verdicts: Mapping[str, str]


def verdicts_in(scorecard: str) -> dict[str, list[ScoredClaim]]:
    """Return each paper's own claims with their verdicts, from the Markdown of a scorecard."""
    scored: dict[str, list[ScoredClaim]] = {}
    paper, titles = "", [""]
    for line in scorecard.splitlines():
        if line.startswith("## "):
            paper = line.removeprefix("## ").partition(":")[0]
        claim, _, *verdicts = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-3]] or ["", ""]
        if claim == "claim":
            titles = verdicts
        elif any(verdict.startswith("**") for verdict in verdicts) and not claim.startswith("(Not in the paper.)"):
            by_title = {title: verdict.strip("*") for title, verdict in zip(titles, verdicts, strict=True)}
            scored.setdefault(paper, []).append(ScoredClaim(claim, by_title))
    return scored


def summary(scored: Mapping[str, Sequence[ScoredClaim]]) -> str:
    """Return a table with the number of claims of each paper by their verdicts, for each kind of tables."""
    names = ("paper", "tables", "claims", *OUTCOMES)
    lines = [f"| {' | '.join(names)} |", "| --- | --- |" + " ---: |" * (len(names) - 2)]
    for paper, claims in scored.items():
        for title in claims[0].verdicts:
            verdicts = [claim.verdicts[title] for claim in claims]
            states = [next((name for name, start in OUTCOMES.items() if text.startswith(start)), None) for text in verdicts]
            counts = [states.count(name) for name in OUTCOMES]
            if any(counts):
                kind = title.removeprefix("on ").removesuffix(" tables")
                lines.append(f"| {' | '.join([paper, kind, str(sum(counts)), *map(str, counts)])} |")
    return "\n".join(lines) + "\n"


def claims_page(scored: Mapping[str, Sequence[ScoredClaim]]) -> str:
    """Return the page that lists every claim of the papers with its verdicts."""
    titles = list(next(iter(scored.values()))[0].verdicts)
    lines = ["# What the papers claim, and how it came out", "", *CLAIMS_INTRODUCTION, ""]
    lines += [f"| paper | what it asserts | {' | '.join(titles)} |", "| --- " * (2 + len(titles)) + "|"]
    for paper, claims in scored.items():
        for number, claim in enumerate(claims):
            lines.append(f"| {' | '.join(['' if number else paper, claim.text, *claim.verdicts.values()])} |")
    return "\n".join(lines) + "\n"


def _figure(store: Store, name: str, out: Path) -> str | None:
    """Draw the paper's own figure from the newest sweep's records; its caption, or None where there is none."""
    try:
        sweep = read_sweep(store, name)
    except Refused:
        return None
    return save_preset_figure(sweep, out / name)


def index(runs: Sequence[PresetRun], captions: Mapping[str, str], quick: bool) -> str:
    """Return the page that lists every figure."""
    command = "python scripts/results.py" + " --quick" * quick
    minutes = sum(run.seconds for run in runs) / 60
    versions = f"dpbench {__version__}, Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores"
    lines = ["# The papers' figures", ""]
    lines += [
        f"Made by `{command}`; the presets took {minutes:.0f} minutes together ({versions}). What each takes from its paper and "
        "what it chooses:"
    ]
    lines += ["`python -m dpbench experiments`, and [experiments.md](../experiments.md). What the papers assert, and whether it"]
    lines += ["holds here: [claims.md](claims.md), and with the evidence [scorecard.md](scorecard.md).", ""]
    lines += ["**A quick run, with few repeats: a first look, and no evidence.**", ""] if quick else []
    for paper, group in groupby(runs, key=lambda run: run.experiment.name.partition("/")[0]):
        lines += [f"## {paper}", ""]
        for run in group:
            lines += _entry(run, captions.get(run.experiment.name))
    return "\n".join(lines).rstrip() + "\n"


def _entry(run: PresetRun, caption: str | None) -> list[str]:
    name = run.experiment.name
    title = run.experiment.preset.title if run.experiment.preset else name
    figure = (
        [f"![{title}]({name}.png)", "", f"{caption} ([PDF]({name}.pdf), [for a column]({name}_column.pdf))"]
        if caption is not None
        else ["There is no figure."]
    )
    return [f"### {title}", "", *figure, "", f"`{run.command}`: {run.seconds:.0f} s; cells: {run.counts or 'none'}.", ""]


if __name__ == "__main__":
    sys.exit(main())
