"""The Brazilian census table of Zhang et al. 2012, as a synthetic stand-in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpbench.base.options import option
from dpbench.contracts.dataset import Dataset
from dpbench.contracts.hooks import hookimpl
from dpbench.data.table import Column, Table

from ._ipums import CITATION, LICENCE, extract_digest, read_extract
from ._standin import ATTRIBUTES, stand_in

ROWS = 190_000
SAMPLE, COUNTRY = "br2000a", 76
INCOME = Column("annual_income", 0, 20_000, "BRL of 2000", meaning="as the extract has it, by month or by year")


@dataclass(frozen=True)
class Brazil(Dataset):
    """Synthetic stand-in for a Brazilian census table: income from 13 attributes, 190,000 rows, no census record among them.

    The layout is Zhang et al.'s (2012, section 7), with numbered subsets as in ``census``. Marginals and correlations are those
    of BR2000 (Zhang et al. 2014), a sample of the Brazil 2000 census of IPUMS International, whose rows may not be passed
    on. BR2000 holds income as a flag only: its correlations and the share above the cut are measured, the numeric level
    and the log-normal shape of income are assumed, and so is how well income can be predicted.

    Income is clipped to 0-20,000 reais of 2000 (97 % lie below); a binary target is above 6,000, the flag's 28 %.
    The seed fixes the rows.

    ``extract=brazil.xml`` reads your own extract of IPUMS International instead, as in ``census``.
    """

    name: ClassVar[str] = "brazil"

    extract: str | None = option(None, help="the XML codebook of your own IPUMS extract; null takes the stand-in")

    @property
    def synthetic(self) -> bool:
        return not self.extract

    @property
    def licence(self) -> str:
        return LICENCE if self.extract else "aggregates only: the microdata of IPUMS International may not be redistributed"

    @property
    def citation(self) -> str:
        source = "BR2000 of Zhang et al., PrivBayes, SIGMOD 2014, from the Brazil 2000 sample of IPUMS International"
        return f"{CITATION if self.extract else f'Aggregates: {source}'}. Layout: Zhang et al., PVLDB 5(11), 2012"

    def load(self, generator: np.random.Generator) -> Table:
        if self.extract:
            return read_extract(self.extract, COUNTRY, INCOME, 6_000, self.sample_n, generator)
        # what Fang et al. 2019, section V-E, attack
        return replace(stand_in("brazil").draw(ROWS, generator), sensitive=("is_married",))

    def subsets(self) -> Mapping[int, tuple[str, ...]]:
        return ATTRIBUTES

    def fingerprint(self) -> str:
        return extract_digest(self.extract) if self.extract else stand_in("brazil").digest

    def fetch(self, say: Callable[[str], None]) -> None:
        from ._ipums_api import fetch

        fetch(SAMPLE, self.name, say)


@hookimpl
def dpbench_datasets() -> list[type[Dataset]]:
    return [Brazil]
