"""What a class must be before the registry lists it as a component, and the sentence for the first thing that is wrong."""

from __future__ import annotations

import re
import typing
from dataclasses import MISSING, fields
from types import NoneType, UnionType
from typing import Any, Literal

from dpbench.base.errors import Refused
from dpbench.base.options import options_of
from dpbench.contracts.kinds import KINDS, OFFERS

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_SCALARS = (float, int, bool, str, NoneType, Any)


def fault(kind: str, cls: Any) -> str:
    """What keeps a class from being a component of this kind, or an object from being a paper: one sentence, or nothing."""
    contract = OFFERS[kind].load()
    if kind not in KINDS:
        return "" if isinstance(cls, contract) else f"A {kind} must be a {contract.__name__}(…). Got {cls!r} instead."
    if not (isinstance(cls, type) and issubclass(cls, contract)):
        return f"A {kind} must be a class derived from {contract.__name__}. Got {cls!r} instead."
    for check in (_dataclass_fault, _name_fault, _docstring_fault, _abstract_fault, _option_fault, _guarantee_fault):
        if sentence := check(cls):
            return sentence
    return ""


def _dataclass_fault(cls: type[Any]) -> str:
    own = vars(cls).get("__dataclass_params__")
    if own is None or not own.frozen:
        return f"The class {cls.__name__} must be decorated with @dataclass(frozen=True)."
    return ""


def _name_fault(cls: type[Any]) -> str:
    name = getattr(cls, "name", None)
    if any(field.name == "name" for field in fields(cls)):
        return f'The name of {cls.__name__} must be written without a type (name = "..."): with one it is an option.'
    if not (isinstance(name, str) and _NAME.fullmatch(name)):
        return f"The name of {cls.__name__} must be small letters, digits and _, a letter first. Got {name!r} instead."
    return ""


def _docstring_fault(cls: type[Any]) -> str:
    text = (vars(cls).get("__doc__") or "").strip()
    if not text or text.startswith(f"{cls.__name__}("):  # dataclasses write the signature where there is no docstring
        return f"The class {cls.__name__} must have a docstring: its first line is what listings show."
    return ""


def _abstract_fault(cls: type[Any]) -> str:
    left = [name for name in dir(cls) if getattr(getattr(cls, name, None), "__isabstractmethod__", False)]
    return f"The class {cls.__name__} must define {', '.join(left)}." if left else ""


def _option_fault(cls: type[Any]) -> str:
    for field in fields(cls):
        if field.init and field.default is MISSING and field.default_factory is MISSING:
            return f"The option {field.name!r} of {cls.__name__} must have a default."
    try:
        options = options_of(cls)
    except (NameError, TypeError, AttributeError) as error:  # annotations that cannot be resolved
        return f"The types of the options of {cls.__name__} must be names that its module knows. {error}."
    for opt in options:
        if not _checkable(opt.type):
            return (
                f"The type of the option {opt.name!r} of {cls.__name__} must be float, int, bool, str, Literal[...], "
                f"tuple[T, ...], dict[str, ...], or a union of these. Got {opt.type} instead."
            )
        try:
            opt.convert(opt.default, f"{cls.__name__}, by default,")
        except Refused as refusal:
            return str(refusal)
    return ""


def _guarantee_fault(cls: type[Any]) -> str:
    if not isinstance(getattr(cls, "guarantee", ""), str):
        return f"The guarantee of {cls.__name__} must be a short text. Got {cls.guarantee!r} instead."
    return ""


def _checkable(kind: Any) -> bool:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, UnionType):
        return all(map(_checkable, arguments))
    if origin is tuple:
        return len(arguments) == 2 and arguments[1] is Ellipsis and _checkable(arguments[0])
    if origin is dict:
        return arguments[0] is str
    return origin is Literal or kind in _SCALARS
