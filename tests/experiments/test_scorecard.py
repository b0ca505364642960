"""The scorecard says every verdict in the terminal, as Markdown and as CSV."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

from made_cells import AB, claimed, places

from dpbench.experiments.claims import Claim, judge
from dpbench.experiments.scorecard import markdown, print_scorecard, write_csv
from dpbench.records.preset import Preset
from dpbench.records.sweep_record import SweepRecord

BELOW = {"below": AB}


def test_a_changed_preset_is_said_in_every_form(tmp_path: Path) -> None:
    preset = Preset(name="zhang2012/fig6", title="Figure 6")
    asked = "python -m dpbench -m experiment=zhang2012/fig6 dataset=gaussian epsilon=1,100"
    claim = Claim(paper="p", title="P", says="s", presets=("zhang2012/fig6",), check=BELOW)
    found = judge(claim, {"zhang2012/fig6": SweepRecord(tuple(places(0.1)), asked, tuple(asked.split()[4:]), preset)})
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


def test_only_claims_about_presets_speak_of_the_papers_data() -> None:
    rows = places(0.1)
    preset = judge(Claim(paper="p", says="s", presets=("x",), check=BELOW), {"x": SweepRecord(tuple(rows), "command")})
    assert "not about the paper's own data" in markdown([preset])
    assert "own data" not in markdown([claimed(rows)])
    assert "one in forty" in markdown([claimed(rows)])


def test_every_form_says_the_verdict(tmp_path: Path) -> None:
    found = [claimed(places(0.1, -0.1)), claimed([], {"says": "Nothing is | known.", "presets": ("zhang2012/fig6",)})]
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


def test_verdicts_on_real_and_on_synthetic_tables_stand_apart(tmp_path: Path) -> None:
    rows = places(0.1, -0.1)
    tags = {**rows[0].tags, "dpbench.synthetic": "true"}
    drawn = [replace(row, tags=tags, params={**row.params, "dataset": "made"}) for row in rows[2:]]
    verdict = claimed([*rows[:2], *drawn])
    page = markdown([verdict])
    assert "| claim | where | on real tables | on synthetic tables | data | evidence |" in page
    assert "| **holds (1 of 1)** | **does not hold (1 of 1 against)** | wine, made (SYNTHETIC) |" in page
    assert "on synthetic tables: linear on made" in page
    assert "| **holds (2 of 2)** | no such table |" in markdown([claimed(places(0.1, 0.1))])
    out = io.StringIO()
    print_scorecard([verdict], out)
    assert "on real tables:" in out.getvalue()
    write_csv([verdict], tmp_path / "c.csv")
    with (tmp_path / "c.csv").open(encoding="utf-8") as file:
        assert [row["synthetic"] for row in csv.DictReader(file)] == ["False", "True"]
