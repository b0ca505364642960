"""The number of draws of a private selection has the logarithmic law, and comes from the operating system."""

from __future__ import annotations

import math
import random
import secrets
from collections import Counter

import pytest
from scipy import stats

from dpbench.privacy import random_stopping
from dpbench.privacy.random_stopping import RandomStopping


@pytest.mark.parametrize("odds", [2, 10, 100])
def test_the_law_has_its_mean_and_adds_up_to_one(odds: int) -> None:
    law = RandomStopping(odds)
    chances = [law.probability(k) for k in range(1, 200 * odds)]
    assert math.fsum(chances) == pytest.approx(1)
    assert math.fsum(k * chance for k, chance in enumerate(chances, 1)) == pytest.approx(law.mean)
    for number in (1, 2, 7):
        untried = math.fsum(chance * (1 - 1 / number) ** k for k, chance in enumerate(chances, 1))
        assert law.chance_untried(number) == pytest.approx(untried, abs=1e-12)


@pytest.mark.parametrize("odds", [2, 5, 20])
def test_draws_have_the_law(odds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A χ² test of 4,000 draws with a fixed seed in place of the operating system; a right law fails one seed in a thousand."""
    monkeypatch.setattr(secrets, "randbelow", random.Random(3).randrange)
    law, draws = RandomStopping(odds), 4000
    counts = Counter(law.draw() for _ in range(draws))
    cells = [k for k in range(1, 1000) if draws * law.probability(k) >= 10]
    expected = [draws * law.probability(k) for k in cells]
    observed = [counts[k] for k in cells]
    both = [[*part, draws - sum(part)] for part in (observed, expected)]
    assert stats.chisquare(*both).pvalue > 1e-3
    assert min(counts) == 1


def test_every_number_comes_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def randbelow(bound: int) -> int:
        asked.append(bound)
        return 0

    monkeypatch.setattr(random_stopping.secrets, "randbelow", randbelow)
    random.seed(0)
    state = random.getstate()
    assert list(RandomStopping(10).candidates(3)) == [0]
    assert asked == [10, 1, 3], "K stops, is kept, and the only candidate is drawn"
    assert random.getstate() == state


def test_odds_that_stop_at_once_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 2"):
        RandomStopping(1)
