"""Run every preset, and write the papers' figures, the scorecard of their claims, and an index of both.

    python scripts/results.py                          all of them: most of an hour on two cores; writes docs/results
    python scripts/results.py --quick --out results    a first look in minutes
    python scripts/results.py --only fang2019          one paper, or one figure (zhang2012/fig6)

All go to one store, a new one unless --uri names another, so that cells which figures share run once. The exit code is 1 where a
preset failed, or a cell of one.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from dpbench.base.errors import Refused
from dpbench.base.version import __version__
from dpbench.experiments.presets import Experiment, experiments, select
from dpbench.report.figures.pictures import own
from dpbench.report.figures.style import save, styled
from dpbench.tracking.store import Store, open_store
from dpbench.tracking.sweep_reader import read_sweep

HERE = Path(__file__).resolve().parent.parent
RESULTS = HERE / "docs" / "results"
README = HERE / "README.md"
START, END = "<!-- claims: written by scripts/results.py -->", "<!-- end of claims -->"


@dataclass(frozen=True)
class Ran:
    """A preset that was run, and how it went."""

    experiment: Experiment
    command: str
    seconds: float
    counted: str
    """How many cells ran, were recorded already, failed or were pruned."""
    failed: bool


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few repeats, for a first look")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="a figure or a paper; may be given again")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the folder that is written")
    parser.add_argument("--uri", help="the tracking store; what it has already is not run again")
    arguments = parser.parse_args()
    known = experiments()
    try:
        wanted = [one for name in arguments.only for one in select(name, known)] or list(known.values())
    except Refused as refusal:
        print(refusal, file=sys.stderr)
        return 2
    with _store(arguments.uri) as uri:
        ran = [*_run(in_order(wanted), uri, arguments.quick)]
        broken = [one.experiment.name for one in ran if one.failed]
        written = write(ran, uri, arguments.out.resolve(), arguments.quick)
        judged = scorecard(uri, arguments.out.resolve())
    if judged and arguments.out.resolve() == RESULTS:
        show(RESULTS / "scorecard.md", README)
    print(f"{len(ran)} presets in {sum(one.seconds for one in ran) / 60:.1f} minutes, {written} figures in {arguments.out}.")
    if broken:
        print(f"FAILED: {', '.join(broken)}", file=sys.stderr)
    return 0 if not broken and written == len(ran) and judged else 1


def in_order(wanted: Sequence[Experiment]) -> list[Experiment]:
    """By paper and by the figure's number: one that shows another's cells anew comes later, and finds them recorded."""

    def key(one: Experiment) -> tuple[str, int]:
        number = re.search(r"\d+$", one.name)
        return one.name.partition("/")[0], int(number[0]) if number else 0

    return sorted({one.name: one for one in wanted}.values(), key=key)


@contextmanager
def _store(uri: str | None) -> Iterator[str]:
    if uri is not None:
        yield uri
        return
    with tempfile.TemporaryDirectory(prefix="dpbench-results-") as folder:
        yield f"sqlite:///{folder}/mlflow.db"


def _run(wanted: Sequence[Experiment], uri: str, quick: bool) -> Iterator[Ran]:
    for number, one in enumerate(wanted, 1):
        more = ["quick=true"] if quick else []
        words = ["-m", "dpbench", "-m", f"experiment={one.name}", *more]
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-P", *words, f"tracking.uri={uri}"], capture_output=True, text=True, check=False, cwd=HERE
        )
        seconds = time.perf_counter() - start
        counted = next((line for line in done.stdout.splitlines() if line.startswith("Cells: ")), "")
        print(f"{number}/{len(wanted)} {one.name}: {seconds:.0f} s. {counted or 'FAILED'}", flush=True)
        failed = done.returncode != 0 or "FAILED" in counted
        if failed:
            print("\n".join([*done.stdout.splitlines()[-5:], *done.stderr.splitlines()[-5:]]), file=sys.stderr, flush=True)
        yield Ran(one, " ".join(["python", *words]), seconds, _plainly(counted), failed)


def _plainly(counted: str) -> str:
    """The line that a sweep ends with, without what only its reader can use."""
    return re.sub(r" \([^)]*\)", "", counted).removeprefix("Cells: ").removesuffix(".")


def write(ran: Sequence[Ran], uri: str, out: Path, quick: bool) -> int:
    """Write the figures and the index; how many figures there are."""
    out.mkdir(parents=True, exist_ok=True)
    captions = {}
    with open_store(uri, create=False) as store:
        for one in ran:
            caption = _figure(store, one.experiment.name, out)
            if caption is None:
                print(f"{one.experiment.name} has no figure.", file=sys.stderr)
            else:
                captions[one.experiment.name] = caption
    (out / "index.md").write_text(index(ran, captions, quick), encoding="utf-8")
    return len(captions)


def scorecard(uri: str, out: Path) -> bool:
    """Write what became of the papers' claims; whether it could be written."""
    words = ["-m", "dpbench", "claims", "--uri", uri, "--out", str(out / "scorecard.md")]
    done = subprocess.run([sys.executable, "-P", *words], capture_output=True, text=True, check=False, cwd=HERE)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
    return done.returncode == 0


