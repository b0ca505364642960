"""Run the checks of a component, one by one: a failing check leaves the others alone, unless they need it."""

import time
from collections.abc import Callable, Iterator
from typing import Any

from dpbench.base.errors import described
from dpbench.base.one_thread import one_thread
from dpbench.privacy.replay import Violation
from dpbench.testing.checks import Failure, LawCheck, NotApplicable
from dpbench.testing.cost import cost_of
from dpbench.testing.findings import Findings, LawOutcome
from dpbench.testing.kinds import case_of, checks_of_kind, kind_of


def check(component: Any) -> Findings:
    """Run all checks of a component: a class, which is checked with its default options, or an object."""
    kind = kind_of(component)
    found = tuple(run_checks(component))
    cost = cost_of(kind, case_of(component)) if all(finding.state != "failed" for finding in found) else {}
    return Findings(kind, component.name, found, cost)


def run_checks(component: Any) -> Iterator[LawOutcome]:
    """Yield the outcome of each check."""
    with one_thread():
        case, missing = None, ""
        reasons: dict[str, str] = {}  # why no check that comes after this one would say anything new
        for each in checks_of_kind(kind_of(component)):
            before = missing or next((reasons[name] for name in each.after if name in reasons), "")
            if before:
                reasons[each.name] = before
                yield LawOutcome(each.name, each.law, "not applicable", before)
                continue
            try:
                case = case_of(component) if case is None else case
                finding = run_check(each, case, component)
            except Exception as error:  # noqa: BLE001  a class whose objects cannot be made
                finding = LawOutcome(each.name, each.law, "failed", f"It cannot be built: {described(error)}.", each.advice)
            if finding.state in ("failed", "expected failure"):
                reasons[each.name] = f"{each.name!r} failed"
            if each.needed and finding.state != "ok":
                missing = f"{each.name!r} failed" if finding.state == "failed" else finding.text
            yield finding


def run_check(check: LawCheck, case: Any, component: Any) -> LawOutcome:
    """Run one check, and compare its outcome with what the component declares."""
    start = time.process_time()
    outcome = _outcome_of(check.run, case)
    seconds = time.process_time() - start
    expected = getattr(component, "expected_failures", {}).get(check.name, "")
    if isinstance(outcome, NotApplicable):
        return LawOutcome(check.name, check.law, "not applicable", str(outcome), seconds=seconds)
    if outcome and expected:
        return LawOutcome(check.name, check.law, "expected failure", expected, seconds=seconds)
    if expected:
        advice = f"Remove {check.name!r} from expected_failures."
        return LawOutcome(check.name, check.law, "failed", "It was expected to fail, but the law holds.", advice, seconds)
    if outcome is None:
        return LawOutcome(check.name, check.law, "ok", seconds=seconds)
    return LawOutcome(check.name, check.law, "failed", str(outcome), outcome.advice or check.advice, seconds)


def _outcome_of(run: Callable[[Any], None], case: Any) -> Failure | NotApplicable | None:
    """Return how a law is broken, or that it does not apply; None if it holds."""
    try:
        run(case)
    except (Failure, NotApplicable) as outcome:
        return outcome
    except Violation as violation:
        return Failure(str(violation))
    except (Exception, SystemExit) as error:  # noqa: BLE001  a plugin may raise anything
        return Failure(f"It ends with an error: {described(error)}.")
    return None
