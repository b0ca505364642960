"""Choose the metrics of a cell that its MLflow run has: those that people browse. All of them are in the cell's own file."""

from dpbench.records.cell_record import CellRecord
from dpbench.records.names import LARGEST_EXPLOSION, declared

MAX_METRICS = 28
"""A run has two more, for the charts. More would make every page of MLflow slow, which reads all metrics of each listed run."""
HEALTH = "health/<event>"


def browsed_metrics(record: CellRecord) -> dict[str, float]:
    """Return at most 28 metrics, the most important first: names.yaml lists them in their order."""
    chosen: dict[str, float] = {}
    for declaration in declared("browsed_metrics"):
        if declaration.text == HEALTH:
            events = sorted(name for name, value in record.metrics.items() if name.startswith("health/") and value)
            events = [name for name in events if name != LARGEST_EXPLOSION]  # a size, which only reports need
            chosen |= {name: record.metrics[name] for name in events}
        name = declaration.text.replace("<primary>", record.primary)
        if name in record.metrics:
            chosen[name] = record.metrics[name]
    return dict(list(chosen.items())[:MAX_METRICS])
