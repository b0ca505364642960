"""The result of an audit, as it is kept next to a store, so that an unchanged mechanism is not audited again."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from dpbench.audit.procedure import Audit


@dataclass(frozen=True)
class AuditResult:
    """Whether a mechanism kept its word on made-up tables. It holds no row, made up or not."""

    passed: bool | None
    """None if the audit could not be done."""
    n: int
    """The number of rows of the largest tables that were replayed."""
    violations: tuple[str, ...] = ()
    epsilon: float | None = None
    """The largest ε that statistics proved; None without statistics."""
    reason: str = ""
    """Why the audit could not be done."""
    seconds: float = 0.0
    """CPU time."""
    mechanisms: tuple[str, ...] = ()
    """The audited mechanism, then those that its options name. Empty until the result is kept in a file."""
    model: str = ""
    code: str = ""
    """The digest of the code that was audited (:func:`dpbench.registry.code_digest.fit_digest`)."""

    @classmethod
    def of(cls, audit: "Audit") -> Self:
        return cls(audit.passed, audit.replays.n, audit.violations, audit.epsilon)

    @property
    def sentence(self) -> str:
        """The first violation, or why there was no audit; empty if the audit passed."""
        return self.violations[0] if self.violations else self.reason

    def as_line(self, digest: str) -> str:
        """Return a line of the file of results; ``digest`` stands for everything that the result depends on."""
        return json.dumps({"digest": digest, **asdict(self)}, ensure_ascii=False) + "\n"

    @classmethod
    def from_line(cls, line: str) -> tuple[str, Self] | None:
        """Return the digest and the result of a line; None for a line that a process did not finish writing."""
        try:
            content: Mapping[str, Any] = {"mechanisms": (), **json.loads(line)}
            values = {**content, **{name: tuple(content[name]) for name in ("violations", "mechanisms")}}
            return values.pop("digest"), cls(**values)
        except (ValueError, KeyError, TypeError):
            return None
