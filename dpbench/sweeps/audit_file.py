"""The file that keeps the results of audits, and what it says about the code that is installed now."""

import hashlib
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dpbench.audit.result import AuditResult
from dpbench.base.errors import Refused
from dpbench.files.download_cache import cache_folder
from dpbench.registry.code_digest import fit_digest
from dpbench.registry.lookup import Registry
from dpbench.tracking.store_uri import DEFAULT_URI, masked, resolved, scheme, sqlite_path

FILE_SUFFIX = ".audits.jsonl"
Verdict = Literal["passed", "refuted", "undecided", "outdated", "not yet"]
VERDICTS: tuple[tuple[Verdict, bool | None], ...] = (("refuted", False), ("passed", True), ("undecided", None))
"""The verdicts of several audits together, the one that decides first, and the outcome that each stands for."""
_DECISIVE = [passed for _, passed in VERDICTS]


@dataclass(frozen=True)
class AuditState:
    """What the kept audits say about a mechanism's code as it is now."""

    verdict: Verdict = "not yet"
    """``undecided``: no audit could be done. ``outdated``: all audits are of other code. ``not yet``: no audit was kept."""
    audits: int = 0
    """How many audits ran the code as it is now."""
    reason: str = ""
    """How the claim was broken, or why no audit could be done."""


def audit_file(uri: str) -> Path:
    """Return the file of the results that are kept for a store: next to a SQLite store, otherwise in the user's cache folder."""
    path = sqlite_path(uri)
    if path is not None:
        return path.with_name(path.stem + FILE_SUFFIX)
    return cache_folder("audits", hashlib.sha256(masked(uri).encode()).hexdigest()[:16] + FILE_SUFFIX)


def default_audit_file() -> Path:
    """Return the file of the store that is used unless a command names another."""
    uri = os.environ.get("MLFLOW_TRACKING_URI") or DEFAULT_URI
    # what makes a URI absolute takes a quarter of a second to import, and a file's path needs none of it
    return audit_file(uri if scheme(uri) == "sqlite" else resolved(uri))


def read_results(file: Path | None) -> dict[str, AuditResult]:
    """Return the results of a file, by digest; a file that does not exist or cannot be read has none.

    Of several results of one audit a refutation counts before any other, and none that could not be done.
    """
    lines: list[str] = []
    if file is not None:
        with suppress(OSError, UnicodeDecodeError):
            lines = file.read_text(encoding="utf-8").splitlines()
    results: dict[str, AuditResult] = {}
    for digest, result in filter(None, map(AuditResult.from_line, lines)):
        if digest not in results or _DECISIVE.index(result.passed) <= _DECISIVE.index(results[digest].passed):
            results[digest] = result
    return results


def audit_states(known: Registry, results: Iterable[AuditResult]) -> dict[str, AuditState]:
    """Return what audits say about each mechanism that they tried, by its name."""
    audits: dict[str, list[tuple[AuditResult, bool]]] = {}
    digests: dict[tuple[Any, ...], str] = {}
    for result in results:
        try:
            classes = (*(known.get("mechanism", name) for name in result.mechanisms), known.get("model", result.model))
        except Refused:  # of a component that is not installed any more, or a line of an older version, without names
            continue
        if classes not in digests:
            digests[classes] = fit_digest(classes)
        audits.setdefault(result.mechanisms[0], []).append((result, digests[classes] == result.code))
    return {name: _state(pairs) for name, pairs in audits.items()}


def _state(audits: Iterable[tuple[AuditResult, bool]]) -> AuditState:
    """Return the state of a mechanism, given its audits and whether each ran the code as it is now."""
    current = [result for result, same_code in audits if same_code]
    for verdict, passed in VERDICTS:
        if decisive := [result for result in current if result.passed is passed]:
            last = decisive[-1]
            return AuditState(verdict, len(current), f"On {last.model}: {last.sentence}" if last.sentence else "")
    return AuditState("outdated")
