"""The bounds that an estimator is given, as declarations of the columns of a DataFrame and of its target."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dpbench.base.errors import Refused, check_known, refuse_on

NO_BOUNDS = (
    "The bounds of an estimator must be declared, from what is known without the rows: bounds={'age': (18, 70), …, 'wage': "
    "(0, 3000)}, with the target among them, or arrays bounds=(low, high) with target_bounds=(low, high). Got nothing instead."
)
BOUNDS_SHAPE = (
    "The bounds of an estimator must be a mapping from columns to (low, high) or levels, a pair of arrays (low, high), or "
    "'data', which leaks. Got something else."
)
PAIR = "The target_bounds must be two values: low and high, or the two classes. Got something else."


@dataclass(frozen=True)
class DeclaredColumns:
    """What ``dataset=table`` is told of the columns, and the name and the declaration of the target."""

    bounds: dict[str, Any] | Literal["data"]
    """By feature; ``data`` reads all bounds from the rows, which is a leak."""
    target: str
    target_bounds: Any
    """(low, high), or the levels of a binary target; None with ``data``."""


def declared_columns(bounds: Any, target_bounds: Any, names: list[str], target_name: Any) -> DeclaredColumns:
    """Return the declarations for features of these names and a target that may have a name, or refuse what is missing."""
    if bounds is None:
        raise Refused(NO_BOUNDS)
    if isinstance(bounds, str):
        if bounds != "data":
            raise Refused(BOUNDS_SHAPE)
        return DeclaredColumns(
            "data", _free_name(names, target_name), _pair(target_bounds) if target_bounds is not None else None
        )
    if isinstance(bounds, Mapping):
        return _from_mapping({str(name): value for name, value in bounds.items()}, target_bounds, names, target_name)
    if target_bounds is None:
        raise Refused("Bounds that are arrays need those of the target too: target_bounds=(low, high). Got nothing instead.")
    with refuse_on((TypeError, ValueError), BOUNDS_SHAPE):
        low, high = (np.broadcast_to(np.asarray(edge, dtype=float), (len(names),)) for edge in bounds)
    declared: dict[str, Any] = {name: [float(least), float(most)] for name, least, most in zip(names, low, high, strict=True)}
    return DeclaredColumns(declared, _free_name(names, target_name), _pair(target_bounds))


def _from_mapping(bounds: dict[str, Any], target_bounds: Any, names: list[str], target_name: Any) -> DeclaredColumns:
    if missing := [name for name in names if name not in bounds]:
        raise Refused(f"Columns without bounds: {', '.join(map(repr, missing))}. Declare bounds or levels, or write 'ignore'.")
    others = [name for name in bounds if name not in names]
    if target_bounds is not None:
        check_known("column with bounds", others, names)
        target, value = _free_name(names, target_name), target_bounds
    elif not others:
        raise Refused("The target must have bounds too, among the others or as target_bounds=(low, high). Got none.")
    else:
        target = str(target_name) if str(target_name) in others else others[0]
        check_known("column with bounds", others, [*names, target])
        value = bounds[target]
    if isinstance(value, Mapping):
        if set(value) not in ({"levels"}, {"low", "high"}):
            raise Refused("The target of an estimator must be declared as (low, high), or as {'levels': […]}. Got other keys.")
        value = value["levels"] if "levels" in value else (value["low"], value["high"])
    return DeclaredColumns({name: _plain(bounds[name]) for name in names}, target, _pair(value))


def _plain(value: Any) -> Any:
    return [float(edge) for edge in value] if isinstance(value, np.ndarray) else value


def _pair(value: Any) -> list[Any]:
    with refuse_on((TypeError, ValueError), PAIR):
        low, high = value
        return [low, high]


def _free_name(names: list[str], target_name: Any) -> str:
    """Return the name of the target, or one that no feature has."""
    name = "target" if target_name is None else str(target_name)
    while name in names:
        name += "_"
    return name
