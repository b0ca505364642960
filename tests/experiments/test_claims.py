"""A claim holds, does not hold, or is left open by what is recorded, and says which; the papers' claims can all be asked."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpbench.__main__ import main
from dpbench.base.errors import Refused
from dpbench.base.options import options_of
from dpbench.experiments.checks.catalog import CHECKS
from dpbench.experiments.checks.intervals import Finding
from dpbench.experiments.claims import NEWEST, Claim, Verdict, claims_in, claims_of, papers, presets, scorecard, verdict
from dpbench.experiments.scorecard import markdown, print_scorecard, write_csv
from dpbench.records.cell_record import CellRecord, DetailInMemory
from dpbench.records.preset import Preset
from dpbench.records.sweep_record import SweepRecord
from dpbench.tracking.store import open_store

NOISE = np.random.default_rng(1).normal(size=(8, 40))
"""Standard normal noise, the same in every test: eight cells of 40 repeats."""


def cell(
    mechanism: str,
    values: Any = (),
    name: str = "utility/rmse",
    *,
    repeats: int | None = None,
    more: dict[str, Any] | None = None,
    **params: Any,
) -> CellRecord:
    """A cell with these values of a metric, one a repeat, and more metrics beside it; a number alone is one that has no runs."""
    known = {name: values, **(more or {})}
    runs = {key: np.asarray(value, dtype=float)[:repeats] for key, value in known.items() if np.ndim(value)}
    metrics = {key: float(value) for key, value in known.items() if not np.ndim(value)}
    metrics |= {f"{key}_median": float(np.median(value)) for key, value in runs.items()}
    count = max((len(value) for value in runs.values()), default=0)
    runs |= {"repeat": np.arange(count), "fold": np.zeros(count, dtype=int)}
    given = {key.replace("__", "."): str(value) for key, value in params.items()}
    base = {"mechanism": mechanism, "model": "linear", "dataset": "wine", "attack": "none", "epsilon": "1", "splits": "s"}
    tags = {"dpbench.private": "true", "dpbench.sound": "true", "dpbench.synthetic": "false"}
    return CellRecord("run", {**base, **given}, tags, metrics, "rmse", detail=replace(DetailInMemory(), runs=runs))


def level(mean: float, spread: float = 0.01, index: int = 0) -> np.ndarray:
    return mean + spread * NOISE[index]


def findings(check: str, options: dict[str, Any], rows: Sequence[CellRecord]) -> list[Finding]:
    return list(CHECKS[check](**options).find(rows))


def answer(check: str, options: dict[str, Any], rows: Sequence[CellRecord]) -> bool | None:
    found = findings(check, options, rows)
    assert len(found) == 1, found
    return found[0].holds


def along(key: str, points: Sequence[Any], values: Sequence[Any], mechanism: str = "a", **more: Any) -> list[CellRecord]:
    return [cell(mechanism, value, **{key: point}, **more) for point, value in zip(points, values, strict=True)]


A, B, C = {"mechanism": "a"}, {"mechanism": "b"}, {"mechanism": "c"}
AB = {"cells": A, "against": B}
ENDS = (0.1, 1, 10)


def at_epsilons(*values: Any, **more: Any) -> list[CellRecord]:
    return along("epsilon", ENDS[: len(values)], values, **more)


def against_reference(values: Any, reference: Any, name: str = "reference/no_privacy/rmse") -> CellRecord:
    return cell("a", values, more={name: reference})


def by_rows(values: Sequence[float], mechanism: str, spread: float = 0.01) -> list[CellRecord]:
    """A log-likelihood for each number of rows: the mean predictor has 0, the non-private fit 1."""
    beside = {"reference/mean_predictor/rmse": np.zeros(40), "reference/no_privacy/rmse": np.ones(40)}
    cells = [level(value, spread, index) for index, value in enumerate(values)]
    return along("dataset__n", (100, 1000, 10000), cells, mechanism, more=beside)


def widening(last: float, spread: float = 0.001) -> list[CellRecord]:
    own = at_epsilons(level(0.1, spread, 0), level(0.1, spread, 1))
    return own + at_epsilons(level(0.2, spread, 2), level(last, spread, 3), mechanism="b")


def pair(first: Any, other: Any) -> list[CellRecord]:
    return [cell("a", first), cell("b", other)]


WIDE, NARROW = level(0.5, 0.1, 1), level(0.5, 0.001, 2)
CURVE = {"cells": A, "along": "epsilon"}
ALPHA = {"cells": A, "along": "mechanism.alpha"}
NEEDS = {"cells": A, "against": B, "along": "dataset.n"}
TIME = {"name": "time/fit_seconds"}
SHAPE = (0.1, 0.5, 0.9)


def shaped(*values: float, spread: float = 0.01) -> list[CellRecord]:
    return along("mechanism__alpha", SHAPE, [level(value, spread, index) for index, value in enumerate(values)])


CASES: dict[str, tuple[dict[str, Any], list[CellRecord], list[CellRecord], list[CellRecord]]] = {
    # the check's options, and cells for which it holds, does not hold, and cannot be decided
    "below": (AB, pair(level(0.1), level(0.2)), pair(level(0.2), level(0.1)), pair(level(0.1), level(0.1, index=1))),
    "above": (AB, pair(level(0.2), level(0.1)), pair(level(0.1), level(0.2)), pair(level(0.1), level(0.1, index=1))),
    "between": (
        {"cells": A, "over": B, "under": C},
        [*pair(level(0.2), level(0.1, index=1)), cell("c", level(0.3, index=2))],
        [*pair(level(0.2), level(0.1, index=1)), cell("c", level(0.15, index=2))],
        [*pair(level(0.2), level(0.1, index=1)), cell("c", level(0.2, index=2))],
    ),
    "within": (
        {**AB, "ratio": 1.05},
        pair(level(1.04, 0.001), level(1, 0.001, 1)),
        pair(level(1.06, 0.001), level(1, 0.001, 1)),
        pair(level(1.05, 0.1), level(1, 0.1, 1)),
    ),
    "near": (
        {**AB, "ratio": 1.05},
        pair(level(0.97, 0.001), level(1, 0.001, 1)),
        pair(level(0.94, 0.001), level(1, 0.001, 1)),
        pair(level(0.952, 0.1), level(1, 0.1, 1)),
    ),
    "faster": (
        {**AB, "times": 10},
        [cell("a", 1.0, **TIME), cell("b", 13.0, **TIME)],
        [cell("a", 1.0, **TIME), cell("b", 8.0, **TIME)],
        [cell("a", 1.0, **TIME), cell("b", 11.0, **TIME)],
    ),
    "wider": (AB, pair(WIDE, NARROW), pair(NARROW, WIDE), pair(WIDE, WIDE + 1e-6 * NOISE[3])),
    "skewed": (
        {"cells": A, "times": 1.5},
        [cell("a", [*[1.0] * 30, *[9.0] * 10])],
        [cell("a", level(1, 0.01))],
        [cell("a", [*[1.0] * 38, *[15.0] * 2])],
    ),
    "falls": (
        CURVE,
        at_epsilons(level(0.3), level(0.2, index=1), level(0.1, index=2)),
        at_epsilons(level(0.3), level(0.1, index=1), level(0.2, index=2)),
        at_epsilons(level(0.3), level(0.3, index=1), level(0.3, index=2)),
    ),
    "rises": (
        CURVE,
        at_epsilons(level(0.1), level(0.2, index=1), level(0.3, index=2)),
        at_epsilons(level(0.1), level(0.3, index=1), level(0.2, index=2)),
        at_epsilons(level(0.3), level(0.3, index=1), level(0.3, index=2)),
    ),
    "approaches": (
        {**CURVE, "ratio": 1.05},
        [
            replace(row, params={**row.params, "epsilon": e})
            for row, e in ((against_reference(level(2), level(1)), "1"), (against_reference(level(1.01), level(1)), "9"))
        ],
        [
            replace(row, params={**row.params, "epsilon": e})
            for row, e in ((against_reference(level(2), level(1)), "1"), (against_reference(level(1.2), level(1)), "9"))
        ],
        [
            replace(row, params={**row.params, "epsilon": e})
            for row, e in ((against_reference(level(2), level(1)), "1"), (against_reference(level(1.05, 0.1), level(1)), "9"))
        ],
    ),
    "stable": (
        {**CURVE, "share": 0.05},
        at_epsilons(level(1), level(1.01, index=1), level(1.02, index=2)),
        at_epsilons(level(1), level(1.1, index=1), level(1, index=2)),
        at_epsilons(level(1, 0.1), level(1.05, 0.1, 1), level(1, 0.1, 2)),
    ),
    "settles": (CURVE, at_epsilons(WIDE, NARROW), at_epsilons(NARROW, WIDE), at_epsilons(WIDE, level(0.5, 0.07, 2))),
    "unsettled": (CURVE, at_epsilons(NARROW, WIDE), at_epsilons(WIDE, NARROW), at_epsilons(WIDE, level(0.5, 0.07, 2))),
    "u_shape": (ALPHA, shaped(0.3, 0.1, 0.3), shaped(0.3, 0.2, 0.1), shaped(0.3, 0.3, 0.3)),
    "needs_less": (
        NEEDS,
        [*by_rows((0.2, 0.9, 1), "a"), *by_rows((0, 0.1, 0.9), "b")],
        [*by_rows((0, 0.1, 0.9), "a"), *by_rows((0.2, 0.9, 1), "b")],
        [*by_rows((0.2, 0.5, 1), "a", 0.3), *by_rows((0.2, 0.5, 1), "b", 0.31)],
    ),
    "widens": ({**AB, "along": "epsilon"}, widening(0.4), widening(0.15), widening(0.2, 0.03)),
}


@pytest.mark.parametrize("name", CHECKS)
class TestCheck:
    def test_it_holds_where_it_does(self, name: str) -> None:
        options, holds, _, _ = CASES[name]
        assert answer(name, options, holds) is True

    def test_it_does_not_hold_where_it_does_not(self, name: str) -> None:
        options, _, fails, _ = CASES[name]
        assert answer(name, options, fails) is False

    def test_what_the_numbers_do_not_separate_is_left_open(self, name: str) -> None:
        options, _, _, open_ = CASES[name]
        assert answer(name, options, open_) is None

    def test_few_repeats_decide_nothing(self, name: str) -> None:
        options, holds, _, _ = CASES[name]
        if name in ("faster", "within", "near"):
            return  # one timing has its own margin; Student's t knows how few there are
        few = [
            replace(row, detail=replace(DetailInMemory(), runs={key: values[:3] for key, values in row.detail.runs.items()}))
            for row in holds
        ]
        assert answer(name, options, few) is None

    def test_it_says_nothing_without_cells(self, name: str) -> None:
        assert findings(name, CASES[name][0], []) == []

    def test_failed_cells_do_not_count(self, name: str) -> None:
        options, holds, _, _ = CASES[name]
        assert findings(name, options, [replace(row, state="failed") for row in holds]) == []


class TestDetails:
    def test_one_of_several_repeats_is_no_interval(self) -> None:
        assert answer("within", {**AB, "ratio": 2.0}, pair([1.0], [1.0])) is None

    def test_equal_cells_are_not_below_each_other(self) -> None:
        assert answer("below", AB, pair(level(0.1), level(0.1))) is False

    def test_cells_are_compared_at_the_same_place_only(self) -> None:
        rows = [cell("a", level(0.1), dataset="wine"), cell("b", level(0.2), dataset="adult")]
        assert findings("below", AB, rows) == []

    def test_another_mechanisms_options_are_no_place(self) -> None:
        rows = [cell("a", level(0.1), mechanism__alpha="opt"), cell("b", level(0.2), mechanism__ridge="4")]
        assert answer("below", AB, rows) is True

    def test_options_are_a_place_where_one_of_them_is_compared(self) -> None:
        rows = [
            cell("a", level(i), mechanism__x=x, mechanism__y=y)
            for x, y, i in (("1", "1", 1), ("1", "2", 2), ("2", "1", 3), ("2", "2", 4))
        ]
        found = findings("below", {"cells": {"mechanism.x": 1}, "against": {"mechanism.x": 2}}, rows)
        assert [finding.cells for finding in found] == [(rows[0], rows[2]), (rows[1], rows[3])]

    def test_models_can_be_compared(self) -> None:
        rows = [cell("a", level(0.1), model="linear"), cell("a", level(0.2), model="ridge")]
        found = findings("below", {"cells": {"model": "linear"}, "against": {"model": "ridge"}}, rows)
        assert found[0].holds is True
        assert found[0].compared == "a linear against a ridge"
        assert found[0].place == "wine, ε = 1"

    def test_an_option_that_was_not_swept_is_read_from_the_configuration(self) -> None:
        rows = pair(level(0.1), level(0.2))
        config = {"mechanism": {"name": "a", "alpha": "opt"}}
        rows[0] = replace(rows[0], detail=replace(rows[0].detail, config=config))  # type: ignore[type-var]
        assert answer("below", {"cells": {"mechanism.alpha": "opt"}, "against": B}, rows) is True
        assert findings("below", {"cells": {"mechanism.alpha": "paper"}, "against": B}, rows) == []

    def test_a_value_is_the_same_however_it_is_written(self) -> None:
        rows = [cell("a", level(1), epsilon="1.0"), cell("a", level(1), epsilon="0.1")]
        assert len(findings("skewed", {"cells": {"epsilon": 1}}, rows)) == 1
        assert len(findings("skewed", {"cells": {"epsilon": ">= 0.5"}}, rows)) == 1
        assert len(findings("skewed", {"cells": {"epsilon": [0.1, 1]}}, rows)) == 2

    def test_a_reference_is_a_metric_of_the_same_cell(self) -> None:
        rows = [against_reference(level(1.2), level(1), "reference/mean_predictor/rmse")]
        options = {"cells": A, "reference": "reference/mean_predictor/", "ratio": 1.0}
        assert answer("within", options, rows) is False
        assert answer("within", {**options, "ratio": 1.3}, rows) is True

    def test_the_smallest_sample_may_be_left_out(self) -> None:
        rows = at_epsilons(level(2), level(1, index=1), level(1, index=2))
        assert answer("stable", CURVE, rows) is False
        assert answer("stable", {**CURVE, "leave_out": [0.1]}, rows) is True

    def test_timings_have_a_margin(self) -> None:
        options = {**CURVE, "metric": ["time/fit_seconds"]}
        assert answer("rises", options, at_epsilons(1.0, 2.0, **TIME)) is True
        assert answer("rises", options, at_epsilons(2.0, 1.0, **TIME)) is False
        assert answer("rises", options, at_epsilons(1.0, 1.1, **TIME)) is None
        assert answer("stable", {**options, "share": 0.4}, at_epsilons(1.0, 1.1, **TIME)) is True
        assert answer("stable", {**options, "share": 0.4}, at_epsilons(1.0, 2.0, **TIME)) is False

    def test_nothing_falls_by_more_than_all_of_it(self) -> None:
        options = {**CURVE, "metric": ["time/fit_seconds"]}
        bound = findings("falls", options, at_epsilons(100.0, 1.0, **TIME))[0].bounds[0]
        assert -1 < bound.low < bound.value < bound.high < 0
        assert "(-99.2 to -98.8)" in str(bound)

    def test_a_difference_is_in_the_metrics_own_unit_and_has_the_medians_beside_it(self) -> None:
        # half of the repeats go wrong: the middle of the differences is larger than the other's median
        wild = np.where(np.arange(40) < 19, 1.0, 50.0) + 0.001 * NOISE[0]
        tame = np.where(np.arange(40) < 18, 50.0, 1.0) + 0.001 * NOISE[1]
        for first, other in ((wild, tame), (tame, wild)):
            bound = findings("below", AB, pair(first, other))[0].bounds[0]
            assert (bound.unit, "%" in str(bound)) == ("utility/rmse", False)
            assert str(bound).startswith("rmse differs by ")
            assert f"medians {np.median(first):.3g} against {np.median(other):.3g}" in str(bound)
        lower = findings("below", AB, pair(level(0.1), level(0.3)))[0].bounds[0]
        assert lower.value == pytest.approx(-0.2)
        assert lower.slack == pytest.approx(0.2 / np.median(level(0.3)))

    def test_a_log_likelihood_may_be_negative(self) -> None:
        assert answer("above", AB, pair(level(-1), level(-2))) is True
        assert answer("u_shape", ALPHA, shaped(-1, -2, -1)) is True
        assert answer("u_shape", ALPHA, shaped(-2, -1, -2)) is False
        assert answer("skewed", {"cells": A, "times": 1.0}, [cell("a", [*[-1.0] * 30, *[-9.0] * 10])]) is None

    def test_a_curve_that_never_arrives_needs_more(self) -> None:
        never, arrives = (0.0, 0.1, 0.2), (0.2, 0.9, 1.0)
        assert answer("needs_less", NEEDS, [*by_rows(arrives, "a"), *by_rows(never, "b")]) is True
        assert answer("needs_less", NEEDS, [*by_rows(never, "a"), *by_rows(arrives, "b")]) is False
        assert answer("needs_less", NEEDS, [*by_rows(never, "a"), *by_rows(never, "b")]) is None

    def test_a_share_of_the_way_is_found_between_two_points(self) -> None:
        rows = [*by_rows((0.0, 1.0, 1.0), "a", 0.0), *by_rows((0.0, 0.0, 1.0), "b", 0.0)]
        bound = findings("needs_less", NEEDS, rows)[0].bounds[0]
        assert bound.value == pytest.approx(0.1)
        assert "316 against 3.16e+03" in bound.what

    def test_a_texts_alpha_is_no_point_of_a_curve(self) -> None:
        rows = [*shaped(0.3, 0.1, 0.3), cell("a", level(9), mechanism__alpha="paper")]
        assert answer("u_shape", ALPHA, rows) is True

    def test_the_same_records_give_the_same_numbers(self) -> None:
        options, rows, _, _ = CASES["wider"]
        assert findings("wider", options, rows) == findings("wider", options, rows)


BELOW = {"below": AB}


def claimed(rows: Sequence[CellRecord], claim: dict[str, Any] | None = None, **more: Any) -> Verdict:
    given = {"paper": "p", "title": "A paper", "says": "A is below B.", "check": BELOW, **(claim or {})}
    return verdict(Claim(**given), {NEWEST: SweepRecord(tuple(rows), "command", **more)})


class TestVerdict:
    def places(self, *differences: float) -> list[CellRecord]:
        return [
            row
            for index, difference in enumerate(differences)
            for row in (cell("a", level(0.2 - difference), epsilon=index + 1), cell("b", level(0.2, index=1), epsilon=index + 1))
        ]

    def test_all_some_and_none(self) -> None:
        assert claimed(self.places(0.1, 0.1)).text == "holds (2 of 2)"
        assert claimed(self.places(0.1, -0.1)).text == "holds in 1 of 2"
        assert claimed(self.places(0.1, -0.1, 0)).text == "holds in 1 of 3, 1 against, 1 not decided"
        assert claimed(self.places(-0.1, -0.1)).text == "does not hold (2 of 2 against)"
        assert claimed(self.places(0.0)).text.startswith("not decided")
        assert claimed([]).text == "not run"

    def test_a_quick_sweep_is_a_first_look(self) -> None:
        assert "first look" in claimed(self.places(0.1), quick=True).text
        assert "first look" not in claimed(self.places(0.1)).text

    def test_the_worst_and_the_best_place_are_named(self) -> None:
        worst, best = claimed(self.places(0.1, 0.05, -0.1)).evidence
        assert worst.startswith("worst: linear on wine, ε = 3")
        assert best.startswith("best: linear on wine, ε = 1")

    def test_synthetic_data_and_cells_that_are_not_ranked_are_said(self) -> None:
        rows = self.places(0.1)
        tags = {**rows[0].tags, "dpbench.synthetic": "true", "dpbench.leaks": "bounds"}
        found = claimed([replace(row, tags=tags) for row in rows])
        assert found.data == ["wine (SYNTHETIC)"]
        assert any("a: LEAKS bounds" in note for note in found.notes)

    def test_at_limits_the_cells(self) -> None:
        assert claimed(self.places(0.1, -0.1), {"at": {"epsilon": "<= 1"}}).text == "holds (1 of 1)"

    def test_a_cell_that_stands_in_two_sweeps_counts_once(self) -> None:
        rows = [replace(row, run_id=str(index)) for index, row in enumerate(self.places(0.1, 0.1))]
        sweep = SweepRecord(tuple(rows), "command")
        claim = Claim(paper="p", says="s", sweeps=["x", "y", "z"], check=BELOW)  # type: ignore[arg-type]
        found = verdict(claim, {"x": sweep, "y": sweep})
        assert (found.text, found.missing) == ("holds (2 of 2)", ("z",))

    def test_a_changed_preset_is_said_in_every_form(self, tmp_path: Path) -> None:
        preset = Preset(name="zhang2012/fig6", title="Figure 6")
        asked = "python -m dpbench -m experiment=zhang2012/fig6 dataset=gaussian epsilon=1,100"
        claim = Claim(paper="p", title="P", says="s", sweeps=("zhang2012/fig6",), check=BELOW)
        found = verdict(claim, {"zhang2012/fig6": SweepRecord(tuple(self.places(0.1)), asked, tuple(asked.split()[4:]), preset)})
        words = "not the preset's own grid: dataset=gaussian epsilon=1,100"
        assert found.text == f"holds (1 of 1), {words}"
        out = io.StringIO()
        print_scorecard([found], out)
        columns = [[text.strip() for text in line.split("│")] for line in out.getvalue().splitlines() if line.count("│") == 4]
        assert "holds (1 of 1), not the preset's own grid" in " ".join(line[2] for line in columns)
        assert words in " ".join(line[3] for line in columns)
        assert "python -m dpbench -m experiment=zhang2012/fig6\n" in out.getvalue()
        page = markdown([found])
        assert words in page
        assert "to run: `python -m dpbench -m experiment=zhang2012/fig6`" in page
        write_csv([found], tmp_path / "c.csv")
        with (tmp_path / "c.csv").open(encoding="utf-8") as file:
            assert [row["changed"] for row in csv.DictReader(file)] == [words]

    def test_of_several_presets_the_changed_one_is_named(self) -> None:
        rows = [replace(row, run_id=str(index)) for index, row in enumerate(self.places(0.1, 0.1))]
        changed = SweepRecord(tuple(rows[:2]), "command", ("experiment=y", "dataset=gaussian"), Preset(name="y", title="Y"))
        own = SweepRecord(tuple(rows[2:]), "command", ("experiment=x", "quick=true"), Preset(name="x", title="X"))
        found = verdict(Claim(paper="p", says="s", sweeps=("x", "y"), check=BELOW), {"x": own, "y": changed})
        assert found.grids == ["not the preset's own grid (y): dataset=gaussian"]

    def test_a_preset_as_it_is_has_nothing_to_say_of_its_grid(self) -> None:
        own = SweepRecord(tuple(self.places(0.1)), "command", ("experiment=x", "quick=true"), Preset(name="x", title="X"))
        assert verdict(Claim(paper="p", says="s", sweeps=("x",), check=BELOW), {"x": own}).text == "holds (1 of 1)"

    @pytest.mark.parametrize(
        ("claim", "words"),
        [
            (
                {"check": {"below": {"cells": {"mechanism": ["x", "y"]}, "against": B}}},
                "no finished cell with mechanism = x or y",
            ),
            ({"check": {"below": {"cells": A, "against": {"mechanism": "z"}}}}, "no finished cell with mechanism = z"),
            ({"at": {"epsilon": ">= 5"}}, "no finished cell with epsilon >= 5"),
            ({"check": {"falls": {"along": "dataset.n"}}}, "differ in nothing but dataset.n"),
            ({"check": {"below": {"cells": A, "against": {"epsilon": 1}}}}, "what 'against' names"),
        ],
    )
    def test_what_a_sweep_lacks_is_said(self, claim: dict[str, Any], words: str) -> None:
        rows = [cell("a", level(0.1), epsilon=2), cell("b", level(0.2), epsilon=1)]
        found = claimed(rows, claim, run_id="abc123")
        assert found.text == "not run"
        assert words in found.notes[-1]
        out = io.StringIO()
        print_scorecard([found], out)
        assert "Read: sweep abc123, 2 cells: command\n" in out.getvalue()
        assert "Read: sweep abc123, 2 cells: command\n" in markdown([found])
        assert "Not run yet" not in out.getvalue()

    def test_only_claims_about_presets_speak_of_the_papers_data(self) -> None:
        rows = self.places(0.1)
        preset = verdict(Claim(paper="p", says="s", sweeps=("x",), check=BELOW), {"x": SweepRecord(tuple(rows), "command")})
        assert "not about the paper's own data" in markdown([preset])
        assert "own data" not in markdown([claimed(rows)])
        assert "one in forty" in markdown([claimed(rows)])

    def test_every_form_says_the_verdict(self, tmp_path: Path) -> None:
        found = [claimed(self.places(0.1, -0.1)), claimed([], {"says": "Nothing is | known.", "sweeps": ("zhang2012/fig6",)})]
        out = io.StringIO()
        print_scorecard(found, out)
        page = markdown(found)
        for text in (out.getvalue(), page):
            assert "holds in 1 of 2" in text
            assert "not run" in text
            assert "python -m dpbench -m experiment=zhang2012/fig6" in text
        assert "Nothing is \\| known." in page
        write_csv(found, tmp_path / "c.csv")
        with (tmp_path / "c.csv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert [row["holds"] for row in rows] == ["True", "False", ""]
        assert float(rows[0]["high"]) < float(rows[0]["limit"]) < float(rows[1]["low"])


@pytest.mark.parametrize("name", CHECKS)
def test_the_page_has_every_check_with_its_options(name: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "claims.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith("|") and f"`{name}`" in line.split("|")[1])
    options = {option.name for option in options_of(CHECKS[name])} - {"cells", "metric"}
    told = page if "the same" in row else row
    assert all(f"`{option}`" in told for option in options)


@pytest.mark.parametrize("paper", papers())
def test_a_papers_claims_load_and_name_presets_and_checks_that_exist(paper: str) -> None:
    found = claims_of(paper)
    assert len(found) >= 4
    for claim in found:
        assert claim.title != paper
        assert claim.where
        assert set(claim.sweeps) <= set(presets())
        assert claim.made.cells or claim.made.metric


def test_every_paper_with_presets_has_claims() -> None:
    assert {preset.partition("/")[0] for preset in presets()} == set(papers())


def test_without_sweeps_nothing_is_decided() -> None:
    assert {found.text for found in scorecard({})} == {"not run"}


@dataclass
class Command:
    folder: Path
    capture: pytest.CaptureFixture[str] = field(repr=False)

    def run(self, *arguments: str) -> tuple[int, str, str]:
        self.capture.readouterr()
        code = main(["claims", *arguments])
        return code, *self.capture.readouterr()


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return Command(tmp_path, capsys)


MINE = """
title: Mine
claims:
  - says: FM is above no privacy.
    check: {above: {cells: {mechanism: fm}, against: {mechanism: no_privacy}}}
  - says: FM is below DPME.
    check: {below: {cells: {mechanism: fm}, against: {mechanism: dpme}}}
