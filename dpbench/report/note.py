"""The note of a sweep: the answer in a few sentences, then the table, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from dpbench.report.rows import Row

FIGURE = "report/error_vs_epsilon.png"
METRICS_NOTE = (
    "These numbers are computed on the private rows: publishing them is a release of its own, which no ε above pays for."
)


def answer(rows: Sequence[Row]) -> list[str]:
    """For each model and dataset: which ranked cell has the lowest error at each ε, and how sure that is."""
    sentences = []
    groups = dict.fromkeys((row.params["model"], row.params["dataset"]) for row in rows if row.done)
    for model, dataset in groups:
        here = [row for row in rows if row.done and (row.params["model"], row.params["dataset"]) == (model, dataset)]
        ranked = [row for row in here if row.ranked]
        if not ranked:
            sentences.append(f"{model} on {dataset}: no cell is both private and proven, so nothing is ranked.")
            continue
        for epsilon in sorted({row.epsilon for row in ranked}):
            sentences.append(_at(model, dataset, epsilon, [row for row in ranked if row.epsilon == epsilon]))
    return sentences


def _at(model: str, dataset: str, epsilon: float, rows: Sequence[Row]) -> str:
    name = f"utility/{rows[0].primary}"
    order = sorted((row for row in rows if row.metric(name) is not None), key=lambda row: row.metric(name) or 0.0)
    if not order:
        return f"{model} on {dataset} at ε = {epsilon:g}: no run gave a finite error."
    best = order[0]
    text = (
        f"{model} on {dataset} at ε = {epsilon:g}: {_label(best)} has the lowest median {best.primary}, {best.metric(name):.4g}"
    )
    low, high = best.metric(name, "ci_low"), best.metric(name, "ci_high")
    if low is not None and high is not None:
        text += f" (mean {best.metric(name, 'mean'):.4g}, 95 % interval {low:.4g} to {high:.4g})"
    constant = best.metric(f"reference/mean_predictor/{best.primary}")
    if constant is not None and (best.metric(name) or 0.0) >= constant:
        text += f"; the mean predictor, which needs no features, does no worse ({constant:.4g})"
    if len(order) > 1:
        second = order[1]
        low_second = second.metric(name, "ci_low")
        apart = high is not None and low_second is not None and high < low_second
        text += f"; {_label(second)} follows with {second.metric(name):.4g}"
        text += "" if apart else ", and the intervals of their means do not separate them"
    return text + "."


def _label(row: Row) -> str:
    own = [f"{key.partition('.')[2]}={value}" for key, value in row.params.items() if key.startswith("mechanism.")]
    return row.params["mechanism"] + (f" ({', '.join(own)})" if own else "")


def note(rows: Sequence[Row], command: str, run_id: str | None, figure: bool) -> str:
    """The whole note. The figure is an artifact of the run, which is the only way MLflow's page shows one."""
    # MLflow folds a note after about five lines: the answer comes first
    lines = [*(f"- {sentence}" for sentence in answer(rows)), "", METRICS_NOTE, ""]
    if figure and run_id:
        lines += [f"![error against ε](get-artifact?path={FIGURE}&run_uuid={run_id})", ""]
    lines += [f"`{command}`", "", "| mechanism | model | dataset | ε | median | 20-80 % | ε accounted | guarantee |"]
    lines.append("|---|---|---|---:|---:|---:|---:|---|")
    for row in rows:
        if row.done:
            name = f"utility/{row.primary}"
            numbers = [row.metric(name), row.metric(name, "p20"), row.metric(name, "p80")]
            median, low, high = ("none" if value is None else f"{value:.4g}" for value in numbers)
            spent = row.metrics.get("privacy/epsilon_accounted")
            accounted = "infinite" if spent is None else f"{spent:.4g}"
            cells = (_label(row), row.params["model"], row.params["dataset"], row.params["epsilon"], median, f"{low}-{high}")
            lines.append("| " + " | ".join((*cells, accounted, row.guarantee)) + " |")
    counts = {state: sum(row.state == state for row in rows) for state in ("failed", "pruned", "resumed")}
    lines += ["", *(f"{count} cells {state}; see plan.csv." for state, count in counts.items() if count)]
    if any(row.tags.get("dpbench.synthetic") == "true" for row in rows):
        lines += ["", "**Some of the data is synthetic: see the tag dpbench.synthetic of each cell.**"]
    return "\n".join(lines)
