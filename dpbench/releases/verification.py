"""Check what the file of a release says of itself: its prices, its ε, its statement, its audit's verdict, its versions, its code.

Nothing is fitted and no row is read, so anyone who has the file can do it. What a file cannot show is that its ledger lists every
answer that was drawn: that rests on the code that made it, whose digest it names.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpbench.accounting.composition import Guarantee, compose
from dpbench.accounting.costs import LedgerEntry, cost_of, noise_cost
from dpbench.accounting.privacy_loss import GRID_TOLERANCE, epsilon_of_dp_accounting, total
from dpbench.base.core_classes import is_core_class
from dpbench.base.errors import Refused
from dpbench.base.version import __version__
from dpbench.registry.code_digest import fit_digest
from dpbench.registry.lookup import registry
from dpbench.releases.release_file import Release
from dpbench.releases.released_intervals import NoIntervals
from dpbench.releases.selection_check import check_choice
from dpbench.releases.selection_sentences import candidates_text

MATCH_TOLERANCE = 1e-9
"""Relative tolerance when comparing ε with what this package's accounting computes."""
VALUE = r"\s*(?:=|:|≤|<=|<|is|of)\s*(\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
"""What follows ε or δ in a sentence that gives its value."""


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
    selection = privacy.get("selection")
    chosen = [] if selection is None else [_entry(content) for content in selection["answers"]]
    yield _prices([*entries, *chosen])
    yield _own_accounting(privacy, entries, epsilon, delta)
    yield _dp_accounting(entries, epsilon, delta)
    if selection is not None:
        holds, sentence = check_choice(released, selection, entries, chosen, delta)
        yield ReleaseCheck("choice", holds, sentence)
    yield _statement(released, epsilon, delta)
    same = privacy["neighbours"] == privacy["ledger"]["neighbours"]
    yield ReleaseCheck("neighbours", same, f"{privacy['neighbours']}; the ledger says {privacy['ledger']['neighbours']}")
    yield ReleaseCheck("noise", privacy["noise"] == "secure", f"{privacy['noise']}")
    vouched_by = privacy["vouched_by"]
    candidates = [] if selection is None else selection["candidates"]
    vouches = [vouched_by, *(candidate["vouched_by"] for candidate in candidates)]
    passed = all(each["audit"] == "replay" and each["passed"] is True for each in vouches)
    yield ReleaseCheck(
        "audit", passed, f"{vouched_by['audit']} {'passed' if passed else 'did not pass'}, on up to {vouched_by['n']} rows"
    )
    yield _versions(released, vouched_by)
    fit = {"mechanism": released.mechanism, "model": released.model, "vouched_by": vouched_by}
    yield _code(released.made_by, [fit, *candidates])


def _prices(entries: Sequence[LedgerEntry]) -> ReleaseCheck:
    """Check that no answer costs less than its noise: secure noise costs what its law charges for its bound."""
    for entry in entries:
        if entry.noise is None and entry.bound is None:
            continue  # not noise on a sum
        due_bound = entry.bound or 0.0
        if (
            entry.sensitivity is not None
            and entry.scale
            and due_bound < entry.sensitivity / entry.scale[0] * (1 - MATCH_TOLERANCE)
        ):
            said = f"{entry.query} has the sensitivity {entry.sensitivity:.6g} and the scale {entry.scale[0]:.6g}"
            return ReleaseCheck("prices", False, f"{said}; its bound is said to be {due_bound:.6g}")
        price = None if entry.bound is None else noise_cost(entry.noise or "", entry.bound)
        if price is None:
            return ReleaseCheck("prices", False, f"{entry.query} has the noise {entry.noise}, whose law has no price here")
        paid, due = entry.cost.as_dict(), price.as_dict()
        if paid.pop("kind") != due.pop("kind") or any(paid[name] < due[name] * (1 - MATCH_TOLERANCE) for name in due):
            bound = f"{entry.noise} noise with the bound {entry.bound:.6g}"
            return ReleaseCheck("prices", False, f"{entry.query} costs {entry.cost.text}; {bound} costs {price.text}")
    return ReleaseCheck("prices", True, "no answer costs less than the law of its noise charges for its bound")


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
    if missing:
        return ReleaseCheck("statement", False, f"lacks {'; '.join(missing)}")
    others = _other_values(released, {"ε|epsilon": f"{epsilon:.6g}", "δ|delta": f"{delta:.3g}"})
    return ReleaseCheck("statement", not others, f"also says {'; '.join(others)}" if others else f"says {'; '.join(words)}")


