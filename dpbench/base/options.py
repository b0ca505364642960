"""Options are the typed fields of a frozen dataclass; this module checks them.

A field says what it accepts with its type (``float``, ``int``, ``bool``, ``str``, ``Literal[...]``, ``tuple[str, ...]``,
``dict[str, ...]``, unions of these) and with the limits given to :func:`option`. Every error has one shape: what, which values
are allowed, what came.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from dpbench.base.errors import Refused, unknown

_MISSING = object()


@dataclass(frozen=True)
class Limits:
    """The interval a number must lie in; an open end excludes the limit itself."""

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    def hold(self, value: float) -> bool:
        above = value > self.low if self.open_low else value >= self.low
        below = value < self.high if self.open_high else value <= self.high
        return above and below

    def __str__(self) -> str:
        left = "(" if self.open_low or math.isinf(self.low) else "["
        right = ")" if self.open_high or math.isinf(self.high) else "]"
        return f"{left}{self.low:g}, {self.high:g}{right}"


def option(
    default: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
    open_high: bool = False,
    help: str = "",
) -> Any:
    """A dataclass field with a default, limits for its numbers, and one line of help."""
    metadata = {"limits": Limits(low, high, open_low, open_high), "help": help}
    if isinstance(default, (dict, list)):
        return dataclasses.field(default_factory=lambda: type(default)(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Option:
    """One option of a component: what it is called, what it accepts, what it is when nothing is said."""

    name: str
    type: Any
    default: Any
    limits: Limits
    help: str

    @property
    def allowed(self) -> str:
        """The values it accepts, for an error or a listing."""
        return " or ".join(_describe(kind, self.limits) for kind in _alternatives(self.type))


def options_of(cls: type) -> tuple[Option, ...]:
    """The options of a component class, in the order of its fields."""
    if cls not in _KNOWN:
        hints = typing.get_type_hints(cls)
        _KNOWN[cls] = tuple(_option(field, hints[field.name]) for field in dataclasses.fields(cls) if field.init)
    return _KNOWN[cls]


_KNOWN: dict[type, tuple[Option, ...]] = {}


def _option(field: dataclasses.Field[Any], kind: Any) -> Option:
    default = field.default if field.default is not dataclasses.MISSING else None
    if field.default_factory is not dataclasses.MISSING:
        default = field.default_factory()
    return Option(field.name, kind, default, field.metadata.get("limits", Limits()), field.metadata.get("help", ""))


def check_options(component: object, owner: str) -> None:
    """Check (and coerce to the declared type) every field of a frozen dataclass instance."""
    for opt in options_of(type(component)):
        value = accepted(opt, getattr(component, opt.name), owner)
        object.__setattr__(component, opt.name, value)


def accepted(opt: Option, value: Any, owner: str) -> Any:
    """The value as the option's type, or a refusal that says what would be accepted."""
    for kind in _alternatives(opt.type):
        taken = _take(kind, value, opt.limits)
        if taken is not _MISSING:
            return taken
    raise Refused(f"The '{opt.name}' option of {owner} must be {opt.allowed}. Got {value!r} instead.")


def refuse_unknown_options(cls: type, given: Mapping[str, Any], owner: str) -> None:
    """Refuse the first option that the class does not have, naming the near ones."""
    known = [opt.name for opt in options_of(cls)]
    for name in given:
        if name not in known:
            raise unknown(f"option of {owner}", name, known)


def _alternatives(kind: Any) -> tuple[Any, ...]:
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return typing.get_args(kind)
    return (kind,)


def _describe(kind: Any, limits: Limits) -> str:
    origin = typing.get_origin(kind)
    if origin is Literal:
        return "one of " + ", ".join(map(repr, typing.get_args(kind)))
    if kind in (float, int):
        article = "an" if kind is int else "a"
        return f"{article} {kind.__name__} in the range {limits}"
    if kind is type(None):
        return "null"
    if origin is tuple:
        return "a list"
    if origin is dict:
        return "a mapping"
    return {bool: "true or false", str: "a text"}.get(kind, str(kind))


def _take(kind: Any, value: Any, limits: Limits) -> Any:
    """The value as ``kind``, or _MISSING when it is not one."""
    origin = typing.get_origin(kind)
    if kind is Any:
        return value
    if origin is Literal:
        return value if value in typing.get_args(kind) and not isinstance(value, bool) else _MISSING
    if kind is type(None):
        return None if value is None else _MISSING
    if kind is bool:
        return value if isinstance(value, bool) else _MISSING
    if kind is int:
        whole = isinstance(value, int) and not isinstance(value, bool)
        return value if whole and limits.hold(value) else _MISSING
    if kind is float:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return float(value) if number and math.isfinite(value) and limits.hold(value) else _MISSING
    if kind is str:
        return value if isinstance(value, str) else _MISSING
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            return _MISSING
        items = [_take(typing.get_args(kind)[0], item, limits) for item in value]
        return _MISSING if any(item is _MISSING for item in items) else tuple(items)
    if origin is dict:
        return dict(value) if isinstance(value, Mapping) else _MISSING
    return value if isinstance(kind, type) and isinstance(value, kind) else _MISSING
