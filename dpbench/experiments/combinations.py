"""Which combinations of values are points of a grid: ``zip`` lets keys vary together, and ``skip`` leaves combinations out.

Both are part of a sweep's request, and of no cell.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from dpbench.base.errors import Refused, near_names
from dpbench.experiments.checks.cell_selection import matches

COMBINING_KEYS = ("zip", "skip")
"""The keys of a request that say which combinations of the others are in its grid."""
Values = Mapping[str, Sequence[Any]]
"""The values of each key of a request, in the order in which the keys were written."""


@dataclass(frozen=True)
class Combinations:
    """The rules of a request: groups of keys that vary together, and conditions on the combinations that are left out."""

    groups: tuple[tuple[str, ...], ...] = ()
    conditions: tuple[Mapping[str, Any], ...] = ()
    """A combination is left out if it meets every part of one condition: a value, several, or a comparison such as '>= 0.8'."""

    @classmethod
    def parse(cls, zip_values: Sequence[Any], skip_values: Sequence[Any]) -> "Combinations":
        """Return the rules that the keys ``zip`` and ``skip`` hold; null is no rule."""
        zipped, conditions = _items(zip_values), _items(skip_values)
        groups = [zipped] if zipped and all(isinstance(key, str) for key in zipped) else zipped
        if not all(isinstance(group, list) and len(group) > 1 and all(isinstance(key, str) for key in group) for group in groups):
            raise Refused(
                "The key 'zip' must name at least two keys that vary together, as in zip=epsilon,seed, or several such lists, as "
                f"in zip='[epsilon,seed],[mechanism,model]'. Got {_text(zipped)} instead."
            )
        if not all(isinstance(condition, Mapping) and condition for condition in conditions):
            raise Refused(
                "The key 'skip' must hold the values of a combination, as in skip='{mechanism:dpme,model:logistic}', or several "
                f"of these. Got {_text(conditions)} instead."
            )
        rules = cls(tuple(map(tuple, groups)), tuple(conditions))
        if twice := [key for key in rules.zipped if rules.zipped.count(key) > 1]:
            raise Refused(f"The key 'zip' must name each key once. Got {twice[0]!r} {len(twice)} times.")
        return rules

    @property
    def zipped(self) -> tuple[str, ...]:
        """The keys that vary together with others."""
        return tuple(key for group in self.groups for key in group)

    def check_keys(self, known: Collection[str]) -> None:
        """Refuse a key that a request gives no values."""
        conditional = [key for condition in self.conditions for key in condition]
        for rule, keys in (("zip", self.zipped), ("skip", conditional)):
            for key in keys:
                if key not in known:
                    raise Refused(f"The key {rule!r} names {key!r}, which has no values in this sweep.{near_names(key, known)}")

    def check(self, values: Values) -> None:
        """Refuse a key that the request gives no values, and a value that it does not have."""
        self.check_keys(values)
        for condition in self.conditions:
            for key, wanted in condition.items():
                several = isinstance(wanted, list) and wanted not in values[key]
                for choice in wanted if several else [wanted]:
                    if not any(_meets(value, choice) for value in values[key]):
                        known = near_names(str(choice), map(str, values[key]))
                        raise Refused(f"The key 'skip' names {key}={choice}, which is no value of this sweep.{known}")

    def within(self, values: Values) -> "Combinations":
        """Return the rules without the keys that the request gives no values: a request may replace parts of a preset."""
        groups = (tuple(key for key in group if key in values) for group in self.groups)
        conditions = (condition for condition in self.conditions if condition.keys() <= values.keys())
        return Combinations(tuple(group for group in groups if len(group) > 1), tuple(conditions))

    def combine(self, values: Values, keep: Callable[[str, Any], bool] = lambda key, value: True) -> Iterator[dict[str, Any]]:
        """Yield every combination of the values that are kept, with those that conditions leave out.

        Zipped keys take their values together.
        """
        blocks = list(dict.fromkeys(next((group for group in self.groups if key in group), (key,)) for key in values))
        for group in blocks:
            if len({len(values[key]) for key in group}) > 1:
                counts = " and ".join(f"{len(values[key])} of {key}" for key in group)
                raise Refused(f"The keys of 'zip' must have the same number of values. Got {counts}.")
        rows = ([row for row in zip(*map(values.get, group), strict=True) if all(map(keep, group, row))] for group in blocks)
        for combination in product(*rows):
            parts = (zip(group, row, strict=True) for group, row in zip(blocks, combination, strict=True))
            chosen = {key: value for part in parts for key, value in part}
            yield {key: chosen[key] for key in values}

    def met(self, combination: Mapping[str, Any]) -> list[int]:
        """Return the positions of the conditions that leave a combination out; none if it is a point of the grid."""
        return [
            position
            for position, condition in enumerate(self.conditions)
            if all(key in combination and _meets(combination[key], wanted) for key, wanted in condition.items())
        ]

    def text(self, position: int) -> str:
        """Return a condition in words."""
        return _text(self.conditions[position])


def _items(values: Sequence[Any]) -> list[Any]:
    """Return the values of a key; a single value that is itself a list stands for its items, and null for none."""
    (*items,) = values[0] if len(values) == 1 and isinstance(values[0], list) else values
    return [] if items == [None] else items


def _meets(value: Any, wanted: Any) -> bool:
    return bool(value == wanted) or matches(None if value is None else str(value), wanted)


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_text(item)}" for key, item in value.items()) + "}"
    return "[" + ", ".join(map(_text, value)) + "]" if isinstance(value, (list, tuple)) else str(value)
