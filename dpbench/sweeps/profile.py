"""The table that --profile prints: where the seconds of a sweep went."""

import time

from dpbench.base.phases import PHASES, clock

REST = "all else"


def profile_text() -> str:
    """Return the CPU seconds of each phase, those of workers included, and what else this process did, such as imports."""
    in_phases = clock.seconds
    rows: dict[str, float] = {name: in_phases.get(name, 0.0) for name in PHASES}
    rows[REST] = time.process_time() - clock.total
    rows["total"] = sum(rows.values())
    width = max(map(len, rows))
    return "\n".join(["Seconds of processor time:", *(f"  {name:<{width}} {value:8.2f}" for name, value in rows.items())])
