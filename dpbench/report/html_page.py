"""The report of a sweep as one HTML page that needs nothing else: no network, no script, no file next to it."""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbench.base.version import __version__
from dpbench.records.cell_record import CellRecord, label
from dpbench.records.names import REPORT_FILE
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.formatting import group_by, listed, number, p_value_text, plural
from dpbench.report.guarantees import standings
from dpbench.report.leaderboards import Board, Level, Place
from dpbench.report.question import question
from dpbench.report.release_price import HEADING
from dpbench.report.statistics.paired import Comparison
from dpbench.report.summary import SweepSummary
from dpbench.report.tables import attack_columns, is_control
from dpbench.report.text_table import MISSING, TextTable, entry_text
from dpbench.report.warning_texts import ERRORS_ARE_PRIVATE, SIMULATED_NOISE, health_sentences, warnings

if TYPE_CHECKING:
    from jinja2 import Template

    from dpbench.report.figures.catalog import CaptionedFigure

TEMPLATE = "page.html.j2"
MAX_BOARDS = 12
MAX_PLACES = 60
"""Places that a leaderboard shows."""
MAX_ROWS = 40
"""Rows that any other table shows."""
MAX_SENTENCES = 60
"""With more problems and values of ε than this, the page has no sentence for each of them."""
MAX_TITLE_NAMES = 4
"""The page's title counts mechanisms, models or datasets if there are more."""
FIGURE_SCALE = 0.6
"""Width of a figure on the page in pixels of its file: below 1, so that it is sharp on a fine screen."""
SECTIONS = {
    "ledger": "What was asked of the rows",
    "leaks": "Leaks",
    "attacks": "Attacks",
    "health": "Health",
    "failures": "Failed and pruned",
}
REFERENCES = {"no_privacy": "the fit without privacy", "mean_predictor": "always predicting the mean"}


def page(summary: SweepSummary, tables: Sequence[TextTable], figures: Sequence[CaptionedFigure], folder: Path) -> str:
    """Return the whole page; ``folder`` holds the figures, and the page names its files."""
    sweep, done, details = summary.sweep, summary.done, summary.detailed_answer
    simulated = [("Simulated noise", SIMULATED_NOISE)] if any(cell.simulated for cell in done) else []
    part = "in part " if not all(cell.synthetic for cell in done) else ""
    text: str = _template().render(
        summary=summary,
        sweep=sweep,
        done=done,
        title=page_title(sweep),
        version=__version__,
        banners=[*warnings(sweep), *simulated],
        question=question(sweep),
        heading=f"The answer, {part}on SYNTHETIC data" if sweep.synthetic else "The answer",
        details=details if len(details) <= MAX_SENTENCES else [],
        standings=standings(done),
        errors_are_private=ERRORS_ARE_PRIVATE,
        price_heading=HEADING,
        boards=[_board(board) for board in summary.boards[:MAX_BOARDS]],
        figures=[_figure(figure, folder) for figure in figures],
        tables={table.name: table for table in tables},
        sections=SECTIONS,
        controls=any(map(is_control, attack_columns(sweep, done).values())),
        max_rows=MAX_ROWS,
        remarks=health_sentences(done),
        facts=_facts(done),
        names=sorted(path.name for path in folder.iterdir() if path.name != REPORT_FILE),
        entry_text=entry_text,
    )
    return text


def page_title(sweep: SweepRecord) -> str:
    """Return the paper's figure, or what was swept."""
    if sweep.preset is not None:
        return sweep.preset.title + (", changed" if sweep.changed else "")
    names = {kind: dict.fromkeys(cell.params[kind] for cell in sweep.cells) for kind in ("mechanism", "model", "dataset")}
    texts = [plural(len(values), kind) if len(values) > MAX_TITLE_NAMES else ", ".join(values) for kind, values in names.items()]
    return " · ".join(texts)


def _board(board: Board) -> dict[str, Any]:
    """Return what the page shows of a leaderboard: whole levels while they fit."""
    levels: list[Level] = []
    shown_places = 0
    for level in board.levels:
        if levels and shown_places + len(level.places) > MAX_PLACES:
            break
        levels.append(level)
        shown_places += len(level.places[:MAX_PLACES])
    references = {name: board.first.reference(key) for key, name in REFERENCES.items()}
    return {
        "title": f"{board.title}: {board.first.primary}",
        "synthetic": board.first.synthetic,
        "references": ", ".join(f"{name} {number(value)}" for name, value in references.items() if value is not None),
        "compared": any(place.comparison for place in board.places),
        "levels": [_level(level.places[:MAX_PLACES]) for level in levels],
        "hidden": len(board.places) - shown_places,
    }


