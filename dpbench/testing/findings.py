"""What the checks found about one component, for people and for programs."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

State = Literal["ok", "failed", "expected failure", "not applicable"]


@dataclass(frozen=True)
class LawOutcome:
    """The outcome of one check."""

    check: str
    law: str
    """What must hold."""
    state: State
    text: str = ""
    """How the law was broken, or why it does not apply."""
    advice: str = ""
    """What to do about a failure."""
    seconds: float = 0.0
    """CPU time."""


@dataclass(frozen=True)
class Findings:
    """The outcomes of all checks of one component."""

    kind: str
    name: str
    found: tuple[LawOutcome, ...]
    cost: Mapping[str, float]
    """What the component takes: CPU seconds and bytes by what they are for. They differ from machine to machine."""

    @property
    def failures(self) -> tuple[LawOutcome, ...]:
        """The checks that failed, without expected failures."""
        return tuple(finding for finding in self.found if finding.state == "failed")

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return not self.failures

    def as_dict(self) -> dict[str, Any]:
        """Return the findings as plain data."""
        return {**asdict(self), "found": [asdict(finding) for finding in self.found], "passed": self.passed}

    def lines(self) -> Iterator[str]:
        """Yield the lines for a terminal: one for each check, then what to do about each failure."""
        yield f"{self.kind} {self.name}"
        width = max(len(finding.check) for finding in self.found)
        for finding in self.found:
            reason = finding.text if finding.state in ("not applicable", "expected failure") else ""
            yield f"  {finding.state:<16}  {finding.check:<{width}}  {reason}".rstrip()
        for failure in self.failures:
            yield ""
            yield f"{failure.check}: {failure.law}"
            yield f"  Failed: {failure.text}"
            yield f"  To do: {failure.advice}"
        yield ""
        if self.cost:
            yield f"{', '.join(_amount(what, value) for what, value in self.cost.items())}."
        counts = {state: sum(finding.state == state for finding in self.found) for state in State.__args__}  # type: ignore[attr-defined]
        yield f"{self.name}: {', '.join(f'{count} {state}' for state, count in counts.items() if count)}."


def _amount(what: str, value: float) -> str:
    """Return a cost in words: ``fit seconds`` in milliseconds, ``fit bytes`` in megabytes."""
    name, _, unit = what.rpartition(" ")
    return f"{name} {value * 1e3:.3g} ms" if unit == "seconds" else f"{name} {value / 1e6:.3g} MB"
