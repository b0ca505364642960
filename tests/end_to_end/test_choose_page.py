"""Every command of docs/choose.md, in its order, with the bounds file of the page."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas
import pytest

import dpbench
from dpbench.__main__ import main

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("alone")]

PAGE = (Path(__file__).parents[2] / "docs" / "choose.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
LINES = [line for language, text in BLOCKS if language == "sh" for line in text.splitlines()]
IN_PYTHON = re.search(r"`print\((dpbench\.choose\(.+?\))\)`", PAGE)


def test_the_page_has_no_block_that_is_not_run() -> None:
    assert [language for language, _ in BLOCKS] == ["sh", "yaml", "sh"]
    assert len(BLOCKS) == PAGE.count("\n```") / 2
    assert all(line.startswith("python -m dpbench ") for line in LINES)
    assert len(LINES) == PAGE.count("python -m dpbench") == 5
    assert IN_PYTHON is not None


def test_the_commands_of_the_page_answer(capsys: pytest.CaptureFixture[str]) -> None:
    for package in ("opendp", "dp_accounting"):
        pytest.importorskip(package, reason=f"{package} is not installed: pip install 'dp-regression-bench[secure,accounting]'")
    (bounds,) = (text for language, text in BLOCKS if language == "yaml")
    Path("people.yaml").write_text(bounds, encoding="utf-8")
    generator = np.random.default_rng(0)
    age = generator.integers(18, 71, 4000)
    wage = 40 * age + generator.normal(1500, 500, 4000)
    people = pandas.DataFrame({"age": age, "sex": generator.choice(["f", "m"], 4000), "wage": wage.round(2)})
    people.to_csv("people.csv", index=False)
    printed = []
    for line in LINES:
        assert main(shlex.split(line, comments=True)[3:]) == 0, line
        printed.append(capsys.readouterr().out)
    epsilon, rows, lost, release, checks = printed
    assert re.search(r"^Typical: ε = \S+ is enough\. Safe: ε = \S+\.$", epsilon, re.MULTILINE)
    assert re.search(r"^Typical: [\d,]+ rows are enough\. Safe: [\d,]+ rows\.$", rows, re.MULTILINE)
    assert re.search(r"^Typical: \S+ % of what is explained is lost to privacy\. Safe: \S+ %\.$", lost, re.MULTILINE)
    for text in (epsilon, rows, lost):
        assert "No row was read for this answer" in text
    assert "among 4 candidates with differential privacy, ε = 1" in release
    assert re.search(r"this model was fitted with ε = 0\.\d+ .*of the 1, and scored with 0\.", release)
    assert {line.split()[0] for line in checks.splitlines()} == {"ok"}
    assert any(line.startswith("ok      choice: random stopping, 4 candidates") for line in checks.splitlines())
    names = [
        part["mechanism"]["name"] for part in json.loads(Path("wages.json").read_text())["privacy"]["selection"]["candidates"]
    ]
    assert sorted(names) == ["best", "fm", "fm", "ssp"]


def test_the_answer_in_python_is_that_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    (bounds,) = (text for language, text in BLOCKS if language == "yaml")
    Path("people.yaml").write_text(bounds, encoding="utf-8")
    assert IN_PYTHON is not None
    answer = eval(IN_PYTHON[1], {"dpbench": dpbench})
    assert main(shlex.split(LINES[0], comments=True)[3:]) == 0
    assert str(answer) in capsys.readouterr().out
    assert answer.epsilon.typical <= answer.epsilon.safe
    assert "release" in answer.command(answer.epsilon.safe)
    assert answer.mechanism
