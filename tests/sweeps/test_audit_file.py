"""The file of audits lies next to its store, and says how the audits of the installed code ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dpbench.audit.result import AuditResult
from dpbench.registry.code_digest import fit_digest
from dpbench.registry.lookup import registry
from dpbench.sweeps.audit_file import AuditState, audit_file, audit_states, default_audit_file, read_results


def test_a_store_elsewhere_keeps_its_results_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPBENCH_CACHE", str(tmp_path / "cache"))
    assert audit_file(f"sqlite:///{tmp_path / 'some.db'}") == tmp_path / "some.audits.jsonl"
    remote = [audit_file(f"http://me:{word}@host:5000") for word in ("a", "b")]
    assert remote[0] == remote[1], "a password names no file"
    assert remote[0].is_relative_to(tmp_path / "cache")


def test_the_file_is_that_of_the_store_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert default_audit_file() == Path("mlflow.audits.jsonl")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/other.db")
    assert default_audit_file() == tmp_path / "other.audits.jsonl"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://host:5000/")
    assert default_audit_file() == audit_file("http://host:5000")


def result(passed: bool | None, code: str | None = None, **more: Any) -> AuditResult:
    """The result of an audit of fm on linear: of the code as it is now, unless another digest is given."""
    digest = code or fit_digest([registry().get("mechanism", "fm"), registry().get("model", "linear")])
    return AuditResult(passed, 10, mechanisms=("fm",), model="linear", code=digest, **more)


@pytest.mark.parametrize(
    ("results", "state"),
    [
        ([], None),
        ([(True, None), (True, None)], AuditState("passed", 2)),
        ([(False, None), (True, None)], AuditState("refuted", 2, "On linear: It moved.")),
        ([(None, None)], AuditState("undecided", 1, "On linear: No claim.")),
        ([(True, "of other code")], AuditState("outdated")),
        ([(False, "of other code"), (True, None)], AuditState("passed", 1)),
    ],
)
def test_one_refuted_audit_of_the_present_code_decides(results: list[tuple[bool | None, str | None]], state: Any) -> None:
    sentences: dict[bool | None, dict[str, Any]] = {
        True: {},
        False: {"violations": ("It moved.",)},
        None: {"reason": "No claim."},
    }
    made = [result(passed, code, **sentences[passed]) for passed, code in results]
    assert audit_states(registry(), made).get("fm") == state


def test_of_several_results_of_one_audit_a_refutation_counts_first(tmp_path: Path) -> None:
    file = tmp_path / "some.audits.jsonl"
    outcomes = {"one": (False, True, None), "two": (None, True, None), "three": (None, None)}
    lines = [result(passed).as_line(digest) for digest, many in outcomes.items() for passed in many]
    file.write_text("".join(lines))
    assert {digest: kept.passed for digest, kept in read_results(file).items()} == {"one": False, "two": True, "three": None}


def test_audits_of_what_is_not_installed_and_lines_of_an_older_version_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "store.audits.jsonl"
    gone = AuditResult(True, 10, mechanisms=("gone",), model="linear", code="c0de")
    file.write_text(gone.as_line("a") + '{"digest": "b", "passed": true, "n": 10, "violations": []}\n')
    results = read_results(file)
    assert list(results) == ["a", "b"]
    assert audit_states(registry(), results.values()) == {}


def test_a_file_that_does_not_exist_has_no_results(tmp_path: Path) -> None:
    assert read_results(tmp_path / "none") == read_results(None) == {}