"""


@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning")
class TestCommand:
    def test_without_a_store_every_claim_names_its_command(self, command: Command) -> None:
        code, out, err = command.run()
        assert code == 0
        assert "There are no runs" in err
        for preset in {name for paper in papers() for claim in claims_of(paper) for name in claim.sweeps}:
            assert f"python -m dpbench -m experiment={preset}\n" in out
        assert list(command.folder.iterdir()) == []

    def test_a_store_that_cannot_be_used_is_refused(self, command: Command) -> None:
        code, out, err = command.run("--uri", "nowhere://x")
        assert (code, out) == (2, "")
        assert err.count("\n") == 1

    def test_an_empty_experiment_is_no_error(self, command: Command) -> None:
        open_store("sqlite:///mlflow.db").close()
        code, out, _ = command.run("park2016")
        assert code == 0
        assert "not run" in out
        assert "Park and Welling" in out
        assert "Zhang" not in out

    def test_the_files_are_there_before_anything_is_printed(self, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
        there: list[bool] = []
        name = "dpbench.experiments.scorecard.print_scorecard"
        monkeypatch.setattr(name, lambda _: there.append((command.folder / "a" / "b.md").exists()))
        _, out, _ = command.run("park2016", "--out", "a/b.md")
        assert there == [True]
        assert out == f"Written: {command.folder / 'a' / 'b.md'}\n"

    def test_a_file_that_cannot_be_written_is_refused(self, command: Command) -> None:
        (command.folder / "file").write_text("", encoding="utf-8")
        code, out, err = command.run("park2016", "--csv", "file/card.csv")
        assert (code, out) == (2, "")
        assert "cannot be written" in err

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["zhang2021"], ["zhang2021", "Did you mean zhang2012"]),
            (["--claims", "none.yaml"], ["none.yaml", "No such file"]),
            (["zhang2012", "--claims", "x.yaml"], ["not both"]),
            (["--sweep", "abcdef"], ["--sweep"]),
        ],
    )
    def test_a_wrong_request_is_one_sentence(self, command: Command, arguments: list[str], words: list[str]) -> None:
        code, out, err = command.run(*arguments)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert all(word in err for word in words)

    def test_a_real_sweep_is_judged(self, command: Command) -> None:
        grid = ["mechanism=fm,no_privacy", "epsilon=0.1,1", "dataset=wine", "splits.repeats=6", "splits.folds=2", "engine=serial"]
        assert main(["-m", *grid]) == 0
        (command.folder / "mine.yaml").write_text(MINE, encoding="utf-8")
        code, out, _ = command.run("--claims", "mine.yaml", "--out", "new/card.md", "--csv", "card.csv")
        assert code == 0
        assert "holds (2 of 2)" in out
        assert "python -m dpbench -m mechanism=fm,no_privacy" in out.partition("Read: sweep ")[2].partition("\n")[0]
        assert ", 4 cells: " in out
        assert "the sweep has no finished cell with mechanism = dpme" in " ".join(out.replace("│", " ").split())
        assert "Not run yet" not in out
        assert "the paper's own data" not in out
        assert out.endswith(f"Written: {command.folder / 'new' / 'card.md'}\nWritten: {command.folder / 'card.csv'}\n")
        assert "**holds (2 of 2)**" in (command.folder / "new" / "card.md").read_text(encoding="utf-8")
        assert len((command.folder / "card.csv").read_text(encoding="utf-8").splitlines()) == 4
        code, out, _ = command.run("zhang2012")
        assert (code, "holds" in out) == (0, False)


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
