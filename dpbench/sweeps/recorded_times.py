"""Times that were measured on this machine, as ratios to the shipped priors: lines of a file in the user's cache folder.

Times of private tables are not kept: how long a fit takes may depend on the rows, and the cache folder outlives the store.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dpbench.files.appending import append_line
from dpbench.files.download_cache import cache_folder
from dpbench.sweeps.cost_priors import priors_digest

CHANGE = 1.25
"""A ratio is written again when it has changed by this factor, so that the file grows with what is new, not with every cell."""


@dataclass(frozen=True)
class WorkKind:
    """Work whose cost is alike: what is measured of it holds for all of it."""

    names: tuple[str, ...]
    """The piece of work, and the components that decide its cost most."""
    detail: str
    """A digest of their options and code, and of the size class of the table."""


class RecordedTimes:
    """The ratios of the kinds that were measured on this machine, by kind; without a file nothing is read or kept."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._ratios = {} if file is None else _read(file)

    @property
    def ratios(self) -> Mapping[WorkKind, float]:
        return self._ratios

    def keep(self, kind: WorkKind, ratio: float) -> None:
        """Take a ratio, and write it if it is new or has changed."""
        known = self._ratios.get(kind)
        if self._file is None or (known is not None and 1 / CHANGE <= ratio / known <= CHANGE):
            return
        self._ratios[kind] = ratio
        append_line(self._file, json.dumps([[*kind.names], kind.detail, float(f"{ratio:.3g}")]))


def times_file() -> Path:
    """Return the file of this machine's times. Other priors begin another one."""
    return cache_folder("times", f"{priors_digest()}.jsonl")


def _read(file: Path) -> dict[WorkKind, float]:
    """Return what a file says, the last line of each kind; lines that are cut off say nothing."""
    ratios: dict[WorkKind, float] = {}
    with suppress(OSError, UnicodeDecodeError):
        for line in file.read_text(encoding="utf-8").splitlines():
            with suppress(ValueError, TypeError):
                names, detail, ratio = json.loads(line)
                if float(ratio) > 0:
                    ratios[WorkKind(tuple(names), str(detail))] = float(ratio)
    return ratios
