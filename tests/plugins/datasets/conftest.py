"""Reads generated extracts of IPUMS International for the tests of the datasets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpbench.base.random_streams import stream
from dpbench.data.table import Table


@pytest.fixture
def read(make: Any) -> Callable[..., Table]:
    """Reads an extract as dataset=census, or another dataset."""

    def table(path: Path, name: str = "census", seed: int = 0, **options: Any) -> Table:
        drawn: Table = make("dataset", name, extract=str(path), **options).select(stream(seed))
        return drawn

    return table
