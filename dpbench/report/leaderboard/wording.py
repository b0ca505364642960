"""What a leaderboard says in sentences: which mechanism to use, and by which rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpbench.report.formatting import listed, plural
from dpbench.report.leaderboard.scores import ERRORS
from dpbench.report.leaderboard.tournament import CLOSE, MIN_GAIN, Entry, Tournament
from dpbench.report.statistics.paired import PRACTICAL_SHARE

FEW_ROWS = 5_000
MAX_NAMES = 4


@dataclass(frozen=True)
class Substitution:
    """A mechanism that is not recommended yet, whatever its rank, and the one that is recommended instead."""

    withheld: str
    recommended: str
    released: str
    """What a release takes in the place of the recommended one, for which there is no secure noise."""
    reason: str
    """Why, as the end of a sentence."""

    @property
    def sentence(self) -> str:
        """What is recommended and why, in two sentences."""
        return (
            f"For two classes `{self.recommended}` is recommended for now, and not `{self.withheld}`: {self.reason}. "
            f"`release` has no secure noise for `{self.recommended}`: use `{self.released}` there."
        )


TWO_CLASSES = Substitution(
    "best",
    "objective_perturbation",
    "dp_newton",
    "on tables that were used neither to make nor to judge `best`, it was fourth of eight",
)
SUBSTITUTIONS = {"logistic": TWO_CLASSES}
"""By model, until mechanisms of dpbench's own are judged by a rule on tables that were not used to make them."""
TITLES = {"linear": "Linear regression", "logistic": "Logistic regression"}


def title(model: str) -> str:
    """Return a model as a heading."""
    return TITLES.get(model, model.capitalize())


def percent(share: float) -> str:
    """Return a share in whole percent."""
    return f"{100 * share:.0f} %"


def small_percent(share: float) -> str:
    """Return a share that is not 0 in whole percent."""
    return percent(share) if share >= 0.005 else "<1 %"


def recommended(model: str, tournament: Tournament) -> Entry:
    """Return the first mechanism, or the one that is recommended for this model whatever the ranks are."""
    names = {SUBSTITUTIONS[model].recommended} if model in SUBSTITUTIONS else set()
    return next((entry for entry in tournament.entries if entry.name.partition(" (")[0] in names), tournament.entries[0])


def recommendation(tournaments: Mapping[str, Tournament]) -> list[str]:
    """Return which mechanism to use: one sentence for each model, what pure ε costs, and how much the number of rows matters."""
    played = {model: tournament for model, tournament in tournaments.items() if tournament.entries}
    return [
        *(f"{title(model)}: {_first(model, tournament)}" for model, tournament in played.items()),
        f"Without a δ (pure ε): {listed(_first_pure(model, tournament) for model, tournament in played.items())}.",
        f"By the number of rows: {listed(_by_rows(model, tournament) for model, tournament in played.items())}.",
        *_held_out(played),
    ]


def _first(model: str, tournament: Tournament) -> str:
    first = recommended(model, tournament)
    alike = {name for group in tournament.alike if first.name in group for name in group}
    names = [f"`{entry.name}`" for entry in tournament.entries if entry.name in alike - {first.name}]
    tied = f"; over all tables the tests do not separate it from {listed(names, most=MAX_NAMES)}" if names else ""
    return (
        f"`{first.name}`, with a mean rank of {first.mean_rank:.1f} of {len(tournament.names)} mechanisms and variants on "
        f"{plural(len(tournament.tables), 'table')}. It goes {_scores(first)} of the way from the mean predictor to the "
        f"non-private fit, and is within {100 * CLOSE:g} points of the best in {percent(first.close)} of the cells{tied}."
        f"{_failures(first)}{_ahead(model, tournament, first)}"
    )


def _failures(entry: Entry) -> str:
    """Return how many runs of a mechanism lost everything, as a further sentence."""
    shares = [f"{small_percent(share)} (ε = {epsilon:g})" for epsilon, share in entry.failed_at.items() if share]
    return f" Of its runs {listed(shares)} lost everything." if shares else ""


def _ahead(model: str, tournament: Tournament, chosen: Entry) -> str:
    """Return which mechanisms are ahead of the one that is recommended, and why they are not, as further sentences."""
    ahead = [f"`{entry.name}` ({entry.mean_rank:.1f})" for entry in tournament.entries[: tournament.entries.index(chosen)]]
    if not ahead:
        return ""
    verb = "has" if len(ahead) == 1 else "have"
    return f" {listed(ahead, most=MAX_NAMES)} {verb} a lower mean rank here. {SUBSTITUTIONS[model].sentence}"


def _scores(entry: Entry) -> str:
    return listed(f"{percent(score)} (ε = {epsilon:g})" for epsilon, score in entry.score_at.items())


def _first_pure(model: str, tournament: Tournament) -> str:
    pure = next((entry for entry in tournament.entries if entry.pure), None)
    if pure is None:
        return f"no mechanism for {model}"
    return f"`{pure.name}` for {model} (mean rank {pure.mean_rank:.1f}; {_middle(tournament, pure)})"


def _middle(tournament: Tournament, entry: Entry) -> str:
    epsilon = min(tournament.epsilons, key=lambda value: abs(value - 1))
    return f"{percent(entry.score_at[epsilon])} of the way at ε = {epsilon:g}"


