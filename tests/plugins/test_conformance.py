"""Every built-in component keeps the laws of its kind; those that are meant to break one declare it, with the reason."""

from __future__ import annotations

import pytest

from dpbench.contracts.hooks import OFFERS
from dpbench.registry.lookup import registry
from dpbench.testing import check

BUILT_IN = [(kind, name) for kind in OFFERS for name in registry().names(kind)]


@pytest.mark.parametrize(("kind", "name"), BUILT_IN, ids=[f"{kind} {name}" for kind, name in BUILT_IN])
def test_every_built_in_component_conforms(kind: str, name: str) -> None:
    findings = check(registry().get(kind, name))
    assert findings.passed, "\n".join(findings.lines())


def test_what_is_not_private_is_an_expected_failure_of_its_ledger() -> None:
    """The names follow from the components' own declarations: no list of them is kept anywhere."""
    mechanisms = {name: registry().get("mechanism", name) for name in registry().names("mechanism")}
    unsound = {name for name, cls in mechanisms.items() if "ledger within budget" in cls.expected_failures}
    assert unsound == {name for name, cls in mechanisms.items() if cls.guarantee in ("none", "its base's")}
