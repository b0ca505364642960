"""The budget book: what is refused, what counts after a crash, and a hundred processes that ask at once."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest

from dpbench.accounting.conversion import epsilon_of_gdp
from dpbench.base.errors import Refused
from dpbench.privacy.ledger import Budget
from dpbench.registry.lookup import build
from dpbench.releases.budget_book import BudgetBook, Ceiling, Payer, Reservation, ceiling_in, entries_in, spent_in

PEOPLE = Payer("people", "rows")
PURE = Budget(1.0, currency="pure")


@pytest.fixture
def book(tmp_path: Path) -> BudgetBook:
    return BudgetBook(tmp_path / "book.jsonl")


def reserve(book: BudgetBook, budget: Budget = PURE, rows: str = "rows") -> str:
    return book.reserve(Payer("people", rows), budget, "replace_one", "fm", "m.json")


def digest_of(path: Path, **options: str) -> str:
    return Payer.of(build("dataset", {"name": "table", "path": str(path), **options})).digest


def test_a_release_above_the_ceiling_is_refused_and_leaves_no_entry(book: BudgetBook) -> None:
    book.set_ceiling(Ceiling(2.0))
    reserve(book)
    reserve(book)
    with pytest.raises(Refused, match="from ε = 2 to 3 at δ = 1e-05, above its ceiling of 2"):
        reserve(book)
    assert len(entries_in(book.records())) == 2
    reserve(book, rows="other rows")


def test_a_table_may_have_a_ceiling_of_its_own(book: BudgetBook) -> None:
    book.set_ceiling(Ceiling(0.5))
    book.set_ceiling(Ceiling(5.0), PEOPLE.digest)
    reserve(book)
    with pytest.raises(Refused, match=r"ceiling of 0\.5"):
        reserve(book, rows="other rows")
    assert ceiling_in([], "x").epsilon == math.inf


def test_an_entry_counts_until_it_is_taken_back(book: BudgetBook) -> None:
    crashed, written, unasked = (reserve(book) for _ in range(3))
    book.mark(written, "written")
    book.mark(unasked, "taken back")
    assert [entry.state for entry in entries_in(book.records())] == ["not written", "written", "taken back"]
    assert len(spent_in(book.records(), PEOPLE.digest)) == 2
    assert crashed != written


def test_costs_are_added_in_their_own_currency(book: BudgetBook) -> None:
    """Two of μ = 0.3 are one of μ = 0.3 √2, which is less than twice the ε of one."""
    for _ in range(2):
        reserve(book, Budget(0.3, 1e-6, "gdp"))
    spent = Ceiling().total(spent_in(book.records(), PEOPLE.digest))
    assert spent == pytest.approx(epsilon_of_gdp(0.3 * math.sqrt(2), 1e-5))
    assert spent < 2 * epsilon_of_gdp(0.3, 1e-5)


def test_failures_beyond_the_delta_of_the_ceiling_are_refused(book: BudgetBook) -> None:
    book.set_ceiling(Ceiling(100.0, 1e-6))
    reserve(book, Budget(0.1, 1e-6, "approx"))
    with pytest.raises(Refused, match=r"to inf .* The δ of its releases add up"):
        reserve(book, Budget(0.1, 1e-6, "approx"))


def test_synthetic_rows_need_no_budget(book: BudgetBook) -> None:
    reservation = Reservation(book, "fm", "m.json")
    reservation(Payer("simulated", "", synthetic=True), PURE, "replace_one")()
    reservation.written()
    assert book.records() == []


def test_another_table_may_pay_for_rows_that_come_from_elsewhere(book: BudgetBook) -> None:
    file = Payer("people", "file")
    reservation = Reservation(book, "fm", "PrivateRegressor", file)
    reservation(Payer("people", "frame"), PURE, "replace_one")
    reservation.written()
    (entry,) = entries_in(book.records())
    assert (entry.table, entry.state) == (file.digest, "written")


def test_a_table_is_its_rows_whatever_a_release_uses_of_them(tmp_path: Path) -> None:
    path, bounds = tmp_path / "people.csv", tmp_path / "people.yaml"
    path.write_text("age,wage\n1,2\n")
    bounds.write_text("columns: {age: [0, 100]}")
    first = digest_of(path)
    assert first == digest_of(path, bounds=str(bounds), target="wage")
    (tmp_path / "other.csv").write_text("age,wage\n1,3\n")
    assert first != digest_of(tmp_path / "other.csv")


@pytest.mark.parametrize("ceiling", [(0, 1e-6), (-1, 1e-6), (math.nan, 1e-6), (1, 0), (1, 1)])
def test_a_ceiling_that_is_none_is_refused(ceiling: tuple[float, float]) -> None:
    with pytest.raises(Refused, match="A ceiling must be"):
        Ceiling(*ceiling)


RACE = """
import os, sys
from pathlib import Path
from dpbench.base.errors import Refused
from dpbench.privacy.ledger import Budget
from dpbench.releases.budget_book import BudgetBook, Payer

ready, start = os.pipe()
children = []
for number in range(100):
    child = os.fork()
    if not child:
        os.close(start)
        os.read(ready, 1)  # ends when the parent closes its end: all start together
        try:
            book = BudgetBook(Path(sys.argv[1]))
            book.reserve(Payer("people", "rows"), Budget(0.1, currency="pure"), "replace_one", "fm", "m.json")
        except Refused:
            os._exit(7)
        except BaseException:
            os._exit(1)
        os._exit(0)
    children.append(child)
os.close(start)
print(*(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
"""


@pytest.mark.slow
@pytest.mark.long
def test_of_a_hundred_processes_as_many_are_let_in_as_the_ceiling_allows(book: BudgetBook, tmp_path: Path) -> None:
    book.set_ceiling(Ceiling(3.0))
    result = subprocess.run(
        [sys.executable, "-c", RACE, str(tmp_path / "book.jsonl")], capture_output=True, text=True, timeout=300, check=True
    )
    codes = [int(code) for code in result.stdout.split()]
    assert (codes.count(0), codes.count(7)) == (30, 70)
    assert len(entries_in(book.records())) == 30
