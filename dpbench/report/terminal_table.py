"""The table of single cells: errors, references, ε, what an attack gained, and the standing of each guarantee.

One cell, and a sweep in which nothing may be ranked, print it; other sweeps print the decision table.
"""

from collections.abc import Sequence
from typing import TextIO

from rich.table import Table

from dpbench.base.phases import phase
from dpbench.base.terminal import console, fits, print_grid
from dpbench.records.cell_record import CellRecord, distinguishing_params, label
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.formatting import group_by, listed, number, plural, quantity
from dpbench.report.guarantees import MAX_NAMES, audit_sentences
from dpbench.report.interval_texts import asks_for_intervals, interval_sentences
from dpbench.report.labels import unit_heading, with_scale
from dpbench.report.summary import SweepSummary
from dpbench.report.tables import attack_columns
from dpbench.report.text_table import MISSING
from dpbench.report.warning_texts import SIMULATED_NOISE, disclosures, health_sentences, leak_sentences

MAX_ROWS = 60
INTERVALS = {"coverage": "inference/coverage_mean", "width": "inference/width_ratio_median"}
"""Columns of a sweep that asked for intervals: their mean coverage, and their median width over the non-private ones."""
REFERENCES = {"no privacy": "no_privacy", "mean only": "mean_predictor"}
STAGES = ((), ("references",), ("references", "band"), ("references", "band", "unit"))
"""What a narrow terminal leaves out, the first that fits: the report has all of it."""


@phase("report")
def print_table(summary: SweepSummary, stream: TextIO | None = None) -> None:
    """Print one table for each model, dataset and attack; then the answer, warnings, failures and pruned cells."""
    out = console(stream)
    groups = list(group_by(summary.done, lambda cell: tuple(cell.params[key] for key in ("model", "dataset", "attack"))).values())
    tables: list[Table] = []
    for hidden in STAGES if out.is_terminal else STAGES[:1]:
        tables = [_table(summary.sweep, cells, hidden) for cells in groups]
        if all(fits(out, table) for table in tables):
            break
    for table, cells in zip(tables, groups, strict=True):
        print_grid(out, table)
        if len(cells) > MAX_ROWS:
            out.print(f"… and {plural(len(cells) - MAX_ROWS, 'more cell')}: all of them are in MLflow.")
    done = summary.done
    sentences = [*summary.headlines, *health_sentences(done), *audit_sentences(done), *leak_sentences(done)] if done else []
    sentences += [text for _, text in disclosures(done) if text != SIMULATED_NOISE]
    sentences += [summary.price.sentence] if summary.price else []
    sentences += interval_sentences(done, _with_intervals) if asks_for_intervals(summary.sweep) else []
    for sentence in [*sentences, *unfinished_sentences(summary.cells)]:
        out.print(sentence)


def unfinished_sentences(cells: Sequence[CellRecord]) -> list[str]:
    """Return a sentence for each reason why cells failed or were pruned."""
    unfinished = sorted((cell for cell in cells if not cell.done), key=lambda cell: cell.state)
    groups = group_by(unfinished, lambda cell: (cell.state, cell.reason))
    return [
        f"{state.upper()} ({plural(len(group), 'cell')} of {listed(map(label, group), most=MAX_NAMES)}): {reason}"
        for (state, reason), group in groups.items()
    ]


def _table(sweep: SweepRecord, cells: Sequence[CellRecord], hidden: Sequence[str] = ()) -> Table:
    """Return the table of one model and dataset; hidden references, which are the same in every row, are in the title."""
    swept, attack = distinguishing_params(cells), attack_columns(sweep, cells)
    intervals = INTERVALS if asks_for_intervals(sweep) else {}
    references, unit = "references" not in hidden, "" if "unit" in hidden else unit_heading(cells)
    band = [] if "band" in hidden else ["20-80 %"]
    table = Table(title=_title(sweep, cells, references), title_justify="left", title_style="bold", pad_edge=False)
    table.header_style = "bold"
    # rules that no axis of the sweep names differ too: not every mechanism has a published bound
    rules = "mechanism.sensitivity" not in swept and len({cell.sensitivity for cell in cells} - {""}) > 1
    for name in ("mechanism", *(key.removeprefix("mechanism.") for key in swept), *(["sensitivity"] if rules else [])):
        table.add_column(name, no_wrap=True)
    errors = ["median", *([unit] if unit else []), *band]
    for name in ("ε", *errors, *(REFERENCES if references else ()), "ε accounted", *intervals, *attack):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("guarantee", no_wrap=True)
    for cell in cells[:MAX_ROWS]:
        options = [cell.params.get(name, "") for name in swept] + ([cell.sensitivity] if rules else [])
        names = [cell.params["mechanism"], *options, cell.params.get("epsilon", MISSING)]
        levels = [number(cell.reference(name)) for name in REFERENCES.values()] if references else []
        gains = ("none" if value is None else f"{value:.3f}" for value in map(cell.metrics.get, attack.values()))
        certainty = ("none" if value is None else f"{value:.3g}" for value in map(cell.metrics.get, intervals.values()))
        median, spread = error_texts(cell)
        errors = [median, *([quantity(cell.error_in_unit())] if unit else []), *([spread] if band else [])]
        table.add_row(*names, *errors, *levels, accounted_text(cell), *certainty, *gains, cell.guarantee)
    return table


def _title(sweep: SweepRecord, cells: Sequence[CellRecord], references: bool) -> str:
    first = cells[0]
    synthetic = ", SYNTHETIC data" if first.synthetic else ""
    attacked = f", attack {first.params['attack']}" if first.attacked else ""
    splits = "" if "splits" in distinguishing_params(cells) else f", {first.params['splits']}"
    levels = ", ".join(f"{name} {number(first.reference(key))}" for name, key in REFERENCES.items())
    problem = f"{first.params['model']} on {first.params['dataset']}{synthetic}{attacked}"
    return f"{problem}: {with_scale(first, sweep)}{splits}" + ("" if references else f"\n{levels}")


def _with_intervals(cell: CellRecord) -> str:
    """Return a cell's name with the keys of its intervals that the sweep varied."""
    varied = [f"{key.removeprefix('inference.')}={value}" for key, value in cell.params.items() if key.startswith("inference.")]
    return " ".join([label(cell), *varied])


def error_texts(cell: CellRecord) -> tuple[str, str]:
    """Return the median error, and the band that holds the middle 60 % of the runs."""
    return number(cell.error()), f"{number(cell.error('p20'))} - {number(cell.error('p80'))}"


def accounted_text(cell: CellRecord) -> str:
    """Return the accounted ε, in brackets if it is only a claim: unproven noise, or a leak that it does not count."""
    epsilon = cell.metrics.get("privacy/epsilon_accounted")
    if epsilon is None:
        return "infinite"
    return f"{epsilon:.4g}" if cell.ranked else f"({epsilon:.4g})"
