"""The claims scorecard: what a paper asserts about its own results, read from YAML and held against recorded sweeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

from dpbench.base.errors import Refused, unknown
from dpbench.base.options import check_options, option, refuse_unknown_options
from dpbench.experiments.checks.catalog import CHECKS
from dpbench.experiments.checks.cell_selection import picked
from dpbench.experiments.checks.check import Check
from dpbench.experiments.checks.intervals import Finding, synthetic
from dpbench.experiments.missing_cells import lack
from dpbench.records.cell_record import CellRecord
from dpbench.records.sweep_record import SweepRecord

NEWEST = ""
"""The name that a claim without presets looks for: the sweep that is asked for, or the newest."""

State = Literal["holds", "holds in part", "does not hold", "not decided", "not run"]


@dataclass(frozen=True)
class Claim:
    """One assertion, the sweeps that can decide it, and the check that does."""

    paper: str = option("", help="the name of the file that it stands in")
    title: str = option("", help="the paper")
    says: str = option("", help="what is asserted, in a sentence of one's own")
    where: str = option("", help="the section or figure that asserts it")
    sweeps: tuple[str, ...] = option((NEWEST,), help="the presets whose cells are looked at; none: the newest sweep")
    at: dict[str, Any] = option({}, help="which of their cells count, by their parameters")
    check: dict[str, Any] = option({}, help="one check by its name, with its options")
    ours: str = option("", help="what the paper leaves open, and what is taken here")
    beyond: bool = option(False, help="whether it is not asserted, but belongs beside what is")

    def __post_init__(self) -> None:
        check_options(self, f"a claim of {self.paper}")
        if not self.says:
            raise Refused(f"The option 'says' of a claim of {self.paper} must be a sentence. Got an empty text.")
        _ = self.made

    @cached_property
    def made(self) -> Check:
        """The check with its options."""
        if len(self.check) != 1:
            raise Refused(f"A claim of {self.paper} must name one check, as in check: {{below: {{…}}}}. Got {len(self.check)}.")
        name, options = next(iter(self.check.items()))
        if name not in CHECKS:
            raise unknown("check", name, CHECKS)
        refuse_unknown_options(CHECKS[name], options or {}, f"the check {name}")
        return CHECKS[name](**(options or {}))


@dataclass(frozen=True)
class Verdict:
    """What the records say about a claim."""

    claim: Claim
    findings: tuple[Finding, ...] = ()
    missing: tuple[str, ...] = ()
    """The presets that were not run, or have no such cells."""
    quick: bool = False
    """Whether some of it comes from a shrunken sweep: a first look."""
    changed: Mapping[str, str] = field(default_factory=dict)
    """The presets of which a changed sweep was taken, and what was asked for in place of their own."""
    newest: SweepRecord | None = None
    """The sweep that was read for a claim without presets."""
    lacking: tuple[str, ...] = ()
    """What the sweeps that were read, but have no such cells, lack."""

    def count(self, holds: bool | None) -> int:
        return sum(finding.holds is holds for finding in self.findings)

    @property
    def state(self) -> State:
        if not self.findings:
            return "not run"
        if self.count(True):
            return "holds" if self.count(True) == len(self.findings) else "holds in part"
        return "does not hold" if self.count(False) else "not decided"

    @property
    def text(self) -> str:
        """The verdict in a few words, and what was changed in the sweeps that it rests on."""
        return ", ".join([*self._said, *self.grids])

    @property
    def brief(self) -> str:
        """The same for a narrow column: that a sweep was changed, and not how."""
        return ", ".join([*self._said, *(["not the preset's own grid"] if self.changed else [])])

    @property
    def _said(self) -> list[str]:
        holding, failing, open_, every = self.count(True), self.count(False), self.count(None), len(self.findings)
        if self.state == "not run":
            return ["not run"]
        pointing = sum(bool(finding.bounds) and finding.slack > 0 for finding in self.findings)
        rest = [f"{failing} against"] if failing and open_ and self.state == "holds in part" else []
        rest += [f"{open_} not decided"] if open_ and self.state != "not decided" else []
        said = {
            "holds": f"holds ({holding} of {every})",
            "holds in part": f"holds in {holding} of {every}",
            "does not hold": f"does not hold ({failing} of {every} against)",
            "not decided": f"not decided ({pointing} of {every} point that way)",
        }
        return [said[self.state], *rest, *(["first look (quick)"] if self.quick else [])]

    @property
    def grids(self) -> list[str]:
        """Which of the sweeps are not the presets' own, and what was changed."""
        several = len(self.claim.sweeps) > 1
        return [f"not the preset's own grid{f' ({name})' * several}: {words}" for name, words in self.changed.items()]

    @property
    def data(self) -> list[str]:
        """The datasets, and which of them are made up."""
        return synthetic([row for finding in self.findings for row in finding.cells])

    @property
    def evidence(self) -> list[str]:
        """The place that speaks most against the claim, and the one that speaks most for it."""
        order = sorted(self.findings, key=lambda finding: ((False, None, True).index(finding.holds), finding.slack))
        if len(order) < 2:
            return [str(finding) for finding in order]
        return [f"worst: {order[0]}", f"best: {order[-1]}"]

    @property
    def notes(self) -> list[str]:
        """What must be known to read it: the standing of the cells, what was chosen here, what is missing."""
        rows = [row for finding in self.findings for row in finding.cells]
        doubtful = {f"{row.params['mechanism']}: {row.guarantee}" for row in rows if row.private and not row.ranked}
        standing = [f"not ranked: {'; '.join(sorted(doubtful))}"] if doubtful else []
        chosen = [self.claim.ours] if self.claim.ours else []
        return [*standing, *chosen, *self.lacking]


