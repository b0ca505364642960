"""The price of releasing the best cell: in the printed table, in the note, on the parent run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cell_factory import make_cell, make_sweep
from report_helpers import note, priced_cell, printed, recorded

from dpbench.privacy.noise import laplace
from dpbench.report.release_price import SHARED_NOISE, release_price
from dpbench.report.warning_texts import SIMULATED_NOISE

CELLS = [priced_cell("fm", 0.1), priced_cell("fm", 0.8), priced_cell("dpba", 3.2), priced_cell("no_privacy", private=False)]


def unwrapped(text: str) -> str:
    return " ".join(text.split())


def test_the_bill_counts_private_cells_once_each() -> None:
    same = [
        priced_cell("fm", 0.8, params={key: value}) for key, value in (("attack", "membership"), ("inference.method", "naive"))
    ]
    found = release_price([*CELLS, *same])
    assert found is not None
    assert found.cells == 3
    assert found.naive.epsilon == pytest.approx(4.1)
    assert found.selected.epsilon == pytest.approx(6.4)
    assert found.geometric.epsilon == pytest.approx(9.6)
    assert recorded(CELLS)["privacy/release_all_epsilon"] == pytest.approx(4.1)


def test_tables_are_not_added_up_and_a_bound_is_never_rounded_down() -> None:
    """Rows of another table are other persons' rows."""
    rows = [priced_cell(epsilon=epsilon, params={"dataset": name}) for name in ("a", "b") for epsilon in (0.5, 2.0)]
    dear = priced_cell(epsilon=1442.4, params={"dataset": "b"})
    found = release_price([*rows, dear])
    assert found is not None
    assert (found.cells, found.naive.epsilon) == (3, pytest.approx(1444.9))
    assert "these 3 private cells on b, the most expensive of 2 tables: ε = 1445 if all" in unwrapped(printed([*rows, dear]))
    assert "ε = 1445 if all" in printed([row for row in [*rows, dear] if row.params["dataset"] == "b"])
    assert "ε = 1443 if all" in printed([priced_cell(epsilon=1442.01), priced_cell(epsilon=0.1)]), "1442.11 would be 1442"


def test_where_there_is_no_choice_there_is_no_bill() -> None:
    for rows in ([], [CELLS[0]], [CELLS[0], CELLS[3]]):
        assert release_price(rows) is None
        assert recorded(rows) == {}
        assert "Releasing the best" not in printed(rows)
        assert "releasing the best" not in note(make_sweep(rows), None)


def test_the_table_and_the_note_say_what_the_best_would_cost_and_what_no_epsilon_covers() -> None:
    many = [*CELLS, priced_cell("dpba", 0.8), priced_cell("dpc", 3.2), priced_cell("dpc", 0.1)]  # 8.2 in all
    text = unwrapped(printed(many))
    assert "of these 6 private cells: ε = 6.4 if only the best by a noisy score is released, ε = 8.2 if all are fitted" in text
    assert "choosing by these errors has no finite privacy cost" in text
    text = note(make_sweep(many), None)
    assert (
        "To fit each of the 6 private cells once on the same rows, each with noise of its own, and publish them all: ε = 8.2, "
        in text
    )
    assert "ε = 6.4 if the number of draws has the logarithmic law (Papernot and Steinke 2022)" in text
    assert "geometric" not in text, "its 9.6 is more than publishing all"
    assert "choosing by these errors has no finite privacy cost" in text
    assert SIMULATED_NOISE in text
    assert SIMULATED_NOISE not in note(make_sweep([make_cell(tags={"dpbench.noise": "secure"})]), None)


def test_what_costs_more_than_publishing_all_is_not_offered() -> None:
    assert "private cells: ε = 4.1 if all" in unwrapped(printed(CELLS))
    assert "To publish only the one with the best noisy score would not be cheaper (ε = 6.4)" in note(make_sweep(CELLS), None)
    equal = [priced_cell(name, 1.0) for name in "abcd"]
    assert "ε = 2 if the number of draws has the logarithmic law; with a geometric number, ε = 3" in note(make_sweep(equal), None)


def test_recorded_cells_that_share_their_noise_must_not_be_published_together() -> None:
    """Cells with secure noise have draws of their own."""
    assert SHARED_NOISE in note(make_sweep(CELLS), None)
    secure = [priced_cell("fm", epsilon, tags={"dpbench.noise": "secure"}) for epsilon in (0.1, 0.8)]
    assert SHARED_NOISE not in note(make_sweep(secure), None)


def test_two_noisy_objectives_from_one_seed_give_away_the_exact_one(make: Any, rows: Any, geometry: Any, curate: Any) -> None:
    """Why they must not: with the same draws u, scales s and t, the exact answer is (s b - t a) / (s - t)."""
    generator = np.random.default_rng(3)
    sample = rows(geometry(3), generator.uniform(-1, 1, (50, 3)), generator.uniform(-1, 1, 50))
    low, high = curate(sample, epsilon=0.1), curate(sample, epsilon=3.2)
    query = make("model", "linear", intercept=False).prepare(low).polynomial()
    noises = [laplace(20.0, epsilon, "p") for epsilon in (0.1, 3.2)]
    a, b = (curator.release(query, noise) for curator, noise in zip((low, high), noises, strict=True))
    s, t = (float(noise.scale.ravel()[0]) for noise in noises)
    exact = curate(sample, epsilon=1e12).release(query, laplace(20.0, 1e12, "p"))
    assert np.abs(a - exact).max() > 1, "the noise is not small"
    np.testing.assert_allclose((s * b - t * a) / (s - t), exact, atol=1e-9)


def test_a_delta_is_part_of_the_price() -> None:
    assert "ε = 1 at δ = 2e-06 if all" in printed([priced_cell(name, 0.5, 1e-6) for name in "ab"])
    assert "would not be cheaper (no bound at this δ)" in note(make_sweep([priced_cell(name, 20.0, 1e-6) for name in "ab"]), None)
