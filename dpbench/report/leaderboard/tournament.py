"""A tournament: every mechanism against every other one, on every table at every ε, from scores alone."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpbench.report.formatting import group_by
from dpbench.report.leaderboard.scores import Score
from dpbench.report.statistics.paired import LEVEL, PRACTICAL_SHARE
from dpbench.report.statistics.ranks import critical_difference, friedman
from dpbench.report.statistics.signed_rank import signed_rank_p

MIN_GAIN = 0.05
"""On a table whose non-private fit saves less than this share of the mean predictor's error, scores say little."""
CLOSE = 0.02
"""A mechanism is close to the best of a cell if its score is at most this much lower."""
RANKED = ("sound", "claimed")

Game = tuple[str, float]
"""A table and an ε: all mechanisms play each game once."""


@dataclass(frozen=True)
class Entry:
    """What a mechanism reached in a tournament."""

    name: str
    mean_rank: float
    """The mean over the tables; 1 is the best."""
    rank_at: Mapping[float, float]
    """The mean rank over the tables at each ε."""
    score_at: Mapping[float, float]
    """The mean score over the tables at each ε."""
    failed_at: Mapping[float, float]
    """The mean over its tables, at each ε, of the share of the runs that lost everything; empty where it was not recorded."""
    wins: int
    ties: int
    losses: int
    close: float
    """The share of the games in which it is close to the best."""
    tables: int
    """Tables that it takes; it has score 0 on the others."""
    guarantee: str
    pure: bool
    seconds: float | None
    """The median time of one fit over its cells."""