def _level(places: Sequence[Place]) -> dict[str, Any]:
    """Return a level's rows, with the accounted ε and, where it is not 0, its δ; several δ are named in the rows."""
    first = places[0]
    deltas = sorted({place.delta for place in places if place.delta is not None})
    epsilon = "none" if first.accounted is None else f"{first.accounted:.4g}"
    epsilon += f" at δ = {' or '.join(f'{delta:.4g}' for delta in deltas)}" if any(deltas) else ""
    return {"epsilon": epsilon, "rows": [_row(place, several_deltas=len(deltas) > 1) for place in places]}


def _row(place: Place, *, several_deltas: bool) -> Mapping[str, Any]:
    cell = place.cell
    accounted = f"{place.accounted:.4g}" if place.accounted is not None else ""
    return {
        "rank": place.rank,
        "best": place.best,
        "mechanism": label(cell),
        "requested": "" if place.epsilon == accounted else place.epsilon,
        "delta": f"{place.delta:.4g}" if several_deltas and place.delta is not None else "",
        "median": number(cell.error(), MISSING),
        "band": f"{number(cell.error('p20'), MISSING)} to {number(cell.error('p80'), MISSING)}",
        "lost": None if place.lost is None else 100 * place.lost,
        "shift": _shift(place.comparison) if place.comparison else "the best" if place.best else MISSING,
        "separated": _separated(place.comparison) if place.comparison else "",
        "guarantee": cell.guarantee,
    }


def _shift(comparison: Comparison) -> str:
    interval = f" ({comparison.low:+.3g} to {comparison.high:+.3g})" if math.isfinite(comparison.low) else ""
    return f"{comparison.shift:+.3g}{interval}"


def _separated(comparison: Comparison) -> str:
    """Return whether a test separates a cell from the best, and what it would take."""
    p = p_value_text(comparison.corrected)
    if comparison.separated:
        return f"yes, {p}"
    if comparison.repeats < comparison.fewest:
        return f"no: {plural(comparison.repeats, 'repeat')}, at least {comparison.fewest} are needed"
    return f"no, {p}" + ("" if comparison.more_repeats is None else f"; {comparison.more_repeats:,} more repeats")


def _figure(figure: CaptionedFigure, folder: Path) -> dict[str, Any]:
    data = (folder / f"{figure.name}.png").read_bytes()
    width, height = struct.unpack(">II", data[16:24])
    return {
        "title": figure.title,
        "caption": figure.caption,
        "source": f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}",
        "width": round(width * FIGURE_SCALE),
        "height": round(height * FIGURE_SCALE),
    }


def _facts(cells: Sequence[CellRecord]) -> list[tuple[str, str]]:
    """Return versions and seeds, which must agree for the same bits, and what all cells were split and accounted by."""
    if not cells:
        return []
    # a configuration is read from its file: one cell of each seed and splits is enough
    samples = group_by(cells, lambda cell: (cell.params.get("seed"), cell.params["splits"]))
    seeds = [cell.params.get("seed") or str(cell.detail.config.get("seed", "")) for cell, *_ in samples.values()]
    facts = {name: [cell.versions[name] for cell in cells] for name in cells[0].versions}
    facts |= {"seed": seeds, "splits": [cell.params["splits"] for cell in cells], "δ": [cell.params["delta"] for cell in cells]}
    return [(name, listed(filter(None, texts))) for name, texts in facts.items() if any(texts)]


@cache
def _template() -> Template:
    import jinja2

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters["code"] = _code
    return environment.from_string(files("dpbench.report").joinpath(TEMPLATE).read_text(encoding="utf-8"))


def _code(text: str) -> Any:
    """Return a sentence as HTML, with what is between backticks as code."""
    from markupsafe import Markup, escape

    parts = text.split("`")
    marked = [Markup("<code>{}</code>").format(part) if index % 2 else escape(part) for index, part in enumerate(parts)]
    return Markup("").join(marked)
