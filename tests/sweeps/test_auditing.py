"""A sweep tries every mechanism before it calls its cells sound, once, and says what it found."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpbench.audit.result import AuditResult
from dpbench.cells.audit_unit import AuditUnit
from dpbench.sweeps import recording, running
from dpbench.sweeps.auditing import Audits
from dpbench.sweeps.hydra.composition import grid_points
from dpbench.sweeps.plan import plan
from dpbench.sweeps.schedule import by_table
from dpbench.tracking.store import open_store
from dpbench.tracking.sweep_files import read_sweep

SMALL = ("dataset=gaussian", "dataset.n=60", "dataset.d=2", "splits.repeats=2", "splits.folds=2", "engine=serial")
FAULT = """
    from dataclasses import dataclass
    from dpbench import Fit, Mechanism, hookimpl
    from dpbench.privacy.noise import laplace

    @dataclass(frozen=True)
    class Short(Mechanism):
        '''Noise for a part of the sensitivity.'''

        name = "short"
        guarantee = "ε-DP, it says"

        def fit(self, curator, problem, budget):
            query = problem.polynomial()
            answer = curator.release(query, laplace(query.l1_bound("tight") * SHARE, budget.epsilon, "wrong"))
            return Fit.good(query.quadratic(answer, curator.n).trimmed().minimiser())

    @hookimpl
    def dpbench_mechanisms():
        return [Short]
"""


@pytest.fixture
def put(drop_in: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Write the mechanism that takes this share of its sensitivity."""

    def write(share: str) -> None:
        drop_in("short", FAULT.replace("SHARE", share))

    return write


@pytest.fixture
def audited(monkeypatch: pytest.MonkeyPatch) -> list[AuditUnit]:
    """The audits that are done, in this process."""
    units: list[AuditUnit] = []
    run = running.run_audit

    def counted(unit: AuditUnit) -> AuditResult:
        units.append(unit)
        return run(unit)

    monkeypatch.setattr(running, "run_audit", counted)
    return units


