"""A limit on drawing again, so that an audit of a mechanism whose answers are never accepted comes to an end."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpbench.base.errors import Refused
from dpbench.privacy.curator import Curator
from dpbench.privacy.noise import Noise
from dpbench.privacy.queries.query import Query

MAX_REDRAWS = 20_000
"""An audit ends after this many draws in a row that are not accepted."""


class BoundedRetryCurator(Curator):
    """A curator that refuses to draw again forever, because no answer on a small table may ever be accepted."""

    def until(
        self, query: Query, noise: Noise, accept: Callable[[int, np.ndarray], bool], max_tries: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        tries = 0

        def counted(run: int, answer: np.ndarray) -> bool:
            nonlocal tries
            accepted = accept(run, answer)
            tries = 0 if accepted else tries + 1
            if tries > MAX_REDRAWS:
                raise Refused(
                    f"{query.name!r} was drawn {MAX_REDRAWS:,} times and never accepted on tables of {int(self.n[0])} rows. "
                    "Take more with audit.rows, a larger epsilon, or fewer columns."
                )
            return accepted

        return super().until(query, noise, counted, max_tries)
