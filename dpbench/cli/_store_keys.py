"""Read the arguments of subcommands that name runs of a store: the runs, and the keys that say where they are recorded."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from dpbench.base.errors import Refused, unknown

if TYPE_CHECKING:
    from dpbench.tracking.store import Store

KEYS = ("tracking.uri", "tracking.experiment")


def split_arguments(command: str, arguments: Sequence[str], more: Collection[str] = ()) -> tuple[list[str], dict[str, str]]:
    """Return the names of runs, and the values of the keys that were typed; ``more`` are keys of this subcommand alone."""
    runs = [text for text in arguments if "=" not in text]
    keys: dict[str, str] = {}
    for text in arguments:
        key, equals, value = text.partition("=")
        if not equals:
            continue
        if key not in (*KEYS, *more):
            raise unknown(f"key of {command}", key, [*KEYS, *more])
        if not value or key in keys:
            raise Refused(f"The key {key!r} must have one value. Got {'none' if not value else 'several'} instead.")
        keys[key] = value
    return runs, keys


def open_recorded(keys: Mapping[str, str], uri_key: str = "tracking.uri") -> "Store":
    """Open the store that holds the runs; nothing is created."""
    from dpbench.tracking.store import open_store

    return open_store(keys.get(uri_key), keys.get("tracking.experiment", "dpbench"), create=False)
