"""Find the cells of a plan that the store has already, and say so if another digest key hides some."""

from collections.abc import Mapping
from dataclasses import replace

from dpbench.records.cell_record import CellRecord
from dpbench.report.formatting import plural
from dpbench.sweeps.plan import SweepPlan
from dpbench.tracking.run_writer import Writer


def resume(plan: SweepPlan, writer: Writer) -> tuple[SweepPlan, Mapping[str, CellRecord]]:
    """Return the plan with its recorded cells resumed, and their records by key."""
    recorded = writer.finished([planned.cell.key for planned in plan.to_run])
    plan = plan.resumed(recorded)
    hidden = [planned for planned in plan.to_run if planned.provenance.digest_key]
    count = writer.count_under_other_keys(hidden[0].provenance.digest_key, [cell.params for cell in hidden]) if hidden else 0
    if not count:
        return plan, recorded
    note = (
        f"{plural(count, 'cell')} like these were recorded under another digest key: whether their private table is the same "
        "cannot be told, so they run again. Machines that share a key file (DPBENCH_KEY_FILE) recognise each other's cells."
    )
    return replace(plan, notes=(*plan.notes, note)), recorded
