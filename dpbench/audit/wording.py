"""An audit in words: what was tried, what was found, how sure that is."""

from __future__ import annotations

from collections.abc import Iterator

from dpbench.audit.auditing import Audit
from dpbench.audit.certificate import Certificate
from dpbench.audit.example_geometries import described

CAVEAT = "An audit can show that a claim is false. That nothing was found proves nothing: only the proof in the ledger does."


def told(audit: Audit) -> Iterator[str]:
    """The lines of one geometry."""
    yield f"{described(audit.geometry)}: {'passed' if audit.passed else 'FAILED'}"
    if (replayed := audit.replayed) is not None:
        calls = f"{replayed.calls} answer{'s' * (replayed.calls != 1)} a fit, {replayed.pairs} pairs of neighbours"
        yield f"  replay   {calls}: moved by at most {replayed.ratio:.4f} of what is declared ({replayed.origin})"
    if audit.fits:
        worst = min(audit.fits, key=lambda fit: fit.p_value)
        draws = sum(fit.draws for fit in audit.fits)
        laws = " and ".join(dict.fromkeys(fit.law for fit in audit.fits))
        yield f"  noise    {draws:,} draws of {laws} noise: least p = {worst.p_value:.2g} ({worst.test})"
    for name, weights in (("answers", False), ("release", True)):
        found = [one for one in audit.certificates if (one.what == "weights") == weights]
        if found:
            yield f"  {name}  {_best(found)}"
    for violation in audit.violations:
        yield f"  VIOLATION  {violation}"


def _best(certificates: list[Certificate]) -> str:
    """The certificate that comes nearest to its claim."""
    best = max(certificates, key=lambda one: one.epsilon / one.claim.epsilon)
    what = "" if best.what == "weights" else f" for {best.what!r}"
    mu = f", μ ≥ {best.mu:.3f} of {best.claim.mu:.3f}" if best.mu is not None and best.claim.mu is not None else ""
    delta = f" at δ = {best.claim.delta:g}" if best.claim.delta else ""
    return (
        f"ε ≥ {best.epsilon:.3f} of {best.claim.epsilon:.3f} claimed{delta}{what}{mu}: confidence {100 * best.confidence:.2f} %, "
        f"{best.runs:,} runs a world, pair {best.pair}, by {best.score}"
    )
