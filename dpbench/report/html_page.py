"""The report of a sweep as one HTML page that needs nothing else: no network, and no file next to it.

Its only script, which sorts tables and shows values under the pointer, is part of it; a policy in the page allows no other.
"""

import base64
import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from html import escape
from importlib.resources import files
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbench.records.cell_record import CellRecord, label
from dpbench.records.explosion import EXPLOSION_FACTOR
from dpbench.records.names import REPORT_FILE
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.decision import percent
from dpbench.report.decision_texts import choice_sentences, scale_sentence
from dpbench.report.formatting import group_by, listed, number, p_value_text, plural, quantity
from dpbench.report.guarantees import audit_sentences, standings
from dpbench.report.labels import error_heading, unit_heading
from dpbench.report.leaderboards import Board, Level
from dpbench.report.png_picture import read_png
from dpbench.report.question import question
from dpbench.report.release_price import HEADING
from dpbench.report.statistics.paired import PRACTICAL_SHARE, Comparison
from dpbench.report.summary import SweepSummary
from dpbench.report.tables import attack_columns, is_control
from dpbench.report.text_table import TextTable, entry_text
from dpbench.report.warning_texts import ERRORS_ARE_PRIVATE, disclosures, health_sentences, warnings

if TYPE_CHECKING:
    from dpbench.report.figures.catalog import CaptionedFigure

GENERATOR = '<meta name="generator" content="dpbench report">'
"""Marks a page as the report's, which a later report may replace."""
INCOMPLETE = "INCOMPLETE"
MAX_BOARDS = 12
MAX_DECISIONS = 300
"""Rows of the decision table."""
MAX_PLACES = 60
"""Places that a leaderboard shows."""
MAX_ROWS = 40
"""Rows that any other table shows."""
MAX_SENTENCES = 60
"""With more problems and values of ε than this, the page has no sentence for each of them."""
MAX_TITLE_NAMES = 4
"""The page's title counts mechanisms, models or datasets if there are more."""


def page(
    summary: SweepSummary,
    tables: Sequence[TextTable],
    figures: Sequence["CaptionedFigure"],
    folder: Path,
    omissions: Sequence[str] = (),
) -> str:
    """Return the whole page; ``folder`` holds the figures, and the page names its files and what could not be made."""
    sweep, done, details, script = summary.sweep, summary.done, summary.details, _script()
    best = [row.best for row in summary.all_decisions if row.best]
    html = _template().render(
        script=_as_is(script),
        script_digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        choice=choice_sentences(summary) if best else [],
        scale_text=scale_sentence(summary),
        rows=summary.all_decisions[:MAX_DECISIONS] if done else [],
        hidden_rows=max(0, len(summary.all_decisions) - MAX_DECISIONS),
        picks=summary.picks,
        unit=unit_heading(best),
        error_name=error_heading(summary.sweep, best),
        releases=summary.release_commands,
        summary=summary,
        title=page_title(sweep),
        banners=[*_alarms(sweep), *warnings(sweep), *disclosures(done), *((INCOMPLETE, text) for text in omissions)],
        question=question(sweep),
        details=details if len(details) <= MAX_SENTENCES else [],
        standings=standings(done),
        audits=audit_sentences(done),
        boards=summary.boards[:MAX_BOARDS],
        figures=[(figure, read_png(folder / f"{figure.name}.png")) for figure in figures],
        tables={table.name: table for table in tables},
        practical=f"{100 * PRACTICAL_SHARE:g} %",
        explosion_factor=EXPLOSION_FACTOR,
        controls=any(map(is_control, attack_columns(sweep, done).values())),
        remarks=health_sentences(done),
        facts=_facts(done),
        names=_other_files(folder),
    )
    return str(html)


def bare_page(answer: Sequence[str], omissions: Sequence[str], folder: Path) -> str:
    """Return what stands in for a page that could not be made: the answer, what is missing, and the other files."""
    names = _other_files(folder)
    links = (f'<a href="{escape(name)}">{escape(name)}</a>' for name in names)
    paragraphs = [
        *map(escape, answer),
        *(f"<strong>{INCOMPLETE}.</strong> {escape(text)}" for text in omissions),
        ", ".join(links),
    ]
    marks = f'{GENERATOR}\n<meta name="files" content="{escape(" ".join(names))}">'
    body = "\n".join(f"<p>{text}</p>" for text in paragraphs)
    return f'<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n{marks}\n<title>dpbench</title>\n{body}\n</html>\n'


def _other_files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != REPORT_FILE)


