"""Checks of every component class: its declaration, its options and its docstring."""

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dpbench.base.errors import Refused
from dpbench.base.options import Option, options_of
from dpbench.contracts.component import Component
from dpbench.registry.class_checks import check_offer
from dpbench.testing.checks import Failure, law

PARAGRAPHS = {"mechanism": ("Formula:", "Guarantee:", "Reference:")}
"""How some paragraphs of a docstring begin, by kind."""
CALLS: dict[str, dict[str, tuple[str, ...]]] = {
    "mechanism": dict.fromkeys(("fit", "fit_run"), ("curator", "problem", "budget")),
    "model": {"prepare": ("curator",)},
    "dataset": {"load": ("generator",)},
    "attack": {"run": ("target",)},
}
"""The methods that dpbench calls, and with what, by kind."""


@dataclass(frozen=True, eq=False)
class ComponentCase:
    """A component that is checked, with its options."""

    component: Any

    @property
    def cls(self) -> type[Any]:
        return type(self.component)


@law(
    "The class keeps the contract of its kind: a frozen dataclass with a name, a docstring, and options with defaults and "
    "limits.",
    "Change what the sentence names; docs/authors has an example of each kind.",
    needed=True,
)
def declaration(case: ComponentCase) -> None:
    try:
        check_offer(case.cls.kind, case.cls)
    except Refused as refusal:
        raise Failure(str(refusal)) from None
    _check_expected_failures(case.cls)
    if case.cls.build(case.component.options()) != case.component:
        raise Failure("An object that is built from the options of another one is not equal to it.")


def _check_expected_failures(cls: type[Component]) -> None:
    from dpbench.testing.kinds import checks_of_kind

    names = {check.name for check in checks_of_kind(cls.kind)}
    for name, reason in cls.expected_failures.items():
        if name not in names:
            raise Failure(f"There is no check named {name!r} that could fail. The checks are: {', '.join(sorted(names))}.")
        if not str(reason).strip():
            raise Failure(f"The expected failure of {name!r} must have a reason.")


@law(
    "Values that an option does not accept, and names of options that do not exist, are refused in one sentence.",
    "Declare limits with dpbench.option(low=…, high=…); where __post_init__ is overridden, call super().__post_init__() first, "
    "and "
    "raise dpbench.Refused with a sentence for what the types cannot say.",
)
def bad_options(case: ComponentCase) -> None:
    for name, value in [*_bad_values(case.cls), ("no_such_option", 1)]:
        try:
            case.cls.build({name: value})
        except Refused:
            continue
        except Exception as error:  # noqa: BLE001  a plugin may raise anything
            raise Failure(f"The option {name}={value!r} ends with {type(error).__name__}: {error}") from None
        raise Failure(f"The option {name}={value!r} is accepted.")


def _bad_values(cls: type[Any]) -> Iterator[tuple[str, Any]]:
    """Yield values that an option's declaration excludes."""
    for opt in options_of(cls):
        values = [math.nan, "no such value", [object()], opt.limits.low - 1, opt.limits.high + 1]
        yield from ((opt.name, value) for value in values if not _accepts(opt, value))


def _accepts(opt: Option, value: Any) -> bool:
    try:
        opt.convert(value, "the option")
    except Refused:
        return False
    return True


@law("Every option has a line of help.", 'Add help="…" to dpbench.option: listings and the configuration show it.')
def help_of_options(case: ComponentCase) -> None:
    if missing := [opt.name for opt in options_of(case.cls) if not opt.help.strip()]:
        raise Failure(f"The options {', '.join(missing)} have none.")


@law(
    "The docstring says in its first line what the component does, and has the paragraphs of its kind.",
    "Add the missing paragraphs. Readers of a mechanism look for 'Formula:', 'Guarantee:' (definition, neighbours, what is "
    "public) "
    "and 'Reference:' (authors, year, title, section).",
)
def docstring(case: ComponentCase) -> None:
    text = inspect.getdoc(case.cls) or ""
    first = text.split("\n")[0]
    if not first.endswith((".", ":")):
        raise Failure(f"Its first line is not a sentence: {first!r}.")
    paragraphs = PARAGRAPHS.get(case.cls.kind, ())
    begins = [line.strip() for line in text.split("\n")]
    if missing := [begin for begin in paragraphs if not any(line.startswith(begin) for line in begins)]:
        raise Failure(f"It has no paragraph that begins with {' or '.join(map(repr, missing))}.")


@law(
    "The methods that dpbench calls take what it calls them with.",
    "Write the method with the parameters of that call, after self; options are fields of the class, not parameters.",
    needed=True,
)
def signature(case: ComponentCase) -> None:
    for name, arguments in CALLS[case.cls.kind].items():
        if method := getattr(case.component, name, None):
            check_call(name, method, arguments)


def check_call(name: str, function: Callable[..., Any], arguments: Sequence[str]) -> None:
    """Fail unless a function can be called with these arguments."""
    expected = inspect.signature(function)
    try:
        expected.bind(*arguments)
    except TypeError:
        call = f"{name}({', '.join(arguments)})"
        raise Failure(f"dpbench calls {call}, and {name} takes ({', '.join(expected.parameters)}).") from None


CHECKS = (declaration, bad_options, help_of_options, docstring, signature)
