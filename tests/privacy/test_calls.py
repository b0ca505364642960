"""A call is known by its name in the ledger and by everything in it that is no function."""

from __future__ import annotations

from typing import Any

from dpbench.accounting.costs import Pure
from dpbench.privacy.calls import Answer, Call
from dpbench.privacy.queries.polynomial import Loss, Polynomial


def test_a_call_is_identified_by_its_query_and_its_plain_arguments(geometry) -> None:
    query = Polynomial(Loss(1.0, (0.0, -2.0), 2.0, 1.0), geometry(2))
    calls = [Call("until", query, geometry(2), Pure(1.0), {"accept": len, "max_tries": tries}) for tries in (3, 4)]
    assert calls[0].identity != calls[1].identity
    assert "len" not in calls[0].identity
    assert Answer(calls[0], None, None, None).query == query.name == "objective"


def test_a_procedure_gives_its_name_to_the_call(geometry) -> None:
    query: Any = Polynomial(Loss(1.0, (0.0, -2.0), 2.0, 1.0), geometry(2))
    assert Call("ask", query, geometry(2), Pure(1.0), procedure="selection").name == "selection"
