"""Declarations, options and docstrings of component classes."""

from __future__ import annotations

from dataclasses import dataclass

from dpbench import option
from dpbench.testing.components import bad_options, declaration, docstring, help_of_options, signature


def test_a_wrong_signature_is_named_with_the_call(plain, outcome) -> None:
    @dataclass(frozen=True)
    class Other(plain):
        """Take other arguments."""

        name = "other"

        def fit(self, x, y):
            return x @ y

    sentence = "failed: dpbench calls fit(curator, problem, budget), and fit takes (x, y)."
    assert outcome(signature, Other) == sentence
    assert outcome(signature, plain) == "ok: "


def test_a_good_class_passes(plain, outcome) -> None:
    assert {outcome(check, plain) for check in (declaration, bad_options, help_of_options, docstring)} == {"ok: "}


def test_an_option_without_help_is_named(plain, outcome) -> None:
    @dataclass(frozen=True)
    class Silent(plain):
        """Say nothing."""

        name = "silent"
        power: float = option(1.0)

    assert outcome(help_of_options, Silent) == "failed: The options power have none."
    assert "'Formula:' or 'Guarantee:' or 'Reference:'" in outcome(docstring, Silent)


def test_a_bad_option_must_be_refused_and_not_end_with_an_error(plain, outcome) -> None:
    @dataclass(frozen=True)
    class Careless(plain):
        """Check nothing."""

        name = "careless"

        def __post_init__(self) -> None:
            pass

    @dataclass(frozen=True)
    class Rude(plain):
        """Raise anything."""

        name = "rude"

        def __post_init__(self) -> None:
            assert self.shrink <= 1, "too large"

    assert outcome(bad_options, Careless) == "failed: The option shrink=nan is accepted."
    assert outcome(bad_options, Rude).startswith("failed: The option shrink=nan ends with AssertionError")


def test_an_expected_failure_must_be_a_check_and_have_a_reason(plain, outcome) -> None:
    @dataclass(frozen=True)
    class Hopeful(plain):
        """Expect a failure of a check that does not exist."""

        name = "hopeful"
        expected_failures = {"replays": "whatever"}  # noqa: RUF012

    assert outcome(declaration, Hopeful).startswith("failed: There is no check named 'replays'")
