"""Every query that a mechanism of dpbench asks is importable from one public place."""

from __future__ import annotations

import dpbench.queries
from dpbench.privacy.queries.query import RowQuery


def test_every_public_name_is_there_and_is_the_one_that_the_core_uses() -> None:
    assert all(hasattr(dpbench.queries, name) for name in dpbench.queries.__all__)
    assert dpbench.queries.RowQuery is RowQuery
