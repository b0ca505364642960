"""Check what the file of a release says of itself: its ε from its ledger, its statement, its versions, its audit's verdict.

Nothing is fitted and no row is read, so anyone who has the file can do it. What a file cannot show is that its ledger lists every
answer that was drawn: that rests on the code that made it, whose digest it names.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpbench.accounting.composition import Guarantee, compose
from dpbench.accounting.costs import LedgerEntry, cost_of
from dpbench.accounting.privacy_loss import GRID_TOLERANCE, epsilon_of_dp_accounting, total
from dpbench.base.errors import Refused
from dpbench.base.version import __version__
from dpbench.registry.code_digest import fit_digest
from dpbench.registry.lookup import registry
from dpbench.releases.release_file import Release
from dpbench.releases.selection_check import check_choice
from dpbench.releases.selection_sentences import candidates_text

MATCH_TOLERANCE = 1e-9
"""Relative tolerance when comparing ε with what this package's accounting computes."""


@dataclass(frozen=True)
class ReleaseCheck:
    """One thing that a release says of itself, and whether it holds."""

    what: str
    holds: bool
    sentence: str

    def line(self) -> str:
        """Return the check as one line of text."""
        return f"{'ok' if self.holds else 'FAILED':<7} {self.what}: {self.sentence}"


def verify(released: Release) -> list[ReleaseCheck]:
    """Return every check of a release; refuse a file whose ledger cannot be read."""
    privacy = released.privacy
    try:
        entries = [_entry(content) for content in privacy["ledger"]["entries"]]
        epsilon, delta = float(privacy["epsilon"]), float(privacy["delta"])
        return list(_checks(released, entries, epsilon, delta))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise Refused(
            f"The privacy section of the release is incomplete or was changed: {type(error).__name__}: {error}."
        ) from None


def _entry(content: Mapping[str, Any]) -> LedgerEntry:
    scale = content["scale"]
    low, high = (scale["smallest"], scale["largest"]) if isinstance(scale, Mapping) else (scale, scale)
    fields = {**content, "cost": cost_of(content["cost"]), "scale": None if low is None else (low, high)}
    return LedgerEntry(**fields)


def _checks(released: Release, entries: Sequence[LedgerEntry], epsilon: float, delta: float) -> Iterator[ReleaseCheck]:
    privacy = released.privacy
    unproven = [entry.query for entry in entries if entry.sound is not True]
    answers = f"{len(entries)} private answer{'s' if len(entries) != 1 else ''}"
    proofs = f"{answers}, each with a proof" if not unproven else f"no proof of {', '.join(unproven)}"
    leaks = [leak["what"] for leak in privacy["ledger"]["leaks"]]
    yield ReleaseCheck("ledger", bool(entries) and not unproven and not leaks, f"leaks {', '.join(leaks)}" if leaks else proofs)
    yield _own_accounting(privacy, entries, epsilon, delta)
    yield _dp_accounting(entries, epsilon, delta)
    if (selection := privacy.get("selection")) is not None:
        chosen = [_entry(content) for content in selection["answers"]]
        holds, sentence = check_choice(released, selection, entries, chosen, delta)
        yield ReleaseCheck("choice", holds, sentence)
    yield _statement(released, epsilon, delta)
    same = privacy["neighbours"] == privacy["ledger"]["neighbours"]
    yield ReleaseCheck("neighbours", same, f"{privacy['neighbours']}; the ledger says {privacy['ledger']['neighbours']}")
    yield ReleaseCheck("noise", privacy["noise"] == "secure", f"{privacy['noise']}")
    vouched_by = privacy["vouched_by"]
    candidates = [] if selection is None else [candidate["vouched_by"] for candidate in selection["candidates"]]
    passed = all(each["audit"] == "replay" and each["passed"] is True for each in (vouched_by, *candidates))
    yield ReleaseCheck(
        "audit", passed, f"{vouched_by['audit']} {'passed' if passed else 'did not pass'}, on up to {vouched_by['n']} rows"
    )
    yield _versions(released, vouched_by)


def _own_accounting(privacy: Mapping[str, Any], entries: Sequence[LedgerEntry], epsilon: float, delta: float) -> ReleaseCheck:
    computed = total(entries, delta) if privacy["accounting"] == "pld" else compose([entry.cost for entry in entries], delta)
    stated = [Guarantee(epsilon, delta), Guarantee(privacy["ledger"]["total"]["epsilon"], privacy["ledger"]["total"]["delta"])]
    holds = all(_close(each.epsilon, computed.epsilon) and each.delta == computed.delta for each in stated)
    return ReleaseCheck(
        "dpbench's accounting", holds, f"{_spelled(computed.epsilon, computed.delta)}; stated {_spelled(epsilon, delta)}"
    )


def _dp_accounting(entries: Sequence[LedgerEntry], epsilon: float, delta: float) -> ReleaseCheck:
    """Check that ε is no smaller than dp-accounting's: closed forms of several answers may be larger."""
    computed = epsilon_of_dp_accounting(entries, delta) if entries else math.inf
    holds = computed <= epsilon * (1 + GRID_TOLERANCE)
    return ReleaseCheck("dp-accounting", holds, f"{_spelled(computed, delta)}, which must be at most the stated {epsilon:.6g}")


def _statement(released: Release, epsilon: float, delta: float) -> ReleaseCheck:
    """Check the numbers that the statement in plain words gives."""
    unit = "rows" if "rows" in released.privacy else "persons"
    size = f"{released.privacy[unit]:,} {unit}"
    words = [f"ε = {epsilon:.6g}", *([f"δ = {delta:.3g}"] if delta else []), size]
    words += [f"among {candidates_text(released.privacy['selection'])}"] if "selection" in released.privacy else []
    words += ["THE ROWS ARE SYNTHETIC"] if released.dataset["synthetic"] else []
    missing = [word for word in words if not re.search(rf"(?<![\w.,]){re.escape(word)}(?![\d])(?!\.\d)", released.statement)]
    return ReleaseCheck("statement", not missing, f"lacks {'; '.join(missing)}" if missing else f"says {'; '.join(words)}")


def _versions(released: Release, vouched_by: Mapping[str, Any]) -> ReleaseCheck:
    """Check that one version made the file and was replayed, and say whether this installation has the same code."""
    made_by = f"dpbench {vouched_by['dpbench']}"
    holds = released.made_by.split(",")[0] == made_by and bool(vouched_by["code"])
    if not holds:
        return ReleaseCheck("versions", False, f"made by {released.made_by or 'nothing named'}, but replayed with {made_by}")
    here = _digest_here(released)
    code = "the same code" if here == vouched_by["code"] else "other code"
    return ReleaseCheck("versions", True, f"made by {released.made_by}; here: dpbench {__version__}, {code} of the mechanism")


def _digest_here(released: Release) -> str:
    """Return the digest of the code that this installation would fit with; empty where it lacks a component."""
    try:
        options = {key: value for key, value in released.mechanism.items() if key != "name"}
        mechanisms = registry().mechanisms_behind(released.mechanism["name"], options)
        return fit_digest([*mechanisms, registry().get("model", released.model["name"])])
    except Refused:
        return ""


def _close(first: Any, second: float) -> bool:
    return isinstance(first, (int, float)) and math.isclose(first, second, rel_tol=MATCH_TOLERANCE)


def _spelled(epsilon: float, delta: float) -> str:
    return f"ε = {epsilon:.6g}" + (f" at δ = {delta:.3g}" if delta else "")
