"""Claims: what a paper asserts about its own results, read from YAML, and the verdict of recorded sweeps on it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, Literal

from dpbench.base.errors import Refused, check_known, unknown
from dpbench.base.options import check_options, option, refuse_unknown_options
from dpbench.base.user_path import user_path
from dpbench.contracts.paper import Paper
from dpbench.experiments.checks import comparisons, curve_shapes, trends
from dpbench.experiments.checks.cell_selection import Selection, select_cells, setting_key
from dpbench.experiments.checks.check import Check, Finding, name_of
from dpbench.experiments.presets import fault_in, papers, preset_configs, read_mapping, read_presets
from dpbench.records.budget_free import copies, spread
from dpbench.records.cell_record import CellRecord
from dpbench.records.sweep_record import SweepRecord

NEWEST = ""
"""The name under which a claim without presets finds its sweep: the newest, or the one of ``--sweep``."""
State = Literal["holds", "holds in part", "does not hold", "not decided", "not testable", "not run"]

CHECKS: Mapping[str, type[Check]] = {
    name_of(check): check for check in (*comparisons.CHECKS, *trends.CHECKS, *curve_shapes.CHECKS)
}
"""The checks that a claim can name."""
DATA_TITLES = {"on real tables": False, "on synthetic tables": True}
"""The kinds of tables that are judged apart, by the titles of their verdicts, and whether their rows were drawn."""
CHANGED_GRID = "not the preset's own grid"


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
    precondition: dict[str, Any] | None = option(
        None, help="one check that must hold at a place before the claim can be tested there"
    )
    note: str = option("", help="what the claim leaves open, and what was chosen instead")
    together: bool = option(False, help="whether cells of one preset are compared with cells of another")
    not_in_paper: bool = option(False, help="whether the paper does not assert it")

    def __post_init__(self) -> None:
        check_options(self, f"a claim of {self.paper}")
        if not self.says:
            raise Refused(f"The option 'says' of a claim of {self.paper} must be a sentence. Got an empty text.")
        _ = self.parsed_check, self.parsed_precondition  # refuses wrong checks now

    @cached_property
    def parsed_check(self) -> Check:
        """The check with its options."""
        return self._parsed(self.check, "check")

    @cached_property
    def parsed_precondition(self) -> Check | None:
        """The check of the precondition with its options, if the claim has one."""
        return None if self.precondition is None else self._parsed(self.precondition, "precondition")

    def _parsed(self, named: Mapping[str, Any], key: str) -> Check:
        if len(named) != 1:
            raise Refused(f"A claim of {self.paper} must name one check, as in {key}: {{below: {{…}}}}. Got {len(named)}.")
        name, options = next(iter(named.items()))
        check_known("check", [name], CHECKS)
        refuse_unknown_options(CHECKS[name], options or {}, f"the check {name}")
        return CHECKS[name](**(options or {}))


@dataclass(frozen=True)
class Verdict:
    """A verdict is what the records say about a claim."""

    claim: Claim
    findings: tuple[Finding, ...] = ()
    missing: tuple[str, ...] = ()
    """The presets that were not run, or have no such cells."""
    quick: bool = False
    """Whether some of it comes from a ``quick=true`` sweep: a first look."""
    changes: Mapping[str, str] = field(default_factory=dict)
    """For each preset of which only a changed sweep is recorded, the overrides that changed it."""
    newest: SweepRecord | None = None
    """The sweep that was read for a claim without presets."""
    gaps: tuple[str, ...] = ()
    """Which cells are missing from the sweeps that were read but could not decide anything."""

    @property
    def tested(self) -> list[Finding]:
        """The findings of the places where the claim can be tested: where its precondition does not fail."""
        return [finding for finding in self.findings if finding.testable]

    @property
    def by_data(self) -> "dict[str, Verdict]":
        """The verdicts on real tables and on synthetic ones, by a title; tables of neither kind have none."""
        parts = {title: tuple(row for row in self.findings if row.synthetic is drawn) for title, drawn in DATA_TITLES.items()}
        return {title: replace(self, findings=findings) for title, findings in parts.items() if findings}

    def count(self, holds: bool | None) -> int:
        return sum(finding.holds is holds for finding in self.tested)

    @property
    def state(self) -> State:
        if self.count(True):
            return "holds" if self.count(True) == len(self.tested) else "holds in part"
        if self.tested:
            return "does not hold" if self.count(False) else "not decided"
        return "not testable" if self.findings else "not run"

    @property
    def text(self) -> str:
        """The verdict in a few words, with the changes to the presets that it rests on."""
        return ", ".join([self.counts, *self.changed_grids])

    @property
    def counts(self) -> str:
        """The verdict in a few words, with the number of places behind it."""
        holding, failing, undecided, total = self.count(True), self.count(False), self.count(None), len(self.tested)
        leaning = sum(bool(finding.bounds) and finding.slack > 0 for finding in self.tested)
        untested = len(self.findings) - total
        text = {
            "holds": f"holds ({total} of {total})",
            "holds in part": f"holds in {holding} of {total}{f', {failing} against' if failing and undecided else ''}",
            "does not hold": f"does not hold ({failing} of {total} against)",
            "not decided": f"not decided ({leaning} of {total} point that way)",
            "not testable": f"not testable here ({untested} of {untested})",
            "not run": "not run",
        }[self.state]
        rest = f", {undecided} not decided" if undecided and self.state != "not decided" else ""
        rest += f", {untested} not testable" if untested and total else ""
        return f"{text}{rest}{', first look (quick)' if self.quick else ''}"

    @property
    def changed_grids(self) -> list[str]:
        """A phrase for each preset that was changed, with the overrides that changed it."""
        return [f"{CHANGED_GRID}{f' ({name})' * (len(self.claim.presets) > 1)}: {words}" for name, words in self.changes.items()]

    @property
    def datasets(self) -> list[str]:
        """The datasets of the cells, the synthetic ones marked."""
        synthetic = {row.params["dataset"]: row.synthetic for finding in self.findings for row in finding.cells}
        return [f"{name} (SYNTHETIC)" if drawn else name for name, drawn in synthetic.items()]

    @property
    def evidence(self) -> list[str]:
        """The place that speaks most against the claim, and the one that speaks most for it."""
        order = sorted(self.tested, key=lambda finding: ((False, None, True).index(finding.holds), finding.slack))
        lines = [f"worst: {order[0]}", f"best: {order[-1]}"] if len(order) > 1 else [str(finding) for finding in order]
        remarks = sum(bool(finding.remark) for finding in order)
        ends = f"{remarks} of {len(order)} answers depend on where the grid ends" if remarks and len(order) > 1 else ""
        return [*lines, *filter(None, [ends]), *self._reasons]

    @property
    def _reasons(self) -> list[str]:
        """Why places are not testable or not decided: the ones that come closest to the precondition, and the farthest."""
        lines = []
        for holds, text in ((False, "not testable"), (None, "precondition not decided")):
            failed = [p for p in (finding.precondition for finding in self.findings) if p is not None and p.holds is holds]
            needed = {f"{bound.side} {bound.limit:g}" for finding in failed for bound in finding.bounds}
            needs = f" (needed: {', '.join(sorted(needed))})" if needed else ""
            # a condition about a fit without privacy has the same numbers at every ε: they are named once
            by_slack = {finding.slack: finding for finding in sorted(failed, key=lambda finding: finding.slack, reverse=True)}
            ends = {min(by_slack), max(by_slack)} if by_slack else set()
            lines += [f"{text}: {by_slack[slack]}{needs}" for slack in sorted(ends)]
        return lines

    @property
    def notes(self) -> list[str]:
        """What a reader must know: cells that are not ranked, what was chosen, and what is missing."""
        rows = [row for finding in self.findings for row in finding.cells if row.private and not row.ranked]
        unranked = "; ".join(sorted({f"{row.params['mechanism']}: {row.guarantee}" for row in rows}))
        return [*filter(None, [unranked and f"not ranked: {unranked}", self.claim.note]), *self.gaps]


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
    file = user_path(path)
    content = read_mapping(file)
    return _claims(file.stem, str(content.pop("title", None) or file.stem), content)


def paper_fault(paper: Paper) -> str:
    """Return what is wrong with the files of a paper in one sentence, or an empty text."""
    return fault_in(read_presets, paper) or fault_in(claims_of, paper)


def judge(claim: Claim, sweeps: Mapping[str, SweepRecord]) -> Verdict:
    """Hold a claim against sweeps by their presets' names. A cell that is in several of them counts once."""
    check, read = claim.parsed_check, {name: sweeps[name] for name in claim.presets if name in sweeps}
    if claim.together:
        # the finding belongs to all of the presets: without one of them there is none
        pool = {cell.run_id or id(cell): cell for sweep in read.values() for cell in sweep.cells}
        shared = findings_of(claim, select_cells(list(pool.values()), claim.at)) if len(read) == len(claim.presets) else []
        findings = dict.fromkeys(read, shared)
    else:
        findings = {name: findings_of(claim, select_cells(sweep.cells, claim.at)) for name, sweep in read.items()}
    deciding = {name: sweep for name, sweep in read.items() if findings[name]}
    unique: dict[object, Finding] = {}
    for finding in chain.from_iterable(findings.values()):
        unique.setdefault((frozenset(row.run_id or id(row) for row in finding.cells), finding.compared), finding)
    gaps = {name: describe_gap(check, sweep.cells, claim.at) for name, sweep in read.items() if name not in deciding}
    return Verdict(
        claim,
        tuple(unique.values()),
        missing=tuple(name for name in claim.presets if name != NEWEST and name not in deciding),
        quick=any(sweep.quick for sweep in deciding.values()),
        changes={name: " ".join(sweep.changed) for name, sweep in deciding.items() if sweep.changed and name != NEWEST},
        newest=read.get(NEWEST),
        gaps=tuple(f"the sweep{f' of {name}' * (name != NEWEST)} {gap}" for name, gap in gaps.items()),
    )


