"""Claims: what a paper asserts about its own results, read from YAML."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dpbench.base.errors import Refused, check_known, unknown
from dpbench.base.options import check_options, option, refuse_unknown_options
from dpbench.contracts.paper import Paper
from dpbench.experiments.checks.catalog import CHECKS
from dpbench.experiments.checks.check import Check
from dpbench.experiments.presets import fault_in, papers, preset_configs, read_mapping, read_presets

NEWEST = ""
"""The name under which a claim without presets finds its sweep: the newest, or the one of ``--sweep``."""


@dataclass(frozen=True)
class Claim:
    """A claim is one assertion, with the presets whose sweeps can decide it and the check that does."""

    paper: str = option("", help="the name of the paper, or of the user's file")
    title: str = option("", help="the title of the paper")
    says: str = option("", help="what is asserted, in a sentence")
    where: str = option("", help="the section or figure that asserts it")
    presets: tuple[str, ...] = option((NEWEST,), help="the presets whose sweeps can decide it; default: the newest sweep")
    at: dict[str, Any] = option({}, help="which of their cells count, by their parameters")
    check: dict[str, Any] = option({}, help="one check by its name, with its options")
    note: str = option("", help="what the claim leaves open, and what was chosen instead")
    not_in_paper: bool = option(False, help="whether the paper does not assert it")

    def __post_init__(self) -> None:
        check_options(self, f"a claim of {self.paper}")
        if not self.says:
            raise Refused(f"The option 'says' of a claim of {self.paper} must be a sentence. Got an empty text.")
        _ = self.parsed_check  # refuses a wrong check now

    @cached_property
    def parsed_check(self) -> Check:
        """The check with its options."""
        if len(self.check) != 1:
            raise Refused(f"A claim of {self.paper} must name one check, as in check: {{below: {{…}}}}. Got {len(self.check)}.")
        name, options = next(iter(self.check.items()))
        check_known("check", [name], CHECKS)
        refuse_unknown_options(CHECKS[name], options or {}, f"the check {name}")
        return CHECKS[name](**(options or {}))


def papers_with_claims() -> dict[str, Paper]:
    """Return the papers that bring claims, by their names."""
    return {paper.name: paper for paper in papers() if paper.claims_file.exists()}


def claims_of(paper: Paper) -> list[Claim]:
    """Return the claims of a paper, in its own order."""
    if not paper.claims_file.exists():
        return []
    claims = _claims(paper.name, paper.title, read_mapping(paper.claims_file))
    check_known("preset", [name for claim in claims for name in claim.presets], preset_configs())
    return claims


def claims_in(path: str) -> list[Claim]:
    """Return the claims of a user's own file, which may have a title."""
    file = Path(path).expanduser()
    content = read_mapping(file)
    return _claims(file.stem, str(content.pop("title", None) or file.stem), content)


def paper_fault(paper: Paper) -> str:
    """Return what is wrong with the files of a paper in one sentence, or an empty text."""
    return fault_in(read_presets, paper) or fault_in(claims_of, paper)


def _claims(paper: str, title: str, content: dict[str, Any]) -> list[Claim]:
    if not isinstance(content.get("claims"), list):
        raise Refused(f"The claims of {paper!r} must be a mapping with a list 'claims'.")
    for key in content:
        if key != "claims":
            raise unknown(f"key of the claims of {paper}", str(key), ("title", "claims"))
    for options in content["claims"]:
        if not isinstance(options, dict):
            raise Refused(f"A claim of {paper} must be a mapping with says, check and more. Got {options!r} instead.")
        refuse_unknown_options(Claim, options, f"a claim of {paper}")
    return [Claim(**{**options, "paper": paper, "title": title}) for options in content["claims"]]
