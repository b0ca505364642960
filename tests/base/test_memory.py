"""What does not fit is refused with its size, and what fits is not."""

from __future__ import annotations

import pytest

from dpbench.base.errors import Refused
from dpbench.base.memory import machine_memory, refuse_beyond_memory


def test_what_needs_more_than_the_limit_is_refused_with_both_sizes() -> None:
    with pytest.raises(Refused, match=r"^A table would take 12 GB of memory and 2 days or more\. This machine has 8 GB\.$"):
        refuse_beyond_memory("A table", 12 * 10**9, "2 days", 8 * 10**9)
    with pytest.raises(Refused, match=r"^A table would take 12 GB of memory\. This"):
        refuse_beyond_memory("A table", 12 * 10**9, limit=8 * 10**9)


def test_what_needs_no_more_passes() -> None:
    refuse_beyond_memory("A table", 8, limit=8)
    refuse_beyond_memory("A table", machine_memory())
