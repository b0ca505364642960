"""The head of a page: its title, and the banners that say what a reader must know before any number."""

from __future__ import annotations

from dpbench.records.sweep_record import SweepRecord
from dpbench.report.note import SIMULATED, changed


def title_of(sweep: SweepRecord) -> str:
    """The paper's figure, or what was swept."""
    if sweep.preset is not None:
        return sweep.preset.title + (", changed" if sweep.changed else "")
    axes = {kind: list(dict.fromkeys(row.params[kind] for row in sweep.cells)) for kind in ("mechanism", "model", "dataset")}
    return " · ".join(", ".join(names) if len(names) <= 4 else f"{len(names)} {kind}s" for kind, names in axes.items())


def banners(sweep: SweepRecord) -> list[tuple[str, str]]:
    """What changes the meaning of every number."""
    done = sweep.done
    found = []
    if sweep.changed:
        found.append(("Not the paper's figure", changed(sweep)))
    if sweep.synthetic:
        drawn = dict.fromkeys(row.params["dataset"] for row in done if row.synthetic)
        text = f"The rows of {', '.join(drawn)} were drawn and not collected: no number about them is about people."
        found.append(("SYNTHETIC data", text))
    if sweep.quick:
        found.append(("A first look", "quick=true shrank this sweep: too few repeats to be evidence. Run it again without."))
    if any(row.simulated for row in done):
        found.append(("Simulated noise", SIMULATED))
    return found


def heading(sweep: SweepRecord) -> str:
    """Over the answer, whose sentences are about drawn rows where the data is."""
    if not sweep.synthetic:
        return "The answer"
    whole = all(row.synthetic for row in sweep.done)
    return f"The answer, {'' if whole else 'in part '}on SYNTHETIC data"
