"""The report of a sweep as one HTML page that needs nothing else: no network, no script, no file beside it."""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbench.base.version import __version__
from dpbench.records.cell_record import CellRecord, label
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.answer import answer
from dpbench.report.leaderboards import Board, Place
from dpbench.report.note import METRICS_NOTE
from dpbench.report.page_head import banners, heading, title_of
from dpbench.report.release_price import bill_of, whole
from dpbench.report.remarks import clipped_targets, missing_weights
from dpbench.report.sentences import in_short, question, standings
from dpbench.report.statistics.paired import Comparison
from dpbench.report.table_formats import NOTHING, TextTable, shown
from dpbench.report.terminal_table import attack_columns

if TYPE_CHECKING:
    from jinja2 import Template

    from dpbench.report.figures.draw import SavedFigure

TEMPLATE = "page.html.j2"
PROBLEMS = 12
"""So many problems have their leaderboard on the page."""
PLACES = 60
"""So many places a leaderboard has there."""
LINES = 40
"""So many rows any other table has there."""
SENTENCES = 60
"""Up to so many problems, each at one ε, have a sentence of their own there."""
DENSITY = 0.6
"""A figure's width on the page, in its own pixels: less, so that it is sharp on a fine screen."""
SECTIONS = {
    "ledger": "What was asked of the rows",
    "leaks": "Leaks",
    "attacks": "Attacks",
    "health": "Health",
    "failures": "Failed and pruned",
}


@dataclass(frozen=True)
class Level:
    """The places at one accounted ε."""

    epsilon: str
    lines: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Shown:
    """A leaderboard as it stands on the page."""

    title: str
    synthetic: bool
    references: str
    compared: bool
    levels: tuple[Level, ...]
    hidden: int


@dataclass(frozen=True)
class EmbeddedFigure:
    """A figure within the page."""

    title: str
    caption: str
    source: str
    width: int
    height: int


def page(
    sweep: SweepRecord, boards: Sequence[Board], tables: Sequence[TextTable], drawn: Sequence[SavedFigure], folder: Path
) -> str:
    """The whole page; ``folder`` is where the figures lie, and its files are named in it."""
    done = sweep.done
    many = sum(max(1, len(board.at)) for board in boards) > SENTENCES
    sentences = [] if many else answer([place.row for board in boards for place in board.places])
    short = in_short(sweep, boards, sentences)
    bill = bill_of(sweep.cells)
    text: str = _template().render(
        title=title_of(sweep),
        version=__version__,
        sweep=sweep,
        done=done,
        controls=any(metric.startswith("attack/control/") for metric in attack_columns(done).values()),
        banners=banners(sweep),
        question=question(sweep),
        heading=heading(sweep),
        short=short,
        sentences=sentences if any(sentence not in short for sentence in sentences) else [],
        many=many,
        standings=standings(done),
        metrics_note=METRICS_NOTE,
        boards=[_board(board) for board in boards[:PROBLEMS]],
        hidden_boards=max(0, len(boards) - PROBLEMS),
        pictures=[_picture(one, folder) for one in drawn],
        tables={table.name: table for table in tables if table.name in SECTIONS},
        sections=SECTIONS,
        lines=LINES,
        bill=whole(bill).replace("**", "") if bill else "",
        remarks=[*missing_weights(done), *clipped_targets(done)],
        facts=_facts(done),
        names=sorted(path.name for path in folder.iterdir() if path.name != "report.html"),
        shown=shown,
    )
    return text


def _board(board: Board) -> Shown:
    first = board.first.row
    levels: dict[float, list[Place]] = {}
    for place in board.places:
        levels.setdefault(place.row.accounted, []).append(place)
    kept: list[Level] = []
    lines = 0
    for places in levels.values():
        if lines and lines + len(places) > PLACES:
            break
        here = places[:PLACES]
        lines += len(here)
        deltas = sorted({place.delta for place in places if place.delta is not None})
        kept.append(Level(_level(here[0], deltas), tuple(_line(place, len(deltas) > 1) for place in here)))
    numbers = [(name, board.first.reference(key)) for name, key in _REFERENCES]
    references = ", ".join(f"{name} {_error(value)}" for name, value in numbers if value is not None)
    return Shown(
        f"{board.title}: {first.primary}",
        first.synthetic,
        references,
        any(place.comparison is not None for place in board.places),
        tuple(kept),
        len(board.places) - lines,
    )


