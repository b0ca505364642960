"""Bounds in years for a column in days. Expected: The column 'age' has bounds [0, 100], and 100 % of its values lie outside."""

from dataclasses import dataclass

from dpbench import Column, Dataset, Table, hookimpl


@dataclass(frozen=True)
class UnscaledBounds(Dataset):
    """Ages in days and wages."""

    name = "unscaled_bounds"
    synthetic = True

    def load(self, generator):
        age = 365 * generator.uniform(15, 75, 200)
        wage = generator.uniform(0, 100, 200)
        return Table((Column("age", 0, 100, "years"),), Column("wage", 0, 100), age[:, None], wage, threshold=50)


@hookimpl
def dpbench_datasets():
    return [UnscaledBounds]
