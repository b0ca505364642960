"""The note of a sweep: the answer in a few sentences, the figure, then the table, in Markdown."""

from __future__ import annotations

from dpbench.records.cell_record import distinguishing_params, label
from dpbench.records.sweep_record import SweepRecord
from dpbench.report.answer import answer
from dpbench.report.leaderboards import boards
from dpbench.report.release_price import bill_of, whole
from dpbench.report.remarks import leak_sentences
from dpbench.report.sentences import in_short

METRICS_NOTE = (
    "These numbers are computed on the private rows: publishing them is a release of its own, which no ε above pays for."
)
SIMULATED = "The noise was drawn from a seed: fit for experiments only. `python -m dpbench release` draws secure noise."
QUICK = "**A first look, with few repeats (quick=true): no evidence.**"
SYNTHETIC = "**Some of the data is synthetic: see the tag dpbench.synthetic of each cell.**"
ANSWERS = 6
"""With more problems and values of ε than this the answer is summed up."""


def note(sweep: SweepRecord, figure: str | None) -> str:
    """The whole note. The figure is an artifact of the run, which is the only way MLflow's page shows one."""
    rows, command, run_id = sweep.cells, sweep.command, sweep.run_id
    sentences = answer(rows)
    if len(sentences) > ANSWERS or not sweep.done:
        sentences = in_short(sweep, boards(rows), sentences)
    warnings = [text for text, holds in ((QUICK, sweep.quick), (SYNTHETIC, sweep.synthetic)) if holds]
    if sweep.changed:
        warnings.insert(0, f"**Not the paper's figure.** {changed(sweep)}")
    # MLflow folds a note after about five lines: the answer comes first
    lines = [*([" ".join(warnings), ""] if warnings else []), *(f"- {sentence}" for sentence in sentences), ""]
    if figure and run_id:
        lines += [f"![{figure}](get-artifact?path=report/{figure}&run_uuid={run_id})", ""]
    lines += [METRICS_NOTE, ""] if sweep.done else []
    lines += [line for sentence in leak_sentences(rows) for line in (sentence, "")]
    if found := bill_of(rows):
        lines += [whole(found), ""]
    if any(row.simulated for row in rows):
        lines += [SIMULATED, ""]
    more = [key for key in distinguishing_params([row for row in rows if row.done]) if not key.startswith("mechanism.")]
    names = ["mechanism", "model", "dataset", *more, "ε", "median", "20-80 %", "ε accounted", "guarantee"]
    lines += [f"`{command}`", ""]
    lines += [f"| {' | '.join(names)} |", "|---" * len(names) + "|"] if sweep.done else []
    for row in rows:
        if row.done:
            name = f"utility/{row.primary}"
            numbers = [row.metric(name), row.metric(name, "p20"), row.metric(name, "p80")]
            median, low, high = ("none" if value is None else f"{value:.4g}" for value in numbers)
            spent = row.metrics.get("privacy/epsilon_accounted")
            accounted = "infinite" if spent is None else f"{spent:.4g}"
            cells = [label(row), row.params["model"], row.params["dataset"], *(row.params.get(key, "") for key in more)]
            cells += [row.params["epsilon"], median, f"{low}-{high}", accounted, row.guarantee]
            lines.append(f"| {' | '.join(cells)} |")
    counts = {state: sum(row.state == state for row in rows) for state in ("failed", "pruned", "resumed")}
    lines += ["", *(f"{count} cell{'s' * (count > 1)} {state}; see plan.csv." for state, count in counts.items() if count)]
    return "\n".join(lines)


def changed(sweep: SweepRecord) -> str:
    """What was asked for in place of the preset's own."""
    asked = ", ".join(f"`{word}`" for word in sweep.changed)
    return f"The preset was changed on the command line: {asked}. These numbers are not the ones that its paper shows."
