"""Checks of what plugins offer: a class must keep its contract before the registry lists it as a component."""

import typing
from dataclasses import MISSING, fields
from types import NoneType, UnionType
from typing import Any, Literal

from dpbench.base.errors import Refused, name_fault
from dpbench.base.options import options_of
from dpbench.contracts.kinds import KINDS, OFFERS

SCALAR_TYPES = (float, int, bool, str, NoneType, Any)


def fault(kind: str, offer: Any) -> str:
    """Return why an object cannot be offered as this kind, in one sentence, or an empty text."""
    contract = OFFERS[kind].load()
    if kind not in KINDS:
        return "" if isinstance(offer, contract) else f"A {kind} must be a {contract.__name__}(…). Got {offer!r} instead."
    if not (isinstance(offer, type) and issubclass(offer, contract)):
        return f"A {kind} must be a class derived from {contract.__name__}. Got {offer!r} instead."
    return _declaration_fault(offer) or _option_fault(offer)


def _declaration_fault(cls: type[Any]) -> str:
    parameters, docstring = vars(cls).get("__dataclass_params__"), (vars(cls).get("__doc__") or "").strip()
    if parameters is None or not parameters.frozen:
        return f"The class {cls.__name__} must be decorated with @dataclass(frozen=True)."
    if any(field.name == "name" for field in fields(cls)):
        return f'The name of {cls.__name__} must be written without a type (name = "..."): with one it is an option.'
    if sentence := name_fault(cls.__name__, getattr(cls, "name", None)):
        return sentence
    if not docstring or docstring.startswith(f"{cls.__name__}("):  # dataclasses write the signature if there is no docstring
        return f"The class {cls.__name__} must have a docstring: its first line is what listings show."
    abstract = [name for name in dir(cls) if getattr(getattr(cls, name, None), "__isabstractmethod__", False)]
    if abstract:
        return f"The class {cls.__name__} must define {', '.join(abstract)}."
    if not isinstance(guarantee := getattr(cls, "guarantee", ""), str):
        return f"The guarantee of {cls.__name__} must be a short text. Got {guarantee!r} instead."
    return ""


def _option_fault(cls: type[Any]) -> str:
    for field in fields(cls):
        if field.init and field.default is MISSING and field.default_factory is MISSING:
            return f"The option {field.name!r} of {cls.__name__} must have a default."
    try:
        options = options_of(cls)
    except (NameError, TypeError, AttributeError) as error:  # annotations that cannot be resolved
        return f"The types of the options of {cls.__name__} must be names that its module knows. {error}."
    for opt in options:
        if not _can_be_checked(opt.type):
            return (
                f"The type of the option {opt.name!r} of {cls.__name__} must be float, int, bool, str, Literal[...], "
                f"tuple[T, ...], dict[str, ...], or a union of these. Got {opt.type} instead."
            )
        try:
            opt.convert(opt.default, f"{cls.__name__}, by default,")
        except Refused as refusal:
            return str(refusal)
    return ""


def _can_be_checked(kind: Any) -> bool:
    """Return whether options can have this type."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, UnionType):
        return all(map(_can_be_checked, arguments))
    if origin is tuple:
        return len(arguments) == 2 and arguments[1] is Ellipsis and _can_be_checked(arguments[0])
    if origin is dict:
        return arguments[0] is str
    return origin is Literal or kind in SCALAR_TYPES
