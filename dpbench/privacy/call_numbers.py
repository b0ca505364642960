"""The numbers of a curator's calls, by which random streams differ."""

from collections import Counter
from collections.abc import Iterable


class CallNumbers:
    """The numbers of the calls of each name, so that no call repeats the noise of an earlier one, in any run."""

    def __init__(self, names: Iterable[str]) -> None:
        self._common = Counter(names)
        self._of_run: dict[int, Counter[str]] = {}

    def next(self, name: str, run: int | None) -> int:
        """Return the number of a new call, for one run or for all."""
        if run is None:
            number = max([self._common[name], *(numbers[name] for numbers in self._of_run.values())])
            self._common[name] = number + 1
            return number
        numbers = self._of_run.setdefault(run, Counter())
        numbers[name] = max(self._common[name], numbers[name]) + 1
        return numbers[name] - 1
