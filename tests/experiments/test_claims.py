"""Claims are read from YAML, and a wrong file is refused in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbench.base.errors import Refused
from dpbench.contracts.paper import Paper
from dpbench.experiments.claims import claims_in, claims_of, paper_fault, papers_with_claims


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- 1", ["must be a mapping"]),
        ("claims: [{says: x, check: {belo: {}}}]", ["no check named 'belo'", "below"]),
        ("claims: [{says: x, check: {below: {agains: 1}}}]", ["agains", "against"]),
        ("claims: [{says: x, check: {below: {}}}]", ["check below needs the option 'against'"]),
        ("claims: [{says: x, check: {}}]", ["one check"]),
        ("claims: [{say: x}]", ["say", "says"]),
        ("claims: [{check: {below: {against: {mechanism: fm}}}}]", ["says"]),
        ("claims: [{says: x, check: {within: {}}}]", ["reference"]),
        ("claims: [1]", ["mapping"]),
        ("claim: []", ["list 'claims'"]),
        ("{", ["YAML"]),
    ],
)
def test_a_wrong_claims_file_is_refused_in_one_sentence(tmp_path: Path, text: str, words: list[str]) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(Refused) as refusal:
        claims_in(str(path))
    assert all(word in str(refusal.value) for word in words)
    assert "\n" not in str(refusal.value)


def paper(folder: Path, claims: str | None, name: str = "mine") -> Paper:
    """A paper of this name with one preset."""
    (folder / "presets").mkdir()
    (folder / "presets" / "fig1.yaml").write_text("preset: {title: Mine}\n", encoding="utf-8")
    if claims is not None:
        (folder / "claims.yaml").write_text(claims, encoding="utf-8")
    return Paper(name, "Mine: a title", folder)


CLAIM = "{says: x, presets: [%s], check: {below: {against: {mechanism: fm}}}}"


def test_a_papers_claims_have_its_title_and_name_presets_that_exist(tmp_path: Path) -> None:
    shipped = next(iter(papers_with_claims().values()))
    name = next(iter(shipped.preset_files))
    (claim,) = claims_of(paper(tmp_path, f"claims: [{CLAIM % name}]"))
    assert (claim.paper, claim.title, claim.presets) == ("mine", "Mine: a title", (name,))


def test_a_claim_about_an_unknown_preset_makes_the_paper_broken(tmp_path: Path) -> None:
    broken = paper(tmp_path, f"claims: [{CLAIM % 'mine/fig9'}]")
    with pytest.raises(Refused, match="no preset named 'mine/fig9'"):
        claims_of(broken)
    assert "mine/fig9" in paper_fault(broken)


def test_a_paper_may_have_no_claims(tmp_path: Path) -> None:
    silent = paper(tmp_path, None)
    assert claims_of(silent) == []
    assert paper_fault(silent) == ""


def test_a_wrong_preset_makes_the_paper_broken(tmp_path: Path) -> None:
    broken = paper(tmp_path, None)
    (tmp_path / "presets" / "fig2.yaml").write_text("preset: [", encoding="utf-8")
    assert "fig2.yaml is not YAML" in paper_fault(broken)


def test_a_users_file_has_a_title_of_its_own_or_its_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("claims: [{says: x, check: {skewed: {}}}]", encoding="utf-8")
    assert claims_in(str(path))[0].title == "mine"
    path.write_text("title: Ours\nclaims: [{says: x, check: {skewed: {}}}]", encoding="utf-8")
    assert claims_in(str(path))[0].title == "Ours"
