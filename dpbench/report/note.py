"""The note of a sweep in MLflow: the answer in a few sentences, the figure, then the table, in Markdown."""

from collections import Counter
from collections.abc import Iterable, Sequence

from dpbench.base.cell_texts import markdown_row
from dpbench.records.cell_record import State, distinguishing_params, label
from dpbench.report.decision import percent
from dpbench.report.decision_texts import choice_sentences, scale_sentence
from dpbench.report.formatting import number, plural
from dpbench.report.guarantees import audit_sentences
from dpbench.report.labels import error_heading
from dpbench.report.release_price import HEADING
from dpbench.report.summary import SweepSummary
from dpbench.report.terminal_table import accounted_text, error_texts
from dpbench.report.text_table import MISSING
from dpbench.report.warning_texts import ERRORS_ARE_PRIVATE, disclosures, leak_sentences, warnings

STATES: tuple[State, ...] = ("failed", "pruned", "resumed")
"""States that the table does not show."""
MAX_DECISIONS = 20
"""Rows of the decision table: MLflow keeps no long notes."""
NOTE_FIGURE = "note.svg"
"""The first figure of the report once more, as a picture that fits MLflow's page."""


def note(summary: SweepSummary, figure: str | None) -> str:
    """Return the whole note. Its figure is an artifact of the run, which is the only way MLflow's page shows one."""
    sweep = summary.sweep
    # MLflow folds a note after about five lines: the answer comes first
    paragraphs = [" ".join(f"**{title}.** {text}" for title, text in warnings(sweep))]
    decided = any(row.best for row in summary.decisions)
    paragraphs += [choice_sentences(summary)[0], _decision_table(summary), scale_sentence(summary)] if decided else []
    if figure and sweep.run_id:
        paragraphs.append(f"![The first figure of the report](get-artifact?path={figure}&run_uuid={sweep.run_id})")
    paragraphs.append("\n".join(f"- {sentence}" for sentence in summary.headlines))
    paragraphs += [ERRORS_ARE_PRIVATE] if summary.done else []
    paragraphs += [f"**{title}.** {text}" for title, text in disclosures(summary.cells)]
    paragraphs += [*audit_sentences(summary.done), *leak_sentences(summary.cells)]
    paragraphs.append(f"**{HEADING}.** {summary.price.paragraph}" if summary.price else "")
    paragraphs += [f"`{sweep.command}`", "\n".join(f"- {sentence}" for sentence in sweep.notes), _table(summary)]
    counts = Counter(cell.state for cell in summary.cells)
    paragraphs.append("\n".join(f"{plural(counts[state], 'cell')} {state}; see plan.csv." for state in STATES if counts[state]))
    return "\n\n".join(filter(None, paragraphs))


def _table(summary: SweepSummary) -> str:
    keys = ["model", "dataset", *(key for key in distinguishing_params(summary.done) if not key.startswith("mechanism."))]
    header = ["mechanism", *keys, "ε", "median", "20-80 %", "ε accounted", "guarantee"]
    rows = []
    for cell in summary.done:
        numbers = [cell.params.get("epsilon", MISSING), *error_texts(cell), accounted_text(cell), cell.guarantee]
        rows.append([label(cell), *(cell.params.get(key, "") for key in keys), *numbers])
    return _markdown(header, rows) if rows else ""


def _decision_table(summary: SweepSummary) -> str:
    rows = summary.decisions[:MAX_DECISIONS]
    columns = {
        "problem": [row.board.title for row in rows],
        "ε": [row.epsilon for row in rows],
        "best mechanism": [row.verdict for row in rows],
        error_heading(summary.sweep, [row.best for row in rows if row.best]): [
            number(row.best.error() if row.best else None, MISSING) for row in rows
        ],
        "lost to privacy": [percent(row.lost) for row in rows],
    }
    if any(row.failed for row in rows):
        columns["runs that lost all"] = [percent(row.failed if row.best else None) for row in rows]
    if any(row.intervals != "none" for row in rows):
        columns["intervals"] = [row.intervals for row in rows]
    table = _markdown([*columns], [*zip(*columns.values(), strict=True)])
    hidden = len(summary.decisions) - len(rows)
    return table + (f"\n\n{plural(hidden, 'more row')} of this table: in the report." if hidden else "")


def _markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    # MLflow draws tables without any space between the columns
    lines = (markdown_row(row).replace(" |", "&emsp;|") for row in (header, *rows))
    return "\n".join([next(lines), "|---" * len(header) + "|", *lines])
