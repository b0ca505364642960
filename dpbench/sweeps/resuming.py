"""Find the cells of a plan that the store has already, say so if another digest key hides some, and what audits found."""

from collections.abc import Mapping
from dataclasses import replace

from dpbench.records import names
from dpbench.records.cell_record import CellRecord
from dpbench.records.cell_tags import guarantee_of
from dpbench.report.formatting import plural
from dpbench.sweeps.plan import SweepPlan
from dpbench.tracking.cell_index import cell_index
from dpbench.tracking.run_writer import Writer
from dpbench.tracking.store import Store


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


def refutations(plan: SweepPlan, store: Store) -> dict[str, str]:
    """Return why audits refuted cells of a plan, by key: the same code on the same data reveals as much when it runs again."""
    keys = [planned.cell.key for planned in plan.to_run]
    newest = {cell.key: cell.tags for cell in reversed(list(cell_index(store).cells(keys)))}
    return {key: tags[names.GUARANTEE_WHY] for key, tags in newest.items() if guarantee_of(tags) == "refuted"}