def _other_values(released: Release, stated: Mapping[str, str]) -> list[str]:
    """Return where the statement gives ε or δ another value. That of a choice also says once what the fit could spend."""
    statement = released.statement
    if isinstance(released.inference, NoIntervals):  # a mechanism's reason may quote an ε of an experiment
        statement = statement.replace(released.inference.reason, "")
    share = {}
    if (selection := released.privacy.get("selection")) is not None:
        chosen = selection["candidates"][selection["chosen"]]
        share = {"ε|epsilon": f"{chosen['fit_epsilon']:.3g}", "δ|delta": f"{chosen['fit_delta']:.3g}"}
    others = []
    for names, value in stated.items():
        found = list(re.finditer(rf"(?<![\w^])(?:{names}){VALUE}", statement, re.IGNORECASE))
        different = [match for match in found if float(match[1]) != float(value)]
        spent = next((match for match in different if names in share and float(match[1]) == float(share[names])), None)
        others += [match[0] for match in different if match is not spent]
    return others


def _versions(released: Release, vouched_by: Mapping[str, Any]) -> ReleaseCheck:
    """Check that one version made the file and was replayed."""
    made_by = f"dpbench {vouched_by['dpbench']}"
    holds = released.made_by.split(",")[0] == made_by and bool(vouched_by["code"])
    replayed = f"; here: dpbench {__version__}" if holds else f", but replayed with {made_by}"
    return ReleaseCheck("versions", holds, f"made by {released.made_by or 'nothing named'}{replayed}")


def _code(made_by: str, fits: Sequence[Mapping[str, Any]]) -> ReleaseCheck:
    """Check that each mechanism and model has here the code that was replayed, where the same versions are installed here.

    Another version has other code, which is no fault: then the digests cannot be compared, and the sentence says so.
    """
    sentence = "the same code is here"
    for fit in fits:
        fitted = f"{fit['mechanism']['name']} on {fit['model']['name']}"
        try:
            options = {key: value for key, value in fit["mechanism"].items() if key != "name"}
            mechanisms = registry().mechanisms_behind(fit["mechanism"]["name"], options)
            classes = [*mechanisms, registry().get("model", fit["model"]["name"])]
        except Refused:
            return ReleaseCheck("code", False, f"{fitted} is unknown here: a name was changed, or a plugin is not installed")
        if fit_digest(classes) == fit["vouched_by"]["code"]:
            continue
        if _same_versions(made_by, classes):
            why = f"other code was replayed than {fitted} has in the same version here"
            return ReleaseCheck("code", False, f"{why}: a name or the digest was changed, or the code was edited")
        sentence = "another version is here, so that the code cannot be compared"
    return ReleaseCheck("code", True, sentence)


def _same_versions(made_by: str, classes: Sequence[type]) -> bool:
    """Return whether dpbench and the plugins of these classes have the versions here that made the file."""
    named = made_by.split(", ")
    plugins = [cls for cls in classes if not is_core_class(cls)]
    return named[0] == f"dpbench {__version__}" and all(registry().version_of(cls) in named[1:] for cls in plugins)


def _close(first: Any, second: float) -> bool:
    return isinstance(first, (int, float)) and math.isclose(first, second, rel_tol=MATCH_TOLERANCE)


def _spelled(epsilon: float, delta: float) -> str:
    return f"ε = {epsilon:.6g}" + (f" at δ = {delta:.3g}" if delta else "")
