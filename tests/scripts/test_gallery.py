"""The gallery's rewritten patterns are found or pass as its page says; packages run where they are installed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from script_loader import load_script

from dpbench.audit.subject import AuditSettings

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def gallery() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPBENCH_CACHE", os.environ["DPBENCH_TEST_USERS_CACHE"])
        yield load_script("gallery")


NAMES = [entry.name for entry in load_script("gallery").ENTRIES]


@pytest.mark.parametrize("name", NAMES)
def test_every_entry_is_what_the_page_says(name, gallery) -> None:
    """False alarm 1e-4 for each sound one. A package is measured where its environment exists."""
    (entry,) = (entry for entry in gallery.ENTRIES if entry.name == name)
    finding = gallery.measure(entry, AuditSettings(runs=2_000))
    if finding.skipped:
        pytest.skip(finding.skipped)
    assert finding.broken == (entry.expected == "broken"), list(gallery.describe(entry, finding))


def test_a_pattern_is_forty_lines_at_most_and_says_that_it_is_one(gallery) -> None:
    module = gallery.patterns()
    functions = {name: value for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__}
    source = (ROOT / "examples" / "gallery" / "patterns.py").read_text(encoding="utf-8").split("\ndef ")[1:]
    assert len(source) == len(functions) == 4
    assert max(len(text.splitlines()) for text in source) <= 40
    assert all("The pattern of" in text for text in source)


def test_the_page_is_of_these_entries_and_words_its_claims_carefully(gallery) -> None:
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    for entry in gallery.ENTRIES:
        assert f"### {entry.title}\n" in page
        assert f"`python scripts/gallery.py --only {entry.name}`" in page
        if entry.title.startswith("The pattern of") and "no public file" not in entry.seen:
            assert gallery.READING in entry.seen
    assert "proves nothing" in page


def test_an_entry_that_was_skipped_says_why(gallery) -> None:
    lines = "\n".join(gallery.describe(gallery.ENTRIES[0], gallery.Finding((), skipped="It is not installed.")))
    assert "Skipped: It is not installed." in lines
    assert "Certified" not in lines