def _by_rows(model: str, tournament: Tournament) -> str:
    """Return the recommended mechanism's mean score at ε = 1 on tables with few rows and on the others."""
    name, epsilon = recommended(model, tournament).name, min(tournament.epsilons, key=lambda value: abs(value - 1))
    scores = [tournament.score((table, epsilon), name) for table in tournament.tables if (table, epsilon) in tournament.games]
    halves = {
        f"below {FEW_ROWS:,} rows": [score.value for score in scores if (score.rows or 0) < FEW_ROWS],
        "above": [score.value for score in scores if (score.rows or 0) >= FEW_ROWS],
    }
    parts = [f"{percent(sum(values) / len(values))} of the way on tables {where}" for where, values in halves.items() if values]
    return f"at ε = {epsilon:g} `{name}` goes {listed(parts)} ({model})"


def _held_out(played: Mapping[str, Tournament]) -> list[str]:
    """Return how close the recommended mechanisms are to the best on tables that no rule of dpbench's own was designed on.

    These are the tables at even places of the alphabetical list; a rule may look at the others.
    """
    tables = sorted({score.table for tournament in played.values() for score in tournament.scores})[1::2]
    parts = []
    for model, tournament in played.items():
        name = recommended(model, tournament).name
        share = tournament.close(name, [(table, epsilon) for table in tables for epsilon in tournament.epsilons if epsilon <= 1])
        parts += [f"`{name}` in {percent(share)} ({model})"] if share is not None else []
    where = f"on the {plural(len(tables), 'table')} at even places of the alphabetical list, on which no constant was chosen"
    return [f"Within {100 * CLOSE:g} points of the best at ε ≤ 1 {where}: {listed(parts)}."] if parts else []


def rules(tournaments: Mapping[str, Tournament]) -> list[str]:
    """Return how scores and ranks are made, rule by rule."""
    runs = sorted({score.runs for tournament in tournaments.values() for score in tournament.scores if score.runs})
    deltas = sorted({score.delta for tournament in tournaments.values() for score in tournament.scores if score.delta})
    return [
        "A cell is a mechanism on a table at one accounted ε"
        + (f" (at δ = {deltas[-1]:g}; a mechanism with pure ε promises more)" if deltas else "")
        + f", with {listed(map(str, runs))} runs on the same splits for all. Options are defaults or rules of public facts, the "
        "same for every table; bounds are public, sensitivities the smallest that are proven, noise is simulated.",
        "Its score is the share of the way from the mean predictor (0 %) to the non-private fit (100 %) in held-out "
        f"{ERRORS['real'].upper()}, or for two classes in held-out {ERRORS['binary'].replace('_', ' ')}: 1 minus the median over "
        "the runs of the share that is lost. Below 0 % it counts as 0 %: then the mean predictor is better.",
        *_rule_of_failures(tournaments),
        "A mechanism that refuses a table, or failed on it, has 0 % there: who chooses it has only the mean predictor. The "
        "column *tables* says how many it takes. This costs the mechanism itself, and moves no two others past each other.",
        f"Two mechanisms tie in a cell if their scores differ by less than {100 * PRACTICAL_SHARE:g} point or by less than "
        "chance explains (95 % intervals of both medians; about one in twenty equal pairs is told apart). A rank is 1, plus 1 "
        "for every mechanism that is better, plus ½ for every tie. A table counts once: its ranks are averaged over ε first.",
        f"Tables on which the non-private fit saves less than {percent(MIN_GAIN)} of the mean predictor's error are shown and "
        "not counted.",
        "*Verdict*: `sound` means that every answer carries a proof and that a replay on made-up neighbouring tables of the same "
        "shape could not refute it; `claimed` cells were not replayed. Anything else is not ranked.",
        "In the diagram of mean ranks, a bar joins mechanisms that Wilcoxon's signed-rank test over the tables, with Holm's "
        "correction for all pairs at 5 %, does not separate (Demšar 2006); where there are too few tables for that test to "
        "separate any two, Nemenyi's test.",
    ]


def _rule_of_failures(tournaments: Mapping[str, Tournament]) -> list[str]:
    """Return what the shares in brackets are, if there are any."""
    entries = [entry for tournament in tournaments.values() for entry in tournament.entries]
    if not any(share for entry in entries for share in entry.failed_at.values()):
        return []
    return [
        "In brackets, and in the column *lost all*: the share of the runs that lost everything, because the mean predictor is at "
        "least as good. A median hides them; nothing is floored or clipped here."
    ]


def notes(tournament: Tournament) -> Sequence[str]:
    """Return what a reader must know about this tournament."""
    sentences = [f"Not ranked: `{name}` is {guarantee}." for name, guarantee in tournament.unranked.items()]
    if tournament.shown_only:
        sentences.append(f"Shown and not counted: {listed(tournament.shown_only)}.")
    failed = {score.mechanism for score in tournament.scores if score.state == "failed"}
    if failed:
        sentences.append(f"Some cells failed: {listed(sorted(failed))}.")
    seen, counted = {score.table for score in tournament.scores} - set(tournament.shown_only), set(tournament.tables)
    if seen - counted:
        sentences.append(f"Not complete yet, so not counted: {listed(sorted(seen - counted))}.")
    if tournament.p is not None:
        test = "Wilcoxon's" if tournament.by_signed_ranks else f"Nemenyi's, critical difference {tournament.critical:.2f},"
        sentences.append(f"Friedman's test that all are alike: p = {tournament.p:.2g}. The test of pairs is {test} at 5 %.")
    return sentences
