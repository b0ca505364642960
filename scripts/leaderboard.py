"""Run the leaderboard: every private mechanism on every real table, then its page, figures, scores and summary.

    python scripts/leaderboard.py                             everything; writes docs/results/leaderboard and the shipped scores
    python scripts/leaderboard.py --quick --out first_look    a first look at two small tables of each model
    python scripts/leaderboard.py --recorded                  the pages of what is recorded so far, running nothing
    python scripts/leaderboard.py --pages                     the pages anew from the shipped scores
    python scripts/leaderboard.py --only linear epsilon=1     one model; other keys replace those of the preset

Cells are recorded one by one in a store of their own, table by table: the same command goes on where an interruption ended. The
exit code is 1 if a cell failed or a mechanism was refuted.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from dpbench.base.errors import Refused
from dpbench.experiments.presets import Experiment, experiments, papers, select
from dpbench.records.sweep_record import KEYS_OF_EXECUTION
from dpbench.report.leaderboard.diagrams import save_diagrams
from dpbench.report.leaderboard.page import SCORES_FILE, html, markdown
from dpbench.report.leaderboard.scores import Score, read_scores, score_of, write_scores
from dpbench.report.leaderboard.tournament import tournaments
from dpbench.report.leaderboard.wording import recommendation
from dpbench.sweeps.execution import execute, recorded_cells
from dpbench.sweeps.hydra.composition import grid_points
from dpbench.sweeps.plan import plan

ROOT = Path(__file__).resolve().parent.parent
STUDY = "leaderboard"
RESULTS = ROOT / "docs" / "results" / STUDY
README = ROOT / "README.md"
START, END = "<!-- leaderboard: written by scripts/leaderboard.py -->", "<!-- end of leaderboard -->"
COMMAND = "python scripts/leaderboard.py"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="replace keys of the presets")
    parser.add_argument("--only", metavar="MODEL", help="one model: linear or logistic")
    parser.add_argument("--quick", action="store_true", help="two small tables of each model, two repeats")
    parser.add_argument("--recorded", action="store_true", help="run nothing: the pages of what the store has")
    parser.add_argument("--pages", action="store_true", help="run nothing: the pages of the shipped scores")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the folder that is written")
    parser.add_argument("--uri", default="sqlite:///leaderboard.db", help="the store; what it has already is not run again")
    arguments = parser.parse_intermixed_args()
    shipped = next(paper.scores_file for paper in papers() if paper.name == STUDY)
    start, code = time.perf_counter(), 0
    try:
        if arguments.pages:
            scores = read_scores(shipped)
        else:
            overrides = [*arguments.overrides, *(["quick=true"] if arguments.quick else []), f"tracking.uri={arguments.uri}"]
            name = f"{STUDY}/{arguments.only}" if arguments.only else STUDY
            scores, code = run(select(name, experiments()), overrides, recorded=arguments.recorded)
    except Refused as refusal:
        print(refusal, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("The same command goes on; with --recorded it writes the pages of what is there.", file=sys.stderr)
        return 130
    out = arguments.out.resolve()
    grid = [text for text in arguments.overrides if not text.startswith(KEYS_OF_EXECUTION)]
    write(scores, out, " ".join([COMMAND, *(["--quick"] if arguments.quick else []), *grid]))
    if out == RESULTS:
        write_scores(scores, shipped)
        README.write_text(with_answer(README.read_text(encoding="utf-8"), scores), encoding="utf-8")
    print(f"{len(scores)} cells in {(time.perf_counter() - start) / 60:.1f} minutes, written to {arguments.out}.")
    return code


def run(presets: Sequence[Experiment], overrides: Sequence[str], *, recorded: bool = False) -> tuple[list[Score], int]:
    """Run these presets, or only read what is recorded of them, and return the scores and the exit code."""
    scores, code = [], 0
    for experiment in presets:
        start = time.perf_counter()
        request = [f"experiment={experiment.name}", *overrides]
        points = grid_points(request)
        planned, config = plan(points), points[0].config
        if recorded:
            cells = recorded_cells(planned, config)
        else:
            outcome = execute(planned, config, sweep=False, command=["-m", *request], overrides=request)
            cells, code = outcome.cells, max(code, outcome.exit_code)
        scores += [score_of(cell) for cell in cells]
        counts = {state: sum(cell.state == state for cell in cells) for state in ("run", "resumed", "pruned", "failed")}
        minutes = (time.perf_counter() - start) / 60
        print(
            f"{experiment.name}: {', '.join(f'{n} {state}' for state, n in counts.items() if n)}; {minutes:.1f} minutes.",
            flush=True,
        )
        for cell in [cell for cell in cells if cell.state == "failed" or cell.refuted]:
            print(f"  {cell.params}: {cell.reason or cell.guarantee_why}", file=sys.stderr)
    return scores, code


def write(scores: Sequence[Score], out: Path, command: str) -> None:
    """Write the page, the summary, the scores and the figures."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "index.html").write_text(html(scores, command), encoding="utf-8")
    (out / "index.md").write_text(markdown(scores, command), encoding="utf-8")
    write_scores(scores, out / SCORES_FILE)
    for model, tournament in tournaments(scores).items():
        save_diagrams(model, tournament, out)


def with_answer(readme: str, scores: Sequence[Score]) -> str:
    """Return the README with what the scores say about which mechanism to use."""
    before, _, rest = readme.partition(START)
    _, _, after = rest.partition(END)
    lines = [f"- {sentence}" for sentence in recommendation(tournaments(scores))]
    return f"{before}{START}\n\n" + "\n".join(lines) + f"\n\n{END}{after}"


if __name__ == "__main__":
    sys.exit(main())
