"""A cache that holds one value: enough where the same thing is wanted many times before the next one."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class OneEntryCache(Generic[Value]):
    """The last value that was made, and the key that it was made for."""

    def __init__(self) -> None:
        self._entry: tuple[Hashable, Value] | None = None

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of this key; make it unless it is the last one."""
        if self._entry is None or self._entry[0] != key:
            self._entry = None  # first: memory may not hold the old value and the new one at once
            self._entry = key, make()
        return self._entry[1]

    def holds(self, key: Hashable) -> bool:
        """Return whether the last value was made for this key."""
        return self._entry is not None and self._entry[0] == key

    def clear(self) -> None:
        """Forget the value."""
        self._entry = None
