"""Checks of what plugins offer: a class must keep its contract before the registry lists it as a component."""

import typing
from dataclasses import MISSING, fields
from types import NoneType, UnionType
from typing import Any, Literal

from dpbench.base.errors import Refused, check_spelling
from dpbench.base.options import options_of
from dpbench.base.version import API_VERSION, __version__
from dpbench.contracts.hooks import KINDS, OFFERS
from dpbench.privacy.queries.polynomial import Sensitivity

PUBLISHED_SENSITIVITIES = tuple(rule for rule in typing.get_args(Sensitivity) if rule != "auto")
MAX_GUARANTEE_LENGTH = 60
SCALAR_TYPES = (float, int, bool, str, NoneType, Any)


def check_offer(kind: str, offer: Any) -> None:
    """Refuse, in one sentence, an object that cannot be offered as this kind."""
    contract = OFFERS[kind].load()
    if kind in KINDS:
        if not (isinstance(offer, type) and issubclass(offer, contract)):
            raise Refused(f"A {kind} must be a class derived from {contract.__name__}. Got {offer!r} instead.")
        _check_declaration(offer)
        _check_options(offer)
    elif not isinstance(offer, contract):
        raise Refused(f"A {kind} must be a {contract.__name__}(…). Got {offer!r} instead.")


def _check_declaration(cls: type[Any]) -> None:
    _check_api_version(cls)
    parameters, docstring = vars(cls).get("__dataclass_params__"), (vars(cls).get("__doc__") or "").strip()
    if parameters is None or not parameters.frozen:
        raise Refused(f"The class {cls.__name__} must be decorated with @dataclass(frozen=True).")
    if any(field.name == "name" for field in fields(cls)):
        raise Refused(f'The name of {cls.__name__} must be written without a type (name = "..."): with one it is an option.')
    check_spelling(cls.__name__, getattr(cls, "name", None))
    if not docstring or docstring.startswith(f"{cls.__name__}("):  # dataclasses write the signature if there is no docstring
        raise Refused(f"The class {cls.__name__} must have a docstring: its first line is what listings show.")
    if abstract := [name for name in dir(cls) if getattr(getattr(cls, name, None), "__isabstractmethod__", False)]:
        raise Refused(f"The class {cls.__name__} must define {', '.join(abstract)}.")
    if not isinstance(guarantee := getattr(cls, "guarantee", ""), str) or len(guarantee) > MAX_GUARANTEE_LENGTH:
        limit = f"a text of at most {MAX_GUARANTEE_LENGTH} characters"
        raise Refused(f"The guarantee of {cls.__name__} must be {limit}. Got {guarantee!r} instead.")
    published = getattr(cls, "published_sensitivity", None)
    if published not in (None, *PUBLISHED_SENSITIVITIES):
        allowed = ", ".join(PUBLISHED_SENSITIVITIES)
        raise Refused(f"The published_sensitivity of {cls.__name__} must be one of {allowed}. Got {published!r} instead.")
    if published not in (None, "tight") and not any(field.name == "sensitivity" for field in fields(cls)):
        raise Refused(f"The class {cls.__name__} has a published_sensitivity, so it must have an option 'sensitivity'.")


def _check_api_version(cls: type[Any]) -> None:
    version = getattr(cls, "api_version", API_VERSION)
    if not isinstance(version, int) or version < 1:
        raise Refused(f"The api_version of {cls.__name__} must be a whole number from 1 on. Got {version!r} instead.")
    if version > API_VERSION:
        raise Refused(
            f"The class {cls.__name__} was written for version {version} of dpbench's contracts, and dpbench {__version__} "
            f"has version {API_VERSION}: upgrade dpbench, or install an older version of the plugin."
        )


def _check_options(cls: type[Any]) -> None:
    for field in fields(cls):
        if field.init and field.default is MISSING and field.default_factory is MISSING:
            raise Refused(f"The option {field.name!r} of {cls.__name__} must have a default.")
    try:
        options = options_of(cls)
    except (NameError, TypeError, AttributeError) as error:  # annotations that cannot be resolved
        raise Refused(f"The types of the options of {cls.__name__} must be names that its module knows. {error}.") from error
    for opt in options:
        if not _can_be_checked(opt.type):
            raise Refused(
                f"The type of the option {opt.name!r} of {cls.__name__} must be float, int, bool, str, Literal[...], "
                f"tuple[T, ...], dict[str, ...], or a union of these. Got {opt.type} instead."
            )
        opt.convert(opt.default, f"{cls.__name__}, by default,")


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
