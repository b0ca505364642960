"""The question that a sweep answers, in sentences: what was compared on which data, how often, and at which ε."""

from collections.abc import Sequence

from dpbench.records.cell_record import CellRecord
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.formatting import group_by, listed, plural
from dpbench.report.labels import with_scale


def question(sweep: SweepRecord) -> list[str]:
    """Return the question, how many cells and runs answer it, and what they are ordered by."""
    cells = sweep.done
    if not cells:
        return ["No cell of this sweep has a result."]
    private = [cell.params["mechanism"] for cell in cells if cell.private]
    public = [cell.params["mechanism"] for cell in cells if not cell.private]
    epsilons = [f"{epsilon:g}" for epsilon in sorted({cell.epsilon for cell in cells if cell.epsilon is not None})]
    at = "".join(f" at ε = {epsilon}" for epsilon in epsilons)
    if len(epsilons) > 1:
        at = f" at which ε ({listed(epsilons, 'or', most=16)})"
    if len(set(private)) > 1:
        text = f"Which of {listed(private)} has the lowest error{at}"
    else:
        text = f"How large is the error of {listed(private or public)}{at}"
    datasets = listed(_dataset(*group) for group in group_by(cells, lambda cell: cell.params["dataset"]).items())
    others = f" For comparison, not private: {listed(public)}." if private and public else ""
    measures = listed(with_scale(cell, sweep) for cell in cells)
    return [
        f"{text}, fitting {listed(cell.params['model'] for cell in cells)} on {datasets}?{others}",
        _results(sweep, cells),
        f"Cells are ordered by the median of {measures} over the runs: the smaller, the better.",
    ]


def _dataset(name: str, cells: Sequence[CellRecord]) -> str:
    """Return a dataset's name with its size, and whether its rows were generated."""
    sizes = set()
    tables = group_by(cells, lambda cell: tuple(item for item in cell.params.items() if item[0].startswith("dataset.")))
    for first, *_ in tables.values():
        runs = first.detail.runs
        if len(runs.get("n_train", ())):
            sizes.add(int(runs["n_train"][0]) + int(runs["n_test"][0]))
    size = " to ".join(f"{end:,}" for end in sorted({min(sizes), max(sizes)})) + " rows" if sizes else ""
    facts = ", ".join(filter(None, [size, "SYNTHETIC" if any(cell.synthetic for cell in cells) else ""]))
    return f"{name} ({facts})" if facts else name


def _results(sweep: SweepRecord, cells: Sequence[CellRecord]) -> str:
    """Return how many cells have a result, and how many runs each stands for."""
    total = f" of {len(sweep.cells)}" if len(cells) < len(sweep.cells) else ""
    splits = group_by(cells, lambda cell: cell.params["splits"])
    runs = sorted({len(first.detail.runs.get("repeat", ())) for first, *_ in splits.values()} - {0})
    each = f", each over {listed([f'{count:,}' for count in runs], 'or')} run{'s' * (runs != [1])}" if runs else ""
    has = "have" if len(cells) > 1 else "has"
    return (
        f"{plural(len(cells), 'cell')}{total} {has} a result{each} ({listed(splits)}). Cells on the same data share their splits."
    )