def show(scored: Path, page: Path) -> None:
    """Write the papers' own claims and their verdicts into the README."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{START}\n\n{in_short(scored.read_text(encoding='utf-8'))}\n{END}{after}", encoding="utf-8")


def in_short(scored: str) -> str:
    """The scorecard without its evidence, and without what no paper asserts."""
    lines = ["| paper | what it asserts | here |", "| --- | --- | --- |"]
    paper = ""
    for line in scored.splitlines():
        if line.startswith("## "):
            paper = line.removeprefix("## ").partition(":")[0]
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 5 and cells[2].startswith("**") and not cells[0].startswith("(Not in the paper.)"):
            lines.append(f"| {paper} | {cells[0]} | {cells[2].strip('*')} |")
            paper = ""
    return "\n".join(lines) + "\n"


def _figure(store: Store, name: str, out: Path) -> str | None:
    """Draw the paper's own figure from the newest sweep's records; its caption, or None where there is none."""
    try:
        sweep = read_sweep(store, name)
    except Refused:
        return None
    with styled():
        picture = own(sweep)
        if picture is None:
            return None
        target = out / name
        target.parent.mkdir(parents=True, exist_ok=True)
        save(picture.figure, target)
    return picture.caption


def index(ran: Sequence[Ran], captions: dict[str, str], quick: bool) -> str:
    """The page that lists every figure."""
    made = "python scripts/results.py" + " --quick" * quick
    minutes = sum(one.seconds for one in ran) / 60
    versions = f"dpbench {__version__}, Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores"
    lines = ["# The papers' figures", ""]
    lines += [
        f"Made by `{made}` in {minutes:.1f} minutes ({versions}). What each preset takes from its paper and what it chooses:"
    ]
    lines += ["`python -m dpbench experiments`, and [experiments.md](../experiments.md). What the papers assert, and whether it"]
    lines += ["holds here: [scorecard.md](scorecard.md).", ""]
    lines += ["**A quick run, with few repeats: a first look, and no evidence.**", ""] if quick else []
    for paper, some in groupby(ran, key=lambda one: one.experiment.name.partition("/")[0]):
        lines += [f"## {paper}", ""]
        for one in some:
            lines += _entry(one, captions.get(one.experiment.name))
    return "\n".join(lines).rstrip() + "\n"


def _entry(one: Ran, caption: str | None) -> list[str]:
    name = one.experiment.name
    title = one.experiment.preset.title if one.experiment.preset else name
    shown = [f"![{title}]({name}.png)", "", f"{caption} ([PDF]({name}.pdf))"] if caption is not None else ["There is no figure."]
    return [f"### {title}", "", *shown, "", f"`{one.command}`: {one.seconds:.0f} s; cells: {one.counted or 'none'}.", ""]


if __name__ == "__main__":
    sys.exit(main())
