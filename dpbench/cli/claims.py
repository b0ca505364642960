"""Hold what the papers assert about their own results against the recorded sweeps of their presets."""

from collections.abc import Callable
from pathlib import Path

import click

from dpbench.base.errors import Refused, check_known
from dpbench.base.terminal import say
from dpbench.base.user_path import user_path
from dpbench.experiments.claims import NEWEST, Claim, Verdict, claims_in, claims_of, judge, papers_with_claims
from dpbench.experiments.scorecard import markdown, print_scorecard, write_csv


@click.command("claims")
@click.argument("paper", required=False)
@click.option("--uri", default=None, help="The tracking store [default: MLFLOW_TRACKING_URI, else sqlite:///mlflow.db].")
@click.option("--experiment", default="dpbench", show_default=True, help="The MLflow experiment that holds the sweeps.")
@click.option("--claims", "file", default=None, help="A claims file of your own, in place of a paper's.")
@click.option("--sweep", default=None, help="For claims that name no preset: a sweep by its run id [default: the newest].")
@click.option("--out", default=None, type=click.Path(dir_okay=False), help="Write the scorecard as Markdown into this file.")
@click.option("--csv", "table", default=None, type=click.Path(dir_okay=False), help="Write every number into this CSV file.")
def command(
    paper: str | None, uri: str | None, experiment: str, file: str | None, sweep: str | None, out: str | None, table: str | None
) -> None:
    """Hold what the papers assert about their own results against the recorded sweeps of their presets.

    PAPER is the name of a paper (`python -m dpbench plugins` lists them); by default all of them are judged. A claim whose preset
    was not run comes with the command that runs it. The exit code is 0 whatever the verdicts are.
    """
    verdicts = _verdicts(_claims(paper, file), uri, experiment, sweep)
    # files first, since the reader of a pipe may stop reading what is printed
    writers = {out: lambda to: to.write_text(markdown(verdicts), encoding="utf-8"), table: lambda to: write_csv(verdicts, to)}
    written = [_write(user_path(name).resolve(), write) for name, write in writers.items() if name is not None]
    print_scorecard(verdicts)
    for path in written:
        say(f"Written: {path}")


def _claims(paper: str | None, file: str | None) -> list[Claim]:
    """Return the claims of the user's file, of a paper, or of all papers whose claims can be read."""
    if file is not None and paper is not None:
        raise Refused(f"Give a paper or --claims, and not both. Got {paper!r} and --claims {file}.")
    if file is not None:
        return claims_in(file)
    known = papers_with_claims()
    if paper is not None:
        check_known("paper with claims", [paper], known)
        return claims_of(known[paper])
    claims = []
    for name in known:
        try:
            claims += claims_of(known[name])
        except Refused as refusal:
            say(f"The claims of the paper {name!r} are left out: {refusal}", error=True)
    return claims


def _verdicts(claims: list[Claim], uri: str | None, experiment: str, run_id: str | None) -> list[Verdict]:
    """Judge the claims while the store is open, since the files of cells are read on demand."""
    from dpbench.tracking.connection import Missing
    from dpbench.tracking.store import open_store
    from dpbench.tracking.sweep_files import preset_sweeps, read_sweep

    newest = any(NEWEST in claim.presets for claim in claims)
    if run_id is not None and not newest:
        raise Refused("The option --sweep is for claims that name no preset, and all of these claims name one.")
    try:
        with open_store(uri, experiment, create=False) as store:
            sweeps = preset_sweeps(store) | ({NEWEST: read_sweep(store, run_id)} if newest else {})
            return [judge(claim, sweeps) for claim in claims]
    except Missing as missing:
        say(str(missing), error=True)
        return [judge(claim, {}) for claim in claims]


def _write(path: Path, write: Callable[[Path], object]) -> Path:
    """Write a file, and make its folder."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path)
    except OSError as error:
        raise Refused(f"The file {error.filename!r} cannot be written: {error.strerror}.") from None
    return path
