"""The subcommand ``budget``, and releases that it lets through, refuses and lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbench.__main__ import main
from dpbench.privacy.ledger import Budget
from dpbench.registry.lookup import build
from dpbench.releases.budget_book import BudgetBook, Payer

pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture(autouse=True)
def _own_book(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DPBENCH_BUDGET_BOOK", str(tmp_path / "book.jsonl"))


@pytest.mark.slow
def test_releases_are_counted_until_the_ceiling(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    wine = ["release", "mechanism=fm", "dataset=wine", "epsilon=1"]
    assert main(["budget", "ceiling=1.5"]) == 0
    assert main([*wine, "out=m.json"]) == 0
    assert main([*wine, "mechanism.until_bounded=true", "epsilon=0.1", "out=n.json"]) == 2
    capsys.readouterr()
    assert main([*wine, "dataset.attributes=[alcohol]", "out=n.json"]) == 2
    assert "from ε = 1 to 2 at δ = 1e-05, above its ceiling of 1.5" in capsys.readouterr().err
    assert not (tmp_path / "n.json").exists()
    assert main(["budget"]) == 0
    out = capsys.readouterr().out
    assert "ε = 1 spent at δ = 1e-05, ceiling 1.5" in out
    assert "m.json (written)" in out
    (tmp_path / "book.jsonl").write_text((tmp_path / "book.jsonl").read_text().replace("1.5", "9.5"))
    assert main(["budget"]) == 1
    assert "chain of hashes is broken" in capsys.readouterr().err
    assert main([*wine, "out=n.json"]) == 2


def test_a_file_has_a_ceiling_of_its_own(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,wage\n1,2\n")
    assert main(["budget"]) == 0
    assert main(["budget", "people.csv", "ceiling=3", "delta=1e-5"]) == 0
    assert capsys.readouterr().out == (
        "No release is in the book.\nNo release may bring people.csv above ε = 3 at δ = 1e-05 from now on.\n"
    )


def test_a_ceiling_below_what_is_spent_says_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,wage\n1,2\n")
    people = build("dataset", {"name": "table", "path": "people.csv"})
    BudgetBook().reserve(Payer.of(people), Budget(2.0, currency="pure"), "replace_one", "fm", "m.json")
    assert main(["budget", "people.csv", "ceiling=3"]) == 0
    assert "Reached already" not in capsys.readouterr().out
    assert main(["budget", "people.csv", "ceiling=1"]) == 0
    assert "Reached already: table people has spent ε = 2, and gets no further release." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ceiling=x"], "must be a positive number"),
        (["ceiling=-1"], "A ceiling must be"),
        (["ceiling=inf"], "must be a finite number"),
        (["ceilng=1"], "no key of budget named 'ceilng'"),
        (["delta=1e-6"], "belongs to a ceiling"),
        (["a.csv", "b.csv"], "one table, or for all"),
        (["none.csv", "ceiling=1"], "There is no file"),
    ],
)
def test_a_wrong_request_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], words: str) -> None:
    assert main(["budget", *arguments]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "book.jsonl").exists()
