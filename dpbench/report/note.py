"""The note of a sweep: the answer in a few sentences, then the table, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from dpbench.report.bill import bill_of, whole
from dpbench.report.rows import Row, leaks, telling
from dpbench.report.sweep import Sweep

METRICS_NOTE = (
    "These numbers are computed on the private rows: publishing them is a release of its own, which no ε above pays for."
)
SIMULATED = "The noise was drawn from a seed: fit for experiments only. `python -m dpbench release` draws secure noise."


def answer(rows: Sequence[Row]) -> list[str]:
    """For each problem: which ranked cell has the lowest error at each accounted ε, and how sure that is."""
    sentences = []
    done = [row for row in rows if row.done]
    for problem in dict.fromkeys(row.problem for row in done):
        here = [row for row in done if row.problem == problem]
        ranked = [row for row in here if row.ranked]
        where = _where(here[0], [key for key in telling(done) if not key.startswith("mechanism.")])
        if not ranked:
            sentences.append(f"{where}: no cell is both private and proven, so nothing is ranked.")
            continue
        for epsilon in sorted({row.accounted for row in ranked}):
            sentences.append(_at(f"{where} at ε = {epsilon:g}", [row for row in ranked if row.accounted == epsilon]))
    return sentences


def _where(row: Row, keys: Sequence[str]) -> str:
    """The problem in words: the model, the dataset, and what else tells it from the others."""
    own = [f"{key}={row.params[key]}" for key in keys if key in row.params]
    attack = [] if row.params["attack"] == "none" else [f"attack={row.params['attack']}"]
    more = f" ({', '.join([*attack, *own])})" if own or attack else ""
    return f"{row.params['model']} on {row.params['dataset']}{more}"


def _at(where: str, rows: Sequence[Row]) -> str:
    name = f"utility/{rows[0].primary}"
    order = sorted((row for row in rows if row.metric(name) is not None), key=lambda row: row.metric(name) or 0.0)
    if not order:
        return f"{where}: no run gave a finite error."
    best = order[0]
    text = f"{where}: {_label(best)} has the lowest median {best.primary}, {best.metric(name):.4g}"
    low, high = best.metric(name, "ci_low"), best.metric(name, "ci_high")
    if low is not None and high is not None:
        text += f" (mean {best.metric(name, 'mean'):.4g}, 95 % interval {low:.4g} to {high:.4g})"
    constant = best.metric(f"reference/mean_predictor/{best.primary}")
    if constant is not None and (best.metric(name) or 0.0) >= constant:
        text += f"; the mean predictor, which needs no features, does no worse ({constant:.4g})"
    if len(order) > 1:
        second = order[1]
        text += f"; {_label(second)} follows with {second.metric(name):.4g}{_apart(name, best, second)}"
    return text + "."


def _apart(name: str, best: Row, second: Row) -> str:
    """Whether the means say what the medians say."""
    ends = [row.metric(name, suffix) for row in (best, second) for suffix in ("ci_low", "ci_high")]
    low, high, low_second, high_second = ends
    if low is None or high is None or low_second is None or high_second is None:
        return ", with too few repeats for an interval"
    if high < low_second:
        return ""
    if high_second < low:
        return ", though its mean is lower: a few bad runs weigh on the first"
    return ", and the intervals of their means do not separate them"


def _label(row: Row) -> str:
    own = [f"{key.partition('.')[2]}={value}" for key, value in row.params.items() if key.startswith("mechanism.")]
    return row.params["mechanism"] + (f" ({', '.join(own)})" if own else "")


def note(sweep: Sweep, figure: str | None) -> str:
    """The whole note. The figure is an artifact of the run, which is the only way MLflow's page shows one."""
    rows, command, run_id = sweep.rows, sweep.command, sweep.run_id
    # MLflow folds a note after about five lines: the answer comes first
    lines = [*(f"- {sentence}" for sentence in answer(rows)), "", METRICS_NOTE, ""]
    lines += [line for sentence in leaks(rows) for line in (sentence, "")]
    if found := bill_of(rows):
        lines += [whole(found), ""]
    if any(row.tags.get("dpbench.noise") == "simulation" for row in rows):
        lines += [SIMULATED, ""]
    if figure and run_id:
        lines += [f"![{figure}](get-artifact?path=report/{figure}&run_uuid={run_id})", ""]
    more = [key for key in telling([row for row in rows if row.done]) if not key.startswith("mechanism.")]
    names = ["mechanism", "model", "dataset", *more, "ε", "median", "20-80 %", "ε accounted", "guarantee"]
    lines += [f"`{command}`", "", f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    for row in rows:
        if row.done:
            name = f"utility/{row.primary}"
            numbers = [row.metric(name), row.metric(name, "p20"), row.metric(name, "p80")]
            median, low, high = ("none" if value is None else f"{value:.4g}" for value in numbers)
            spent = row.metrics.get("privacy/epsilon_accounted")
            accounted = "infinite" if spent is None else f"{spent:.4g}"
            cells = [_label(row), row.params["model"], row.params["dataset"], *(row.params.get(key, "") for key in more)]
            cells += [row.params["epsilon"], median, f"{low}-{high}", accounted, row.guarantee]
            lines.append(f"| {' | '.join(cells)} |")
    counts = {state: sum(row.state == state for row in rows) for state in ("failed", "pruned", "resumed")}
    lines += ["", *(f"{count} cells {state}; see plan.csv." for state, count in counts.items() if count)]
    if any(row.tags.get("dpbench.synthetic") == "true" for row in rows):
        lines += ["", "**Some of the data is synthetic: see the tag dpbench.synthetic of each cell.**"]
    return "\n".join(lines)