_REFERENCES = (("the fit without privacy", "no_privacy"), ("predicting the mean for everybody", "mean_predictor"))


def _level(first: Place, deltas: Sequence[float]) -> str:
    """The accounted ε, and the δ at which it holds where that is not 0."""
    if first.accounted is None:
        return "none"
    return f"{first.accounted:.4g}" + (f" at δ = {' or '.join(f'{delta:.4g}' for delta in deltas)}" if any(deltas) else "")


def _line(place: Place, mixed: bool) -> Mapping[str, Any]:
    """A place; with its own δ where its level has several."""
    row = place.row
    found = place.comparison
    claimed = f"{place.accounted:.4g}" if place.accounted is not None else ""
    compared = "–"
    if found is not None:
        ends = f" ({found.low:+.3g} to {found.high:+.3g})" if math.isfinite(found.low) else ""
        compared = f"{found.shift:+.3g}{ends}"
    elif place.best:
        compared = "the best"
    return {
        "rank": place.rank,
        "best": place.best,
        "mechanism": label(row),
        "asked": "" if place.epsilon == claimed else place.epsilon,
        "delta": f"{place.delta:.4g}" if mixed and place.delta is not None else "",
        "median": _error(place.utility()),
        "band": f"{_error(place.utility('p20'))} to {_error(place.utility('p80'))}",
        "lost": None if place.lost is None else 100 * place.lost,
        "compared": compared,
        "apart": _apart(found),
        "guarantee": row.guarantee,
    }


def _error(value: float | None) -> str:
    """Zeros at the end stay, so that errors stand below each other."""
    return NOTHING if value is None else f"{value:#.4g}"


def _apart(found: Comparison | None) -> str:
    """Whether a test tells it from the best, and what it would take."""
    if found is None:
        return ""
    p = "p < 0.0001" if found.corrected < 0.0001 else f"p = {found.corrected:.2g}"
    if found.separated:
        return f"yes, {p}"
    if found.repeats < found.fewest:
        return f"no: {found.repeats} repeat{'s' * (found.repeats > 1)}, at least {found.fewest} are needed"
    return f"no, {p}" + ("" if found.more_repeats is None else f"; {found.more_repeats:,} more repeats")


def _picture(drawn: SavedFigure, folder: Path) -> EmbeddedFigure:
    data = (folder / f"{drawn.name}.png").read_bytes()
    width, height = struct.unpack(">II", data[16:24])
    source = f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}"
    return EmbeddedFigure(drawn.title, drawn.caption, source, round(width * DENSITY), round(height * DENSITY))


def _facts(rows: Sequence[CellRecord]) -> list[tuple[str, str]]:
    """Versions and seeds: what must agree for the same bits."""
    tags = {"dpbench": "version", "plugins": "plugin_version", "NumPy": "numpy", "processor and BLAS": "cpu"}
    facts = []
    for name, tag in tags.items():
        texts = dict.fromkeys(filter(None, (row.tags.get(f"dpbench.{tag}") for row in rows)))
        facts.append((name, ", ".join(texts)))
    seeds = dict.fromkeys(row.params.get("seed") or str(row.detail.config.get("seed", "")) for row in _by_splits(rows))
    splits = dict.fromkeys(row.params["splits"] for row in rows)
    delta = dict.fromkeys(row.params["delta"] for row in rows)
    facts += [("seed", ", ".join(filter(None, seeds))), ("splits", ", ".join(splits)), ("δ", ", ".join(delta))]
    return [(name, text) for name, text in facts if text]


def _by_splits(rows: Sequence[CellRecord]) -> list[CellRecord]:
    """One cell for each seed and splits: the others share its configuration there."""
    found: dict[tuple[str, str], CellRecord] = {}
    for row in rows:
        found.setdefault((row.params.get("seed", ""), row.params["splits"]), row)
    return list(found.values())


@cache
def _template() -> Template:
    import jinja2

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters["code"] = _code
    return environment.from_string(files("dpbench.report").joinpath(TEMPLATE).read_text(encoding="utf-8"))


def _code(text: str) -> Any:
    """A sentence whose commands stand between backticks, as HTML."""
    from markupsafe import Markup, escape

    parts = text.split("`")
    marked = [Markup("<code>{}</code>").format(part) if index % 2 else escape(part) for index, part in enumerate(parts)]
    return Markup("").join(marked)
