"""Verdicts: what recorded sweeps say about a claim."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

from dpbench.experiments.checks.cell_selection import Selection, select_cells
from dpbench.experiments.checks.check import Check
from dpbench.experiments.checks.findings import Finding
from dpbench.experiments.claims import NEWEST, Claim
from dpbench.records.cell_record import CellRecord
from dpbench.records.sweep_record import SweepRecord

State = Literal["holds", "holds in part", "does not hold", "not decided", "not run"]

CHANGED_GRID = "not the preset's own grid"


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

    def count(self, holds: bool | None) -> int:
        return sum(finding.holds is holds for finding in self.findings)

    @property
    def state(self) -> State:
        if self.count(True):
            return "holds" if self.count(True) == len(self.findings) else "holds in part"
        return "does not hold" if self.count(False) else "not decided" if self.findings else "not run"

    @property
    def text(self) -> str:
        """The verdict in a few words, with the changes to the presets that it rests on."""
        return ", ".join([self.counts, *self.changed_grids])

    @property
    def counts(self) -> str:
        """The verdict in a few words, with the number of places behind it."""
        holding, failing, undecided, total = self.count(True), self.count(False), self.count(None), len(self.findings)
        leaning = sum(bool(finding.bounds) and finding.slack > 0 for finding in self.findings)
        text = {
            "holds": f"holds ({total} of {total})",
            "holds in part": f"holds in {holding} of {total}{f', {failing} against' if failing and undecided else ''}",
            "does not hold": f"does not hold ({failing} of {total} against)",
            "not decided": f"not decided ({leaning} of {total} point that way)",
            "not run": "not run",
        }[self.state]
        rest = f", {undecided} not decided" if undecided and self.state != "not decided" else ""
        return f"{text}{rest}{', first look (quick)' if self.quick else ''}"

    @property
    def changed_grids(self) -> list[str]:
        """A phrase for each preset that was changed, with the overrides that changed it."""
        several = len(self.claim.presets) > 1
        return [f"{CHANGED_GRID}{f' ({name})' * several}: {words}" for name, words in self.changes.items()]

    @property
    def datasets(self) -> list[str]:
        """The datasets of the cells, the synthetic ones marked."""
        synthetic = {row.params["dataset"]: row.synthetic for finding in self.findings for row in finding.cells}
        return [f"{name} (SYNTHETIC)" if drawn else name for name, drawn in synthetic.items()]

    @property
    def evidence(self) -> list[str]:
        """The place that speaks most against the claim, and the one that speaks most for it."""
        order = sorted(self.findings, key=lambda finding: ((False, None, True).index(finding.holds), finding.slack))
        return [f"worst: {order[0]}", f"best: {order[-1]}"] if len(order) > 1 else [str(finding) for finding in order]

    @property
    def notes(self) -> list[str]:
        """What a reader must know: cells that are not ranked, what was chosen, and what is missing."""
        rows = [row for finding in self.findings for row in finding.cells if row.private and not row.ranked]
        unranked = "; ".join(sorted({f"{row.params['mechanism']}: {row.guarantee}" for row in rows}))
        return [*filter(None, [unranked and f"not ranked: {unranked}", self.claim.note]), *self.gaps]

    @property
    def presets_to_run(self) -> list[str]:
        """The presets that were not run, or only with changes."""
        return [name for name in (*self.missing, *self.changes) if name != NEWEST]


def judge(claim: Claim, sweeps: Mapping[str, SweepRecord]) -> Verdict:
    """Hold a claim against sweeps by their presets' names. A cell that is in several of them counts once."""
    check, read = claim.parsed_check, {name: sweeps[name] for name in claim.presets if name in sweeps}
    findings = {name: list(check.findings(select_cells(sweep.cells, claim.at))) for name, sweep in read.items()}
    deciding = {name: sweep for name, sweep in read.items() if findings[name]}
    unique: dict[object, Finding] = {}
    for finding in chain.from_iterable(findings.values()):
        unique.setdefault((frozenset(row.run_id or id(row) for row in finding.cells), finding.compared), finding)
    gaps = {name: describe_gap(check, sweep.cells, claim.at) for name, sweep in read.items() if name not in deciding}
    return Verdict(
        claim,
        tuple(unique.values()),
        missing=tuple(name for name in claim.presets if name not in deciding),
        quick=any(sweep.quick for sweep in deciding.values()),
        changes={name: " ".join(sweep.changed) for name, sweep in deciding.items() if sweep.changed and name != NEWEST},
        newest=read.get(NEWEST),
        gaps=tuple(f"the sweep{f' of {name}' * (name != NEWEST)} {gap}" for name, gap in gaps.items()),
    )


def describe_gap(check: Check, rows: Sequence[CellRecord], at: Selection) -> str:
    """Say which cells a check would need and these rows do not have, as in 'has no finished cell with mechanism = dpba'."""
    for selection in ({}, at, *({**at, **getattr(check, option, {})} for option in ("cells", "against", "over", "under"))):
        if not select_cells(rows, selection):
            return f"has no finished cell{f' with {_in_words(selection)}' if selection else ''}"
    if check.along:
        return f"has no such cells that differ only in {check.along}"
    return "has no such cells at the same place: they must differ only in what 'against' names"


def _in_words(selection: Selection) -> str:
    texts = {key: " or ".join(map(str, value)) if isinstance(value, list) else str(value) for key, value in selection.items()}
    return " and ".join(f"{key} {text}" if text.startswith((">", "<")) else f"{key} = {text}" for key, text in texts.items())
