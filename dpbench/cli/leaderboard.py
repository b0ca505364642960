"""Put a mechanism on the leaderboard: run it on the same cells and add its row to the shipped scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from dpbench.base.errors import Refused, check_known
from dpbench.base.terminal import console, fits, print_grid, say, say_prose
from dpbench.contracts.paper import Paper
from dpbench.experiments.presets import Experiment, experiments, papers, select, values_of
from dpbench.records.cell_record import CellRecord
from dpbench.report.formatting import listed, plural
from dpbench.report.leaderboard.page import header, row
from dpbench.report.leaderboard.scores import Score, read_scores, score_of
from dpbench.report.leaderboard.tournament import Tournament, tournaments
from dpbench.report.leaderboard.wording import notes, title
from dpbench.sweeps.grid import Axis

if TYPE_CHECKING:
    from rich.table import Table

PIPED_WIDTH = 180
SAME_REFERENCE = 1e-3
"""Relative tolerance of the non-private error when rows and splits are the same; solvers differ in the last digits."""
STAGES = ((), ("fit, s", "tables"), ("fit, s", "tables", "wins", "ties", "losses"))
"""Columns that a narrow terminal leaves out, the first that fits."""


@click.command("leaderboard")
@click.argument("overrides", nargs=-1, type=click.UNPROCESSED)
def command(overrides: tuple[str, ...]) -> int:
    """Run a mechanism on the cells of the leaderboard, and add its row to the scores that dpbench ships.

    OVERRIDES say which one: mechanism=mine mechanism.option=4. No other mechanism runs again. tables=airfoil,concrete and
    model=linear and epsilon=1 take some of the cells; then only these count. The cells are recorded, so the same command goes on
    where it was interrupted. Without overrides, the leaderboard is printed as it is. The exit code is 1 if a cell failed or the
    mechanism was refuted.
    """
    study = _study()
    shipped = read_scores(study.scores_file)
    if not overrides:
        for model, tournament in tournaments(shipped).items():
            _print(model, tournament, ())
        return 0
    cells, code = _run(overrides, study)
    fixed = _fixed_options(overrides)
    taken = {score.mechanism for score in shipped}
    own = [_renamed(score_of(cell), fixed, taken) for cell in cells]
    for model, tournament in tournaments([*own, *_same_cells(shipped, own)]).items():
        _print(model, tournament, {score.mechanism for score in own})
    refuted = dict.fromkeys(cell.guarantee_why for cell in cells if cell.refuted)
    for sentence in [*_not_shipped(own, shipped), *_other_rows(own, shipped), *refuted]:
        say(sentence)
    return code


def _study() -> Paper:
    """Return the study that has scores; there is one."""
    studies = [paper for paper in papers() if paper.scores_file.is_file()]
    if not studies:
        raise Refused("No installed study has the scores of a leaderboard.")
    return studies[0]


def _run(overrides: Sequence[str], study: Paper) -> tuple[list[CellRecord], int]:
    """Run the cells of each preset of the study, and return their records and the exit code."""
    from dpbench.sweeps.execution import execute
    from dpbench.sweeps.hydra.composition import grid_points
    from dpbench.sweeps.hydra.overrides import parse
    from dpbench.sweeps.plan import plan

    axes = {axis.key: axis for axis in parse(overrides)}
    if "mechanism" not in axes:
        raise Refused("Rows of the leaderboard are mechanisms, so it must know which one to add, as in mechanism=mine. Got none.")
    if "dataset" in axes:
        raise Refused(
            f"The leaderboard has tables of its own, of which tables=… takes some. Got {axes['dataset'].text} instead. To rank "
            f"mechanisms on it, sweep them: python -m dpbench -m mechanism=fm,ssp {axes['dataset'].text} epsilon=1."
        )
    others = [axis.text for key, axis in axes.items() if key not in ("tables", "model")]
    cells: list[CellRecord] = []
    reasons: dict[str, None] = {}
    code = 0
    for experiment, tables in _presets(study, axes):
        request = [f"experiment={experiment.name}", *tables, *others]
        points = grid_points(request)
        planned, config = plan(points), points[0].config
        if level := [cell.params["mechanism"] for cell in planned.cells if "epsilon" not in cell.params]:
            raise Refused(f"The leaderboard compares mechanisms at each ε. The mechanism {level[0]} does not depend on it.")
        if not planned.to_run:
            reasons |= dict.fromkeys(cell.reason for cell in planned.cells)
            continue
        outcome = execute(planned, config, sweep=False, command=["-m", *request], overrides=request)
        cells, code = [*cells, *outcome.cells], max(code, outcome.exit_code)
    if not cells:
        raise Refused(next(iter(reasons)))
    return cells, code


def _presets(study: Paper, axes: Mapping[str, Axis]) -> Iterable[tuple[Experiment, list[str]]]:
    """Yield the presets of the models that are asked for, each with the override that selects its tables."""
    presets = select(study.name, experiments())
    models = {experiment.grid["model"]: experiment for experiment in presets}
    wanted = [str(value) for value in axes["model"].values] if "model" in axes else list(models)
    check_known("model on the leaderboard", wanted, models)
    asked = [str(value) for value in axes["tables"].values] if "tables" in axes else []
    keys = {model: _tables_key(experiment) for model, experiment in models.items()}
    known = {model: values_of(experiment.grid[keys[model]]) for model, experiment in models.items()}
    check_known("table on the leaderboard", asked, [name for names in known.values() for name in names])
    for model in wanted:
        tables = [name for name in known[model] if name in asked]
        if tables or not asked:
            yield models[model], [f"{keys[model]}={','.join(tables)}"] if tables else []


def _tables_key(experiment: Experiment) -> str:
    """Return the key of a preset that lists its tables."""
    keys = [key for key, text in experiment.grid.items() if key.startswith("dataset") and len(values_of(text)) > 1]
    return keys[0] if keys else "dataset"


def _fixed_options(overrides: Sequence[str]) -> list[str]:
    """Return the typed options of the mechanism that have a single value: records name only those that vary."""
    from dpbench.sweeps.hydra.overrides import parse

    fixed = [axis for axis in parse(overrides) if axis.key.startswith("mechanism.") and not axis.swept]
    return [axis.text.partition(".")[2] for axis in fixed]


def _renamed(score: Score, fixed: Sequence[str], taken: Iterable[str]) -> Score:
    """Return a score under a name that says all typed options and that no shipped one has."""
    name, _, options = score.mechanism.rstrip(")").partition(" (")
    texts = [*filter(None, [options]), *fixed]
    label = f"{name} ({', '.join(texts)})" if texts else name
    return replace(score, mechanism=f"{label} (new)" if label in taken else label)


def _same_cells(shipped: Sequence[Score], own: Sequence[Score]) -> list[Score]:
    """Return the shipped scores on the cells that the new mechanism has too."""
    cells = {(score.model, score.table, score.epsilon) for score in own}
    return [score for score in shipped if (score.model, score.table, score.epsilon) in cells]


def _not_shipped(own: Sequence[Score], shipped: Sequence[Score]) -> list[str]:
    """Return a warning if nothing stands next to the new mechanism at some ε: its rank there means nothing."""
    known = sorted({score.epsilon for score in shipped})
    other = sorted({score.epsilon for score in own} - {*known})
    if not other:
        return []
    at, there = (listed([f"{epsilon:g}" for epsilon in epsilons]) for epsilons in (other, known))
    return [f"No shipped score is at ε = {at}, so ranks say nothing there: the leaderboard has ε = {there}."]


def _other_rows(own: Sequence[Score], shipped: Sequence[Score]) -> list[str]:
    """Return a warning if the non-private fits differ: then the rows or the splits are not the same ones."""
    errors = {(score.model, score.table, score.runs): score.error_no_privacy for score in shipped}
    tables = []
    for score in own:
        one, other = errors.get((score.model, score.table, score.runs)), score.error_no_privacy
        if other is not None and (one is None or not math.isclose(one, other, rel_tol=SAME_REFERENCE)):
            tables.append(score.table)
    what = "other rows, splits or numbers of runs than the shipped ones, so they compare only roughly"
    return [f"The new scores on {listed(tables)} were made with {what}."] if tables else []


def _print(model: str, tournament: Tournament, own: Iterable[str]) -> None:
    """Print the board of one model; the rows of the new mechanism are bold and have a star."""
    out = console(piped_width=PIPED_WIDTH)
    stages = STAGES if out.is_terminal else STAGES[:1]
    table = next((table for table in (_table(model, tournament, own, hidden) for hidden in stages) if fits(out, table)), None)
    print_grid(out, table or _table(model, tournament, own, STAGES[-1]), heading=2)
    for note in notes(tournament):
        say_prose(note)


def _table(model: str, tournament: Tournament, own: Iterable[str], hidden: Sequence[str]) -> Table:
    """Return the board of one model without the hidden columns."""
    from rich.table import Table

    names, new = header(tournament), set(own)
    shown = [index for index, name in enumerate(names) if name not in hidden]
    games = f"{plural(len(tournament.games), 'cell')} on {plural(len(tournament.tables), 'table')}"
    table = Table(title=f"{title(model)}: {games}", header_style="bold", pad_edge=False, title_justify="left")
    table.add_column("rank", justify="right")
    for index in shown:
        table.add_column(names[index], justify="left" if index in (0, len(names) - 1) else "right")
    for rank, entry in enumerate(tournament.entries, 1):
        star, style = ("* ", "bold") if entry.name in new else ("", "")
        entries = row(entry, tournament)
        table.add_row(str(rank), f"{star}{entries[0]}", *(entries[index] for index in shown[1:]), style=style)
    return table
