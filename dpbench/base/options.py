"""Options are the typed fields of a frozen dataclass; this module checks their values.

A field says what it accepts by its type (``float``, ``int``, ``bool``, ``str``, ``Literal[...]``, ``tuple[str, ...]``,
``dict[str, ...]``, unions of these) and by the limits that :func:`option` declares. Every error has the same shape: which
option, which values are allowed, which value came.
"""

import dataclasses
import sys
import types
import typing
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from math import inf, isinf
from typing import Any, Literal

from dpbench.base.errors import Refused, check_known


@dataclass(frozen=True)
class Limits:
    """The interval that a number must lie in; an open end excludes the limit itself."""

    low: float = -inf
    high: float = inf
    open_low: bool = False
    open_high: bool = False

    def hold(self, value: float) -> bool:
        """Return whether a number lies in the interval."""
        above = value > self.low if self.open_low else value >= self.low
        below = value < self.high if self.open_high else value <= self.high
        return above and below

    def __str__(self) -> str:
        left = "(" if self.open_low or isinf(self.low) else "["
        right = ")" if self.open_high or isinf(self.high) else "]"
        return f"{left}{self.low:g}, {self.high:g}{right}"


def option(
    default: Any,
    *,
    low: float = -inf,
    high: float = inf,
    open_low: bool = False,
    open_high: bool = False,
    names_attributes: bool = False,
    help: str = "",
) -> Any:
    """Return a dataclass field with a default, limits for its numbers, and one line of help.

    ``names_attributes`` says that its value names attributes of the table: a dataset with several codings then uses the one
    that has them.
    """
    metadata = {"limits": Limits(low, high, open_low, open_high), "help": help, "names_attributes": names_attributes}
    if isinstance(default, (dict, list)):
        return dataclasses.field(default_factory=lambda: type(default)(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Option:
    """One option of a component: its name, type, default value, limits and line of help."""

    name: str
    type: Any
    default: Any
    limits: Limits
    help: str
    names_attributes: bool = False
    """Whether its value names attributes of the table."""

    @property
    def allowed(self) -> str:
        """The values that the option accepts, in words."""
        return " or ".join(_describe(kind, self.limits) for kind in _alternatives(self.type))

    def convert(self, value: Any, owner: str) -> Any:
        """Return the value as the option's type, or refuse it."""
        for kind in _alternatives(self.type):
            with suppress(ValueError):
                return _convert(kind, value, self.limits)
        raise Refused(f"The '{self.name}' option of {owner} must be {self.allowed}. Got {value!r} instead.")


def options_of(cls: type) -> tuple[Option, ...]:
    """Return the options of a component class, in the order of its fields."""
    return _read_options(cls)


@cache
def _read_options(cls: Any) -> tuple[Option, ...]:
    hints = typing.get_type_hints(cls)
    return tuple(_option(field, hints[field.name]) for field in dataclasses.fields(cls) if field.init)


def _option(field: dataclasses.Field[Any], kind: Any) -> Option:
    default = None if field.default is dataclasses.MISSING else field.default
    if field.default_factory is not dataclasses.MISSING:
        default = field.default_factory()
    facts = field.metadata
    limits, names_attributes = facts.get("limits", Limits()), facts.get("names_attributes", False)
    return Option(field.name, kind, default, limits, facts.get("help", ""), names_attributes)


def check_options(component: object, owner: str) -> None:
    """Check every field of a frozen dataclass instance, and convert it to its declared type."""
    for opt in options_of(type(component)):
        object.__setattr__(component, opt.name, opt.convert(getattr(component, opt.name), owner))


def refuse_unknown_options(cls: type, options: Mapping[str, Any], owner: str) -> None:
    """Refuse the first option that the class does not have, naming the near ones."""
    check_known(f"option of {owner}", options, [opt.name for opt in options_of(cls)])


def _alternatives(kind: Any) -> tuple[Any, ...]:
    return typing.get_args(kind) if typing.get_origin(kind) in (typing.Union, types.UnionType) else (kind,)


def _describe(kind: Any, limits: Limits) -> str:
    origin = typing.get_origin(kind)
    if origin is Literal:
        return "one of " + ", ".join(map(repr, typing.get_args(kind)))
    if kind in (float, int):
        return f"{'an' if kind is int else 'a'} {kind.__name__} in the range {limits}"
    words = {types.NoneType: "null", bool: "true or false", str: "a text", tuple: "a list", dict: "a mapping"}
    return words.get(origin or kind, str(kind))


def _convert(kind: Any, value: Any, limits: Limits) -> Any:
    """Return the value as ``kind``, or raise ValueError."""
    origin = typing.get_origin(kind)
    if origin is tuple and isinstance(value, (list, tuple)):
        return tuple(_convert(typing.get_args(kind)[0], item, limits) for item in value)
    if origin is dict and isinstance(value, Mapping):
        return dict(value)
    if kind in (int, float):
        number = isinstance(value, (int, kind)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
        if number and limits.hold(value):
            return kind(value)
    elif origin is Literal:
        if value in typing.get_args(kind) and not isinstance(value, bool):  # to Python, True == 1
            return value
    elif kind is Any or (isinstance(kind, type) and isinstance(value, kind)):
        return value
    raise ValueError
