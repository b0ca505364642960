"""The dataset: synthetic electricity bills."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpbench import Column, Dataset, Table, option


@dataclass(frozen=True)
class Bills(Dataset):
    """Synthetic: monthly electricity bills of households, drawn from the seed; the larger the household, the more they vary."""

    name: ClassVar[str] = "bills"
    synthetic: ClassVar[bool] = True
    licence: ClassVar[str] = "none needed"
    citation: ClassVar[str] = "dpbench-bills, an example distribution of dpbench"
    bounds_source: ClassVar[str] = "the law that the bills are drawn from, which is cut off at 500 EUR"

    n: int = option(2000, low=2, help="number of households")

    def load(self, generator):
        area = generator.uniform(20, 200, self.n)
        persons = generator.integers(1, 7, self.n)
        electric = generator.random(self.n) < 0.25
        typical = 20 + 0.4 * area + 15 * persons + 60 * electric
        # bills are never negative and sometimes very high: a gamma law with this mean
        bill = np.minimum(generator.gamma(6, typical / 6), 500)
        columns = (
            Column("area", 20, 200, "square metres"),
            Column("persons", 1, 6),
            Column("electric_heating", 0, 1),
        )
        features = np.column_stack([area, persons, electric])
        return Table(columns, Column("bill", 0, 500, "EUR"), features, bill, threshold=150, sensitive=("electric_heating",))

    def shape(self):
        return self.n, 3
