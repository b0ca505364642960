"""One line in an author's tests: an assertion, or a test case for each check."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from dpbench.testing import assert_conforms, conformance, conforms
from dpbench.testing.kinds import checks_of_kind


def test_an_assertion_passes_or_says_what_to_do(plain) -> None:
    @dataclass(frozen=True)
    class Unnamed(plain):
        """Have no name that a command line could read."""

        name = "Not A Name"

    conforms("metric", "rmse")
    with pytest.raises(AssertionError, match=r"(?s)The name of Unnamed must be small letters.*To do: "):
        assert_conforms(Unnamed)


@pytest.mark.slow
def test_each_check_is_a_test_case_of_pytest(plain) -> None:
    test = conformance(plain)
    (mark,) = test.pytestmark  # type: ignore[attr-defined]
    assert mark.args[1] == checks_of_kind("mechanism")
    by_name = {check.name: check for check in checks_of_kind("mechanism")}
    test(by_name["declaration"])
    with pytest.raises(pytest.skip.Exception, match="handles persons"):
        test(by_name["persons"])
