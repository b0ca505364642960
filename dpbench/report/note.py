"""The note of a sweep in MLflow: the answer in a few sentences, the figure, then the table, in Markdown."""

from collections import Counter

from dpbench.base.cell_texts import markdown_row
from dpbench.records.cell_record import State, distinguishing_params, label
from dpbench.report.formatting import plural
from dpbench.report.guarantees import audit_sentences
from dpbench.report.release_price import HEADING
from dpbench.report.summary import SweepSummary
from dpbench.report.terminal_table import accounted_text, error_texts
from dpbench.report.text_table import MISSING
from dpbench.report.warning_texts import ERRORS_ARE_PRIVATE, disclosures, leak_sentences, warnings

STATES: tuple[State, ...] = ("failed", "pruned", "resumed")
"""States that the table does not show."""


def note(summary: SweepSummary, figure: str | None) -> str:
    """Return the whole note. The figure is an artifact of the run, which is the only way MLflow's page shows one."""
    sweep = summary.sweep
    # MLflow folds a note after about five lines: the answer comes first
    paragraphs = [" ".join(f"**{title}.** {text}" for title, text in warnings(sweep))]
    paragraphs.append("\n".join(f"- {sentence}" for sentence in summary.headlines))
    if figure and sweep.run_id:
        paragraphs.append(f"![{figure}](get-artifact?path=report/{figure}&run_uuid={sweep.run_id})")
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
    lines = [markdown_row(header), "|---" * len(header) + "|", *map(markdown_row, rows)]
    return "\n".join(lines) if rows else ""