@pytest.fixture
def refuting(put: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every audit of the mechanism short, whose code is right here, says that it is wrong."""
    put("1")
    run = running.run_audit

    def failing(unit: AuditUnit) -> AuditResult:
        result = run(unit)
        return AuditResult(False, 8, ("It moved.",)) if unit.cell.mechanism.name == "short" else result

    monkeypatch.setattr(running, "run_audit", failing)


def guarantees(home: Any) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for run in home.runs():
        found.setdefault(run.data.params["mechanism"], set()).add(run.data.tags["dpbench.guarantee"])
    return found


def test_a_mechanism_whose_sensitivity_is_too_small_is_refuted_and_not_ranked(home: Any, put: Any, audited: Any) -> None:
    command = ("-m", "mechanism=short,fm,no_privacy", "epsilon=0.5,1", *SMALL, "audit.level=replay")
    put("0.25")
    answer = home.run(*command)
    assert answer.code == 1
    assert [row[-1] for row in answer.table] == ["REFUTED"] * 2 + ["sound"] * 2 + ["NOT PRIVATE"]
    assert "short has the lowest" not in answer.out
    assert "REFUTED in 2 cells (short): " in answer.out
    assert guarantees(home) == {"short": {"refuted"}, "fm": {"sound"}, "no_privacy": {"not_private"}}
    (refuted, *_) = home.runs(guarantee="refuted")
    assert refuted.data.tags["dpbench.sound"] == "false"
    assert "objective" in refuted.data.tags["dpbench.guarantee_why"]
    assert len(audited) == 5
    assert "mlflow.audits.jsonl" in home.files

    again = home.run(*command, "rerun=true")
    assert (again.code, again.counted) == (1, "Cells: 5 run.")
    assert len(audited) == 5, "the second sweep pays nothing"
    resumed = home.run(*command)
    assert (resumed.code, [row[-1] for row in resumed.table]) == (1, [row[-1] for row in answer.table])

    put("1")
    repaired = home.run(*command)
    assert (repaired.code, repaired.counted) == (0, "Cells: 2 run, 3 already recorded (rerun=true runs them again).")
    assert [row[-1] for row in repaired.table] == ["sound"] * 4 + ["NOT PRIVATE"]
    assert [unit.cell.mechanism.name for unit in audited[5:]] == ["short"] * 2, "an edited file is tried again, and no other"


def test_claimed_cells_are_audited_when_asked_and_not_fitted_again(home: Any, audited: Any, refuting: None) -> None:
    command = ("-m", "mechanism=short,fm", *SMALL)
    answer = home.run(*command, "audit.level=none")
    assert (answer.code, [row[-1] for row in answer.table]) == (0, ["claimed"] * 2)
    assert "Claimed in 2 cells (short and fm): Not replayed: audit.level=none." in " ".join(answer.out.split())
    assert audited == []
    assert home.files == ["mlartifacts", "mlflow.db"]
    tried = home.run(*command, "audit.level=replay")
    assert tried.counted.startswith("Cells: 0 run, 2 already recorded")
    assert (tried.code, [row[-1] for row in tried.table]) == (1, ["REFUTED", "sound"])
    assert guarantees(home) == {"short": {"refuted"}, "fm": {"sound"}}
    assert all("Not replayed" not in run.data.tags.get("dpbench.guarantee_why", "") for run in home.runs())
    assert len(home.runs("sweep")) == 2
    later = home.run(*command, "audit.level=none")
    assert [row[-1] for row in later.table] == ["REFUTED", "sound"], "what was found stays recorded"
    assert len(audited) == 2
    assert len(home.runs("sweep")) == 2, "nothing new to say"


@pytest.mark.parametrize("level", ["replay", "none"])
def test_cells_that_another_process_records_meanwhile_keep_what_they_say(
    home: Any, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An audit here vouches for those that claim to be private and were not audited there, and for no other."""
    command = ("-m", "mechanism=fm,cdp_irls,no_privacy", "mechanism.variant=published", *SMALL)
    whole, others = recording.run_cells, []

    def other_records_them(*arguments: Any, **options: Any) -> None:
        if not others:
            others.append(subprocess.run([sys.executable, "-m", "dpbench", *command, f"audit.level={level}"], check=True))
            there.update(guarantees(home))
        whole(*arguments, **options)

    there: dict[str, set[str]] = {}
    monkeypatch.setattr(recording, "run_cells", other_records_them)
    answer = home.run(*command, "audit.level=replay")
    assert answer.counted == "Cells: 0 run, 3 already recorded (rerun=true runs them again)."
    assert there == {"fm": {"sound" if level == "replay" else "claimed"}, "cdp_irls": {"unproven"}, "no_privacy": {"not_private"}}
    assert guarantees(home) == {**there, "fm": {"sound"}}
    assert {row[0]: row[-1] for row in answer.table} == {"fm": "sound", "cdp_irls": "UNPROVEN", "no_privacy": "NOT PRIVATE"}


def test_what_an_audit_finds_later_is_in_every_sweep_that_has_the_cell(home: Any, refuting: None) -> None:
    both = ("-m", "mechanism=short", "seed=0,1", *SMALL, "audit.level=none")
    home.run(*both)
    home.run("mechanism=short", "seed=0", *SMALL, "audit.level=replay")
    with open_store(f"sqlite:///{home.folder / 'mlflow.db'}") as store:
        cells = read_sweep(store).cells
    assert [cell.guarantee for cell in cells] == ["REFUTED", "claimed"], "the sweep is older than the audit"
    again = home.run(*both)
    assert [row[-1] for row in again.table] == ["REFUTED", "claimed"]
    assert len(home.runs("sweep")) == 2, "the report of the first sweep says otherwise, so there is a new one"
    home.run(*both)
    assert len(home.runs("sweep")) == 2


def test_a_cell_that_runs_again_without_an_audit_stays_refuted(home: Any, refuting: None) -> None:
    home.run("-m", "mechanism=short,fm", *SMALL, "audit.level=replay")
    again = home.run("-m", "mechanism=short,fm", *SMALL, "audit.level=none", "rerun=true")
    assert [row[-1] for row in again.table] == ["REFUTED", "claimed"]
    assert "It moved." in " ".join(again.out.split())


@pytest.mark.parametrize(("share", "guarantee"), [("0.25", "refuted"), ("1", "claimed")])
def test_the_fits_of_a_plugin_are_checked_also_where_an_option_names_it(home: Any, put: Any, share: str, guarantee: str) -> None:
    put(share)
    home.run("mechanism=drop_sensitive", "mechanism.base=short", "mechanism.sensitive=[x1]", *SMALL, "audit.level=none")
    assert guarantees(home) == {"drop_sensitive": {guarantee}}


def test_an_audit_that_cannot_be_done_costs_no_cell_and_makes_no_new_sweep_each_time(home: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(running, "run_audit", lambda unit: AuditResult(None, 0, reason="It ended."))
    command = ("-m", "mechanism=fm", *SMALL, "audit.level=replay")
    answer = home.run(*command)
    assert (answer.code, [row[-1] for row in answer.table]) == (0, ["claimed"])
    assert "Claimed in 1 cell (fm): Not replayed: It ended." in " ".join(answer.out.split())
    assert home.run(*command).counted.startswith("Cells: 0 run, 1 already recorded")
    assert len(home.runs("sweep")) == 1


def test_a_claimed_cell_wins_over_no_sound_one_without_a_word(home: Any, put: Any) -> None:
    put("1")
    home.run("-m", "mechanism=short", *SMALL, "audit.level=none")
    mixed = home.run("-m", "mechanism=fm", *SMALL, "audit.level=replay")
    assert mixed.code == 0
    both = home.run("-m", "mechanism=short,fm", *SMALL, "audit.level=none")
    assert [row[-1] for row in both.table] == ["claimed", "sound"]
    text = " ".join(both.out.split())
    assert "no winner is named across the groups" in text
    assert "fm: a proof that was replayed (sound); short: a proof that was not fully tried (claimed)." in text
    assert "has the lowest error" not in text


CLINIC = """
    from dataclasses import dataclass
    import numpy as np
    from dpbench import Column, Dataset, Table, hookimpl

    @dataclass(frozen=True)
    class Clinic(Dataset):
        '''Rows that are not public.'''

        name = "clinic"
        SOURCE

        def load(self, generator):
            x, y = np.random.default_rng(1).uniform(size=(2, 90))
            return Table((Column("x", x.min(), x.max()),), Column("y", y.min(), y.max()), x[:, None], y)

    @hookimpl
    def dpbench_datasets():
        return [Clinic]
"""


def test_a_plugin_s_private_table_is_claimed_until_its_author_says_where_its_bounds_come_from(home: Any, drop_in: Any) -> None:
    def why() -> set[str]:
        return {run.data.tags["dpbench.guarantee_why"] for run in home.runs() if run.data.params["mechanism"] == "fm"}

    doubt = (
        "The dataset clinic does not declare where its bounds, filters and scaling come from (bounds_source). In 2 of 2 columns "
        "with more than 50 values, both bounds are the rows' own extremes, as if they were read from them."
    )
    drop_in("clinic", CLINIC.replace("SOURCE", ""))
    command = ("-m", "mechanism=fm,no_privacy", "dataset=clinic", *SMALL[3:])
    untried = home.run(*command, "audit.level=none")
    assert [row[-1] for row in untried.table] == ["claimed", "NOT PRIVATE"]
    assert why() == {f"Not replayed: audit.level=none. {doubt}"}
    for _ in range(2):
        tried = home.run(*command, "audit.level=replay")
        assert (tried.code, [row[-1] for row in tried.table]) == (0, ["claimed", "NOT PRIVATE"])
        assert why() == {doubt}
        assert len(home.runs("sweep")) == 2, "the second time there is nothing new to say"
    assert f"Claimed in 1 cell (fm): {doubt}" in " ".join(tried.out.split())

    drop_in("clinic", CLINIC.replace("SOURCE", 'bounds_source = "the range of the instrument"'))
    declared = home.run(*command, "audit.level=replay")
    assert [row[-1] for row in declared.table] == ["sound", "NOT PRIVATE"]


def test_cells_that_differ_by_attack_or_repeats_share_an_audit(planned: Any) -> None:
    attacks = planned(*SMALL, "attack=none,membership", "mechanism=fm", "audit.level=replay")
    assert len(attacks.to_run) == 2
    assert len(Audits(attacks, {}).units) == 1
    repeats = planned(*SMALL[:3], "splits.repeats=2,3", "mechanism=fm,dpba", "epsilon=1,2", "audit.level=replay")
    assert len(repeats.to_run) == 8
    assert len(Audits(repeats, {}).units) == 4


def test_a_mechanism_that_names_another_is_audited_again_if_the_other_changes(planned: Any, put: Any) -> None:
    def unit() -> AuditUnit:
        options = ("mechanism.base=short", "dataset.sensitive=[x1]", "audit.level=replay")
        (only,) = Audits(planned(*SMALL, "mechanism=drop_sensitive", *options), {}).units
        return only

    put("0.25")
    first = unit()
    put("1")
    assert unit().digest != first.digest


def test_results_are_shared_by_processes_and_torn_lines_do_no_harm(planned: Any, tmp_path: Path) -> None:
    file = tmp_path / "new" / "store.audits.jsonl"
    plan = planned(*SMALL, "mechanism=fm,dpba,privr", "audit.level=replay")
    audits = Audits(plan, {}, file)
    fm, dpba, privr = audits.units
    for unit in (fm, dpba):
        assert audits.waits(unit.cell)
        audits.done(unit, AuditResult(True, 8))
        assert not audits.waits(unit.cell)
    audits.done(privr, AuditResult(None, 0, reason="Its worker process died."), keep=False)
    with file.open("a") as torn:
        torn.write('{"digest": "')
    (left,) = Audits(plan, {}, file).units
    assert left.digest == privr.digest, "what may end otherwise is tried again"


def test_an_audits_level_is_one_for_the_whole_sweep_and_no_key_of_a_replayed_cell(home: Any, planned: Any) -> None:
    assert home.run("-m", "audit.level=none,replay", *SMALL).refused("'audit.level'", "2 values")
    keys = {level: planned(*SMALL, f"audit.level={level}").cells[0].cell.key for level in ("none", "replay", "component")}
    assert keys["none"] == keys["replay"] != keys["component"]


def test_work_is_done_table_by_table_with_its_audits_first() -> None:
    """An interrupted sweep has whole tables."""
    grid = ["dataset=gaussian", "dataset.n=60,70,80", "mechanism=fm,dpba", "splits.repeats=2", "audit.level=replay"]
    found = plan(grid_points(grid))
    items = by_table(found.units(), Audits(found, {}).units)
    cells = [item.cell if isinstance(item, AuditUnit) else item.cells[0] for item in items]
    assert [cell.dataset.options["n"] for cell in cells] == [60] * 3 + [70] * 3 + [80] * 3
    assert [isinstance(item, AuditUnit) for item in items] == [True, True, False] * 3
