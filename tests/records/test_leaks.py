"""Every leak that the core names has a name that fits a tag, and a reason."""

from __future__ import annotations

import re

import pytest

from dpbench.records import leaks
from dpbench.records.leaks import Leak

NAMED = [value for value in vars(leaks).values() if isinstance(value, Leak)]


@pytest.mark.parametrize("leak", NAMED, ids=lambda leak: leak.what)
def test_its_name_fits_a_list_separated_by_commas_and_its_reason_a_list_separated_by_semicolons(leak: Leak) -> None:
    assert re.fullmatch("[a-z_]+", leak.what)
    assert leak.why
    assert ";" not in leak.why


def test_no_two_leaks_share_a_name() -> None:
    assert len({leak.what for leak in NAMED}) == len(NAMED) == 3