def _alarms(sweep: SweepRecord) -> list[tuple[str, str]]:
    """Return what went wrong in this sweep, which a reader must know before any number: refuted claims and failed cells."""
    refuted = [f"{names}. {text}" for word, names, text in standings(sweep.done) if word == "REFUTED"]
    failed = [cell for cell in sweep.cells if cell.state == "failed"]
    alarms = [("REFUTED", text) for text in refuted]
    if failed:
        names = listed(map(label, failed), most=MAX_TITLE_NAMES)
        alarms.append(
            ("FAILED", f"{plural(len(failed), 'cell')} of {names} gave no result: the section Failed and pruned says why.")
        )
    return alarms


def page_title(sweep: SweepRecord) -> str:
    """Return the paper's figure, or what was swept."""
    if sweep.preset is not None:
        return sweep.preset.title + (", changed" if sweep.changed else "")
    names = {kind: dict.fromkeys(cell.params[kind] for cell in sweep.cells) for kind in ("mechanism", "model", "dataset")}
    texts = (plural(len(values), kind) if len(values) > MAX_TITLE_NAMES else ", ".join(values) for kind, values in names.items())
    return " · ".join(texts)


def _visible_levels(board: Board) -> list[Level]:
    """Return what the page shows of a leaderboard: whole levels while they fit."""
    first, ends = board.levels[0], accumulate(len(level.places) for level in board.levels)
    fitting = [level for level, end in zip(board.levels, ends, strict=True) if end <= MAX_PLACES]
    return fitting or [_shortened(first)]


def _shortened(level: Level) -> Level:
    """Return the first places of a level that is too long for the page."""
    room, sections = MAX_PLACES, []
    for section in level.sections:
        sections.append(replace(section, places=section.places[:room]))
        room -= len(sections[-1].places)
    kept = [section for section in sections if section.places]
    return replace(level, groups=tuple(kept), others=())


def _unit_heading(board: Board) -> str:
    return unit_heading([place.cell for place in board.places])


def _shift(comparison: Comparison) -> str:
    interval = f" ({comparison.low:+.3g} to {comparison.high:+.3g})" if math.isfinite(comparison.low) else ""
    return f"{comparison.difference.value:+.3g}{interval}"


def _separated(comparison: Comparison) -> str:
    """Return whether the difference matters, whether a test separates a cell from the best, and what it would take."""
    if comparison.practically_same:
        return "practically the same"
    if comparison.corrected is None:
        return "no: the runs are not recorded"
    p = p_value_text(comparison.corrected)
    if comparison.separated:
        return f"yes, {p}"
    if comparison.repeats < comparison.min_repeats:
        return f"no: {plural(comparison.repeats, 'repeat')}, at least {comparison.min_repeats} are needed"
    return f"no, {p}" + ("" if comparison.more_repeats is None else f"; {comparison.more_repeats:,} more repeats")


def _facts(cells: Sequence[CellRecord]) -> list[tuple[str, str]]:
    """Return versions and seeds, which must agree for the same bits, and what all cells were split and accounted by."""
    if not cells:
        return []
    # a configuration is read from its file: one cell of each seed and splits is enough
    samples = group_by(cells, lambda cell: (cell.params.get("seed"), cell.params["splits"]))
    seeds = [cell.params.get("seed") or str(cell.detail.config.get("seed", "")) for cell, *_ in samples.values()]
    facts = {name: [cell.versions[name] for cell in cells] for name in cells[0].versions}
    facts |= {"seed": seeds, "splits": [cell.params["splits"] for cell in cells]}
    facts["δ"] = [cell.params.get("delta", "") for cell in cells]
    return [(name, listed(filter(None, texts))) for name, texts in facts.items() if any(texts)]


@cache
def _script() -> str:
    return files("dpbench.report").joinpath("page.js").read_text(encoding="utf-8")


def _as_is(text: str) -> Any:
    """Return a text of our own that must not be escaped."""
    from markupsafe import Markup

    return Markup(text)


@cache
def _template() -> Any:
    import jinja2

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters |= {"code": _code, "entry": entry_text, "label": label, "number": number}
    environment.filters |= {"separated": _separated, "shift": _shift, "visible_levels": _visible_levels}
    environment.filters |= {"quantity": quantity, "unit_heading": _unit_heading, "percent": percent}
    environment.globals |= {"errors_are_private": ERRORS_ARE_PRIVATE, "price_heading": HEADING, "max_rows": MAX_ROWS}
    return environment.from_string(files("dpbench.report").joinpath("page.html.j2").read_text(encoding="utf-8"))


def _code(text: str) -> Any:
    """Return a sentence as HTML, with what is between backticks as code."""
    from markupsafe import Markup, escape

    marked = [Markup("<code>{}</code>").format(part) if index % 2 else escape(part) for index, part in enumerate(text.split("`"))]
    return Markup("").join(marked)
