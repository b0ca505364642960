"""Every kind of offer has checks, with names of their own."""

from __future__ import annotations

import pytest

from dpbench.base.errors import Refused
from dpbench.contracts.hooks import OFFERS
from dpbench.testing.kinds import CASES, checks_of_kind, kind_of


@pytest.mark.parametrize("kind", OFFERS)
def test_every_kind_has_checks_that_say_what_must_hold_and_what_to_do(kind: str) -> None:
    checks = checks_of_kind(kind)
    assert kind in CASES
    assert len({check.name for check in checks}) == len(checks) > 1
    for check in checks:
        assert check.law.endswith(".")
        assert check.advice.endswith(".")


def test_what_is_no_component_is_refused() -> None:
    with pytest.raises(Refused, match="A component must be derived from"):
        kind_of(dict)
