"""The pages of a leaderboard, made from scores alone: HTML that can be sorted and filtered without a network, and Markdown."""

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from dpbench.report.formatting import number, plural
from dpbench.report.leaderboard.scores import Score
from dpbench.report.leaderboard.tournament import Entry, Tournament, tournaments
from dpbench.report.leaderboard.wording import notes, percent, recommendation, rules, small_percent, title

NUMBERS = ("score", "95 % interval", "p20 to p80", "lost all", "ols_se", "runs", "δ")
COLUMNS = ("model", "table", "mechanism", "ε", *NUMBERS, "verdict", "fit, s")
"""Of the table of all cells."""
FILTERS = 4
"""The first columns of that table can be filtered."""
MAX_SHARE = 10.0
"""Scores below minus nine times the way are not printed."""
SCORES_FILE = "scores.csv"


def html(scores: Sequence[Score], command: str) -> str:
    """Return the page. The figures next to it have the names that :func:`save_diagrams` gives them."""
    played = {model: tournament for model, tournament in tournaments(scores).items() if tournament.entries}
    boards = [
        {
            "model": model,
            "title": title(model),
            "header": header(tournament),
            "rows": [(index, row(entry, tournament)) for index, entry in enumerate(tournament.entries, 1)],
            "names": [entry.name for entry in tournament.entries],
            "wins": wins(tournament),
            "tables": table_facts(tournament),
            "notes": notes(tournament),
            "games": plural(len(tournament.games), "cell"),
        }
        for model, tournament in played.items()
    ]
    cells = [cell_row(score) for score in scores]
    return str(
        _template().render(
            boards=boards,
            answer=recommendation(played),
            rules=rules(played),
            columns=COLUMNS,
            filters=FILTERS,
            cells=json.dumps(cells, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/"),
            count=plural(len(cells), "cell"),
            command=command,
            scores_file=SCORES_FILE,
        )
    )


def markdown(scores: Sequence[Score], command: str) -> str:
    """Return a short summary."""
    played = {model: tournament for model, tournament in tournaments(scores).items() if tournament.entries}
    lines = ["# The leaderboard", "", f"Made by `{command}`. [index.html](index.html) has every cell, to sort and to filter;"]
    lines += [f"[{SCORES_FILE}]({SCORES_FILE}) has the numbers. `python -m dpbench leaderboard mechanism=mine` adds a row.", ""]
    lines += [f"- {sentence}" for sentence in recommendation(played)]
    for model, tournament in played.items():
        names = header(tournament)
        lines += [
            "",
            f"## {title(model)}",
            "",
            f"| rank | {' | '.join(names)} |",
            "| ---: | --- |" + " ---: |" * (len(names) - 1),
        ]
        lines += [f"| {index} | {' | '.join(row(entry, tournament))} |" for index, entry in enumerate(tournament.entries, 1)]
        lines += ["", *(f"- {note}" for note in notes(tournament)), ""]
        lines += [f"![Mean ranks]({model}_ranks.png)", "", f"![Mean rank against ε]({model}_epsilon.png)"]
    lines += ["", "## Rules", "", *(f"- {rule}" for rule in rules(played))]
    return "\n".join(lines) + "\n"


def header(tournament: Tournament) -> list[str]:
    """Return the names of the columns of a board."""
    scores = [f"ε = {epsilon:g}" for epsilon in tournament.epsilons]
    return ["mechanism", "mean rank", *scores, "wins", "ties", "losses", "close to the best", "tables", "fit, s", "verdict"]


def row(entry: Entry, tournament: Tournament) -> list[str]:
    """Return the entries of one mechanism's row as texts."""
    scores = [percent(entry.score_at[epsilon]) + _failed(entry, epsilon) for epsilon in tournament.epsilons]
    results = [f"{entry.wins:,}", f"{entry.ties:,}", f"{entry.losses:,}", percent(entry.close)]
    verdict = f"{entry.guarantee}{', pure ε' if entry.pure else ''}"
    return [entry.name, f"{entry.mean_rank:.2f}", *scores, *results, str(entry.tables), number(entry.seconds), verdict]


def _failed(entry: Entry, epsilon: float) -> str:
    """Return the share of the runs that lost everything at this ε, in brackets; empty if none did."""
    share = entry.failed_at.get(epsilon, 0.0)
    return f" ({small_percent(share)})" if share else ""


def wins(tournament: Tournament) -> list[tuple[str, list[str]]]:
    """Return in how many cells each mechanism beats each other one."""
    order = [tournament.names.index(entry.name) for entry in tournament.entries]
    counts = tournament.beats.sum(axis=0)
    return [(tournament.names[one], ["" if one == other else str(counts[one, other]) for other in order]) for one in order]


def table_facts(tournament: Tournament) -> list[list[str]]:
    """Return a row for each table: its size, both references, and whether it counts."""
    first: dict[str, Score] = {}
    for score in tournament.scores:
        if score.state == "run":
            first.setdefault(score.table, score)
    facts = []
    for table, score in sorted(first.items()):
        counts = "shown" if table in tournament.shown_only else "counts" if table in tournament.tables else "not complete"
        errors = [number(score.error_no_privacy), number(score.error_mean_predictor), percent(score.gain or 0.0)]
        facts.append([table, f"{score.rows or 0:,}", str(score.columns or ""), *errors, counts])
    return facts


def cell_row(score: Score) -> list[Any]:
    """Return a cell as the page's table shows it."""
    names: list[Any] = [score.model, score.table, score.mechanism, score.epsilon]
    if score.state != "run":
        return [*names, 0, "", "", "", "", "", "", f"{score.state}: {score.reason}", ""]
    low, high = score.interval
    spread = f"{_share(score.share_lost_p80)} to {_share(score.share_lost_p20)}"
    failed = round(100 * score.failed_share, 1) if score.failed_share else ""
    facts = [
        round(100 * score.value, 1),
        f"{100 * low:.1f} to {100 * high:.1f}",
        spread,
        failed,
        _digits(score.ols_se),
        score.runs,
    ]
    return [*names, *facts, _digits(score.delta), score.guarantee, _digits(score.fit_seconds)]


def _share(lost: float | None) -> str:
    return "" if lost is None else f"{100 * (1 - lost):.0f}" if lost < MAX_SHARE else f"below {100 * (1 - MAX_SHARE):.0f}"


def _digits(value: float | None) -> float | str:
    return "" if value is None else float(f"{value:.3g}") if abs(value) < float("inf") else "infinite"


@cache
def _template() -> Any:
    import jinja2

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters["inline"] = inline
    source = files("dpbench.report.leaderboard").joinpath("page.html.j2").read_text(encoding="utf-8")
    return environment.from_string(source)


def inline(text: str) -> Any:
    """Return a sentence as HTML, with what is between backticks as code and between stars as emphasis."""
    from markupsafe import Markup, escape

    result = escape(text)
    for mark, tag in (("`", "code"), ("*", "em")):
        parts = [Markup(f"<{tag}>{{}}</{tag}>").format(part) if odd % 2 else part for odd, part in enumerate(result.split(mark))]
        result = Markup("").join(parts)
    return result
