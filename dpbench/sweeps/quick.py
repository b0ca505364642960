"""Say before a ``quick=true`` sweep starts what it cannot decide."""

from collections.abc import Mapping
from typing import Any

from dpbench.data.splits import Splits
from dpbench.report.statistics.medians import min_repeats
from dpbench.report.statistics.paired import LEVEL
from dpbench.sweeps.plan import SweepPlan


def quick_sentences(plan: SweepPlan, config: Mapping[str, Any]) -> list[str]:
    """Return what a quick sweep shows, what it leaves open, and what it takes to decide; nothing if the sweep is not quick."""
    repeats = max((planned.cell.splits.repeats for planned in plan.cells), default=0)
    if not config["quick"] or not repeats:
        return []
    fewest, whole = min_repeats(LEVEL), Splits(**config["splits"]).repeats
    values = " and fewer values of some keys" if (config["preset"] or {}).get("quick") else ""
    minutes = (config["preset"] or {}).get("minutes")
    time = f" takes about {minutes:g} minutes on two cores and" if minutes else ""
    return [
        f"quick=true: {repeats} repeats of each cell instead of {max(whole, repeats)}{values}. This shows that everything "
        "runs, and roughly how large the errors are.",
        f"It cannot decide which mechanism is better, because telling a difference from chance takes at least {fewest} "
        f"repeats, nor show how far results scatter. The same command without quick=true{time} can.",
    ]