def scorecard(sweeps: Mapping[str, SweepRecord], paper: str | None = None) -> list[Verdict]:
    """Every claim of a paper, or of all that are known, held against these sweeps by their presets' names."""
    names = [paper] if paper is not None else papers()
    return [verdict(claim, sweeps) for name in names for claim in claims_of(name)]


def verdict(claim: Claim, sweeps: Mapping[str, SweepRecord]) -> Verdict:
    """One claim held against the sweeps. A cell that stands in several of them counts once."""
    found: dict[object, Finding] = {}
    missing: list[str] = []
    lacking: list[str] = []
    changed: dict[str, str] = {}
    quick = False
    for name in claim.sweeps:
        sweep = sweeps.get(name)
        here = list(claim.made.find(picked(sweep.cells, claim.at))) if sweep else []
        for finding in here:
            found.setdefault((frozenset(map(_identity, finding.cells)), finding.compared), finding)
        if not here:
            missing.append(name)
            lacking += [f"the sweep{f' of {name}' * (name != NEWEST)} {lack(claim.made, sweep.cells, claim.at)}"] if sweep else []
        elif sweep:
            quick = quick or sweep.quick
            changed |= {name: " ".join(sweep.changed)} if sweep.changed and name != NEWEST else {}
    newest = sweeps.get(NEWEST) if NEWEST in claim.sweeps else None
    return Verdict(claim, tuple(found.values()), tuple(missing), quick, changed, newest, tuple(lacking))


def _identity(row: CellRecord) -> object:
    return row.run_id or id(row)


def command_of(name: str) -> str:
    """How to run a preset."""
    return f"python -m dpbench -m experiment={name}"


def papers() -> list[str]:
    """The papers whose claims ship."""
    return sorted(name.removesuffix(".yaml") for name in (path.name for path in _folder().iterdir()) if name.endswith(".yaml"))


def claims_of(paper: str) -> list[Claim]:
    """The claims of a paper, in its own order."""
    if paper not in papers():
        raise unknown("paper with claims", paper, papers())
    found = _read(paper, (_folder() / f"{paper}.yaml").read_text(encoding="utf-8"))
    for name in (name for claim in found for name in claim.sweeps):
        if name not in presets():
            raise unknown("preset", name, presets())
    return found


def claims_in(path: str) -> list[Claim]:
    """The claims of a file of one's own."""
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
        raise Refused(f"The claims file {path!r} cannot be read: {reason}.") from None
    return _read(Path(path).stem, text)


def _folder() -> Traversable:
    return files("dpbench.conf").joinpath("claims")


def _read(paper: str, text: str) -> list[Claim]:
    import yaml

    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise Refused(f"The claims of {paper!r} are no YAML: {' '.join(str(error).split())}.") from None
    if not isinstance(found, dict) or not isinstance(found.get("claims"), list):
        raise Refused(f"The claims of {paper!r} must be a mapping with a list 'claims', and a 'title' if it has one.")
    for name in found:
        if name not in ("title", "claims"):
            raise unknown(f"key of the claims of {paper}", str(name), ("title", "claims"))
    return [_claim(paper, str(found.get("title") or paper), one) for one in found["claims"]]


def _claim(paper: str, title: str, given: Any) -> Claim:
    if not isinstance(given, dict):
        raise Refused(f"A claim of {paper} must be a mapping with says, check and more. Got {given!r} instead.")
    refuse_unknown_options(Claim, given, f"a claim of {paper}")
    return Claim(**{**given, "paper": paper, "title": title})


@cache
def presets() -> list[str]:
    """The presets that ship."""
    folder = files("dpbench.conf").joinpath("experiment")
    return [
        f"{paper.name}/{one.name.removesuffix('.yaml')}"
        for paper in _folders(folder)
        for one in paper.iterdir()
        if one.name.endswith(".yaml")
    ]


def _folders(folder: Traversable) -> Iterable[Traversable]:
    return (path for path in folder.iterdir() if path.is_dir())
