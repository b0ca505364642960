"""Every kind of offer has a contract and a hook of its own, and every hook has a kind."""

from __future__ import annotations

from dpbench.contracts import hooks
from dpbench.contracts.component import Component
from dpbench.contracts.kinds import KINDS, OFFERS


def test_every_hook_belongs_to_one_kind() -> None:
    specified = {name for name in vars(hooks) if name.startswith("dpbench_")}
    assert {kind.hook for kind in OFFERS.values()} == specified
    assert len({kind.hook for kind in OFFERS.values()}) == len(OFFERS)


def test_components_keep_the_contract_of_their_kind_and_the_other_offers_are_objects() -> None:
    for name, kind in OFFERS.items():
        assert issubclass(kind.load(), Component) == (name in KINDS)
    for name, kind in KINDS.items():
        assert kind.load().kind == name
