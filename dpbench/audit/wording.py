"""The report of an audit in words: what was tried, what was found, and with what confidence."""

from collections.abc import Iterator, Sequence

from dpbench.audit.epsilon_lower_bound import EpsilonLowerBound
from dpbench.audit.procedure import Audit
from dpbench.data.geometry import Geometry

CAVEAT = (
    "An audit can show that a claim is false. That nothing was found proves nothing: only a proof can show that a claim is true."
)


def describe_audit(audit: Audit) -> Iterator[str]:
    """Yield the lines about one geometry."""
    replays, tests = audit.replays, audit.noise_tests
    yield f"{describe_geometry(audit.geometry)}: {'passed' if audit.passed else 'FAILED'}"
    if replays.pairs == 0:
        yield "  replay   none: what an outside program does cannot be replayed"
    calls = f"{replays.calls} answer{'s' * (replays.calls != 1)} a fit, {replays.pairs} pairs of neighbours"
    moved = f"moved by at most {replays.ratio:.4f} of what is declared ({replays.origin})"
    if replays.pairs:
        yield f"  replay   {calls}: {'FAILED' if replays.violation else moved}"
    if tests:
        worst = min(tests, key=lambda test: test.p_value)
        laws = " and ".join(dict.fromkeys(test.law for test in tests))
        draws = sum(test.draws for test in tests)
        yield f"  noise    {draws:,} draws of {laws} noise: least p = {worst.p_value:.2g} ({worst.test})"
    for level, weights in (("answers", False), ("release", True)):
        if bounds := [bound for bound in audit.lower_bounds if (bound.output == "weights") == weights]:
            yield f"  {level}  {_describe_largest(bounds)}"
    yield from (f"  VIOLATION  {violation}" for violation in audit.violations)


def describe_false_alarms(audits: Sequence[Audit]) -> str:
    """Say how sure the statistics of these audits are, all together; nothing where there were none."""
    rates = [audit.false_alarm for audit in audits if audit.lower_bounds]
    if not rates:
        return ""
    count = "the audit" if len(rates) == 1 else f"any of the {len(rates)} audits"
    return f"The statistics fail {count} of a mechanism that keeps its claim with a probability of at most {sum(rates):.1g}."


def describe_geometry(geometry: Geometry) -> str:
    """Describe a geometry in a few words."""
    groups = "" if not geometry.groups else f" and {len(geometry.groups)} one-hot group{'s' * (len(geometry.groups) > 1)}"
    numeric = f"{geometry.numeric} numeric column{'s' * (geometry.numeric != 1)}{groups}"
    persons = "" if geometry.rows_per_person is None else f", up to {geometry.rows_per_person} rows a person"
    intercept = "an intercept" if geometry.intercept else "no intercept"
    return f"{numeric}, {geometry.scaling}, {intercept}, D = {geometry.dimension}{persons}"


def _describe_largest(bounds: Sequence[EpsilonLowerBound]) -> str:
    """Describe the bound that comes nearest to its claim."""
    bound = max(bounds, key=lambda bound: bound.epsilon / bound.claim.epsilon)
    claim = bound.claim
    answer = "" if bound.output == "weights" else f" for {bound.output!r}"
    mu = f", μ ≥ {bound.mu:.3f} of {claim.mu:.3f}" if bound.mu is not None and claim.mu is not None else ""
    delta = f" at δ = {claim.delta:g}" if claim.delta else ""
    return (
        f"ε ≥ {bound.epsilon:.3f} of {claim.epsilon:.3f} claimed{delta}{answer}{mu}: confidence {100 * bound.confidence:.6g} %, "
        f"{bound.runs:,} runs a world, pair {bound.pair}, by {bound.event}"
    )