def findings_of(claim: Claim, rows: Sequence[CellRecord]) -> list[Finding]:
    """Return what each place says about a claim; a place whose precondition does not hold carries that finding."""
    findings = list(claim.parsed_check.findings(rows))
    if claim.parsed_precondition is None:
        return findings
    conditions: dict[object, list[Finding]] = {}
    for condition in claim.parsed_precondition.findings(spread(rows)):
        for row in condition.cells:
            conditions.setdefault(setting_key(row), []).append(condition)
    return [_with_precondition(finding, conditions, rows) for finding in findings]


def _with_precondition(finding: Finding, conditions: Mapping[object, Sequence[Finding]], rows: Sequence[CellRecord]) -> Finding:
    """Return the finding with the precondition at its setting that fails, or else is not decided, if one does not hold."""
    settings = dict.fromkeys(setting_key(row) for cell in finding.cells for row in (cell, *copies(cell, rows)))
    at_setting = [condition for setting in settings for condition in conditions.get(setting, ())]
    if not at_setting:
        return replace(finding, precondition=Finding(finding.place, (), (), "no cell for the precondition"))
    worst = min(at_setting, key=lambda condition: (False, None, True).index(condition.holds))
    return finding if worst.holds else replace(finding, precondition=worst)


def describe_gap(check: Check, rows: Sequence[CellRecord], at: Selection) -> str:
    """Say which cells a check would need and these rows do not have, as in 'has no finished cell with mechanism = dpba'."""
    for selection in ({}, at, *({**at, **getattr(check, part, {})} for part in ("cells", "against", "over", "under"))):
        if not select_cells(rows, selection):
            return f"has no finished cell{f' with {_in_words(selection)}' if selection else ''}"
    if check.along:
        return f"has no such cells that differ only in {check.along}"
    return "has no such cells at the same place: they must differ only in what 'against' names"


def _claims(paper: str, title: str, content: dict[str, Any]) -> list[Claim]:
    if not isinstance(content.get("claims"), list):
        raise Refused(f"The claims of {paper!r} must be a mapping with a list 'claims'.")
    if others := [str(key) for key in content if key != "claims"]:
        raise unknown(f"key of the claims of {paper}", others[0], ("title", "claims"))
    for options in content["claims"]:
        if not isinstance(options, dict):
            raise Refused(f"A claim of {paper} must be a mapping with says, check and more. Got {options!r} instead.")
        refuse_unknown_options(Claim, options, f"a claim of {paper}")
    return [Claim(**{**options, "paper": paper, "title": title}) for options in content["claims"]]


def _in_words(selection: Selection) -> str:
    texts = {key: " or ".join(map(str, value)) if isinstance(value, list) else str(value) for key, value in selection.items()}
    return " and ".join(f"{key} {text}" if text.startswith((">", "<")) else f"{key} = {text}" for key, text in texts.items())