@dataclass(frozen=True)
class Tournament:
    """The scores of one model. Only complete games count: those in which every mechanism has a score."""

    scores: tuple[Score, ...]

    @cached_property
    def by_cell(self) -> dict[tuple[Game, str], Score]:
        """The scores by game and mechanism."""
        return {((score.table, score.epsilon), score.mechanism): score for score in self.scores}

    @cached_property
    def shown_only(self) -> list[str]:
        """The tables on which even the non-private fit gains too little for scores to mean anything."""
        gains = group_by((score for score in self.scores if score.gain is not None), lambda score: score.table)
        return sorted(table for table, same in gains.items() if (same[0].gain or 0.0) < MIN_GAIN)

    @cached_property
    def unranked(self) -> dict[str, str]:
        """The mechanisms of which some cell may not be ranked, with its guarantee."""
        return {score.mechanism: score.guarantee for score in self.scores if score.state == "run" and not _ranked(score)}

    @cached_property
    def names(self) -> list[str]:
        """The mechanisms that play: one that takes no table of this model does not."""
        playing = {score.mechanism for score in self.scores if score.state == "run"}
        return sorted(playing - self.unranked.keys())

    @cached_property
    def games(self) -> list[Game]:
        """The games that count."""
        tables = {score.table for score in self.scores} - set(self.shown_only)
        epsilons = {score.epsilon for score in self.scores}
        games = itertools.product(sorted(tables), sorted(epsilons))
        return [game for game in games if self.names and all((game, name) in self.by_cell for name in self.names)]

    @property
    def tables(self) -> list[str]:
        """The tables with a game that counts."""
        return list(dict.fromkeys(table for table, _ in self.games))

    @property
    def epsilons(self) -> list[float]:
        """The values of ε with a game that counts."""
        return sorted({epsilon for _, epsilon in self.games})

    @cached_property
    def values(self) -> np.ndarray:
        """The scores: (games, mechanisms)."""
        return np.array([[self.by_cell[game, name].value for name in self.names] for game in self.games])

    @cached_property
    def beats(self) -> np.ndarray:
        """Whether the first mechanism is better than the second: (games, mechanisms, mechanisms).

        It is if its score is higher by more than chance explains and by at least one percentage point; else they tie. The
        interval of a difference is made of the two medians' own ones (Zou and Donner 2008), as if the runs were not paired.
        """
        intervals = np.array([[self.by_cell[game, name].interval for name in self.names] for game in self.games])
        below, above = self.values - intervals[..., 0], intervals[..., 1] - self.values
        margin = np.hypot(below[:, :, None], above[:, None, :])
        difference = self.values[:, :, None] - self.values[:, None, :]
        return np.asarray(difference > np.maximum(margin, PRACTICAL_SHARE))

    @cached_property
    def ranks(self) -> np.ndarray:
        """The ranks: (games, mechanisms). One more than the number of better mechanisms, plus one half for each tie.

        So two that tie share their places even where a third ties with one of them only, and each game gives out the same sum.
        """
        ties = ~self.beats & ~self.beats.transpose(0, 2, 1)
        others = ties & ~np.eye(len(self.names), dtype=bool)
        return np.asarray(1 + self.beats.sum(axis=1) + others.sum(axis=2) / 2)

    @cached_property
    def table_ranks(self) -> np.ndarray:
        """The mean rank over the values of ε: (tables, mechanisms). A table counts once: its games are not independent."""
        return self._by_table(self.ranks)

    @cached_property
    def entries(self) -> list[Entry]:
        """The mechanisms, the best mean rank first."""
        if not self.games:
            return []
        entries = [self._entry(index, name) for index, name in enumerate(self.names)]
        return sorted(entries, key=lambda entry: (entry.mean_rank, entry.name))

    def close(self, name: str, games: Collection[Game]) -> float | None:
        """Return the share of these games in which a mechanism is close to the best; None if none of them counts."""
        chosen = [self.games.index(game) for game in games if game in self.games]
        values = self.values[chosen]
        near = values[:, self.names.index(name)] >= values.max(axis=1, initial=0.0) - CLOSE
        return float(near.mean()) if chosen else None

    @cached_property
    def p(self) -> float | None:
        """The p-value of Friedman's test that all mechanisms are alike; None with fewer than two tables or mechanisms."""
        return friedman(self.table_ranks) if len(self.tables) > 1 and len(self.names) > 1 else None

    @property
    def critical(self) -> float | None:
        """Nemenyi's critical difference of mean ranks; None where nothing can be compared."""
        return critical_difference(len(self.names), len(self.tables)) if self.p is not None else None

    @cached_property
    def alike(self) -> list[list[str]]:
        """The longest runs of neighbours in the order of mean ranks of which no two differ.

        Pairs are compared by Wilcoxon's signed-rank test of their mean scores on each table, with Holm's correction for all
        pairs: unlike Nemenyi's test, its verdict on two mechanisms does not depend on which others there are. Where there are so
        few tables that it could not separate any two, Nemenyi's test takes its place.
        """
        order = [entry.name for entry in self.entries]
        runs: list[tuple[int, int]] = []
        for first in range(len(order)):
            last = first
            while last + 1 < len(order) and all(
                (order[other], order[last + 1]) not in self._differing for other in range(first, last + 1)
            ):
                last += 1
            if last > first and (not runs or last > runs[-1][1]):
                runs.append((first, last))
        return [order[first : last + 1] for first, last in runs]

    @property
    def by_signed_ranks(self) -> bool:
        """Whether Wilcoxon's test with Holm's correction can separate any two: all tables on one side have p = 2 / 2^tables."""
        pairs = len(self.names) * (len(self.names) - 1) / 2
        return pairs * 2.0 ** (1 - len(self.tables)) < LEVEL

    @cached_property
    def _differing(self) -> set[tuple[str, str]]:
        pairs = list(itertools.combinations(range(len(self.names)), 2))
        differing = self._by_holm(pairs) if self.by_signed_ranks else self._by_nemenyi(pairs)
        return {(self.names[a], self.names[b]) for pair in differing for a, b in (pair, pair[::-1])}

    def _by_holm(self, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        means = self._by_table(self.values)
        tested = sorted((signed_rank_p(means[:, one] - means[:, other]), one, other) for one, other in pairs)
        separated = [p * (len(tested) - step) < LEVEL for step, (p, _, _) in enumerate(tested)]
        return [(one, other) for (_, one, other), _ in zip(tested, itertools.takewhile(bool, separated), strict=False)]

    def _by_nemenyi(self, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        ranks, critical = self.table_ranks.mean(axis=0), self.critical
        return [(one, other) for one, other in pairs if critical is not None and abs(ranks[one] - ranks[other]) > critical]

    def score(self, game: Game, name: str) -> Score:
        """Return the score of a mechanism in a game."""
        return self.by_cell[game, name]

    def _entry(self, index: int, name: str) -> Entry:
        own = [score for score in self.scores if score.mechanism == name and score.state == "run"]
        at = {epsilon: np.array([game[1] == epsilon for game in self.games]) for epsilon in self.epsilons}
        wins, losses = int(self.beats[:, index].sum()), int(self.beats[:, :, index].sum())
        failed = [(score.epsilon, score.failed_share) for score in own if (score.table, score.epsilon) in self.games]
        known = group_by([pair for pair in failed if pair[1] is not None], lambda pair: pair[0])
        seconds = [score.fit_seconds for score in own if score.fit_seconds is not None]
        claimed = sum(score.guarantee == "claimed" for score in own)
        return Entry(
            name,
            float(self.table_ranks[:, index].mean()),
            {epsilon: float(self.ranks[mask, index].mean()) for epsilon, mask in at.items()},
            {epsilon: float(self.values[mask, index].mean()) for epsilon, mask in at.items()},
            {epsilon: float(np.mean([share for _, share in known[epsilon]])) for epsilon in sorted(known)},
            wins,
            len(self.games) * (len(self.names) - 1) - wins - losses,
            losses,
            self.close(name, self.games) or 0.0,
            len({score.table for score in own} & set(self.tables)),
            "sound" if not claimed else f"claimed ({claimed} of {len(own)} cells)",
            all(not score.delta for score in own),
            float(np.median(seconds)) if seconds else None,
        )

    def _by_table(self, numbers: np.ndarray) -> np.ndarray:
        """Return the mean over the games of each table: (tables, mechanisms)."""
        masks = [np.array([game[0] == table for game in self.games]) for table in self.tables]
        return np.array([numbers[mask].mean(axis=0) for mask in masks])


def tournaments(scores: Sequence[Score]) -> dict[str, Tournament]:
    """Return a tournament for each model."""
    return {model: Tournament(tuple(same)) for model, same in group_by(scores, lambda score: score.model).items()}


def _ranked(score: Score) -> bool:
    return score.guarantee in RANKED
