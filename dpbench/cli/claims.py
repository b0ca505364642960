"""Hold what the papers assert about their own results against the recorded sweeps of their presets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dpbench.base.errors import Refused

if TYPE_CHECKING:
    from dpbench.experiments.claims import Verdict


@click.command("claims")
@click.argument("paper", required=False)
@click.option("--uri", default=None, help="The tracking store [default: MLFLOW_TRACKING_URI, else sqlite:///mlflow.db].")
@click.option("--experiment", default="dpbench", show_default=True, help="The MLflow experiment that holds the sweeps.")
@click.option("--claims", "own", default=None, help="A claims file of your own, in place of a paper's.")
@click.option("--sweep", default=None, help="For claims that name no preset: a sweep by its run id [default: the newest].")
@click.option("--out", default=None, type=click.Path(dir_okay=False), help="Write the scorecard as Markdown into this file.")
@click.option("--csv", "table", default=None, type=click.Path(dir_okay=False), help="Write every number into this CSV file.")
def command(
    paper: str | None, uri: str | None, experiment: str, own: str | None, sweep: str | None, out: str | None, table: str | None
) -> None:
    """Hold what the papers assert about their own results against the recorded sweeps of their presets.

    PAPER is one of the files in conf/claims, such as zhang2012; without it every paper is looked at. A claim whose preset was
    not run says with which command it can be. The exit code is 0 whatever the verdicts are.
    """
    from dpbench.experiments.scorecard import print_scorecard

    verdicts = _verdicts(paper, own, uri, experiment, sweep)
    written = _write(verdicts, out, table)  # first: whoever reads the output may stop reading it
    print_scorecard(verdicts)
    for path in written:
        click.echo(f"Written: {path}")


def _verdicts(paper: str | None, own: str | None, uri: str | None, experiment: str, asked: str | None) -> list[Verdict]:
    """The claims against the store: its sweeps are read and judged while it is open, since cells' files are read on demand."""
    from dpbench.experiments.claims import NEWEST, claims_in, claims_of, papers, verdict
    from dpbench.tracking.connection import Missing
    from dpbench.tracking.store import open_store
    from dpbench.tracking.sweep_reader import preset_sweeps, read_sweep

    if own is not None and paper is not None:
        raise Refused(f"Give a paper or --claims, and not both. Got {paper!r} and --claims {own}.")
    names = [paper] if paper is not None else papers()
    claims = claims_in(own) if own is not None else [claim for name in names for claim in claims_of(name)]
    newest = any(NEWEST in claim.sweeps for claim in claims)
    if asked is not None and not newest:
        raise Refused("The option --sweep is for claims that name no preset, and every claim here does.")
    try:
        with open_store(uri, experiment, create=False) as store:
            sweeps = preset_sweeps(store) | ({NEWEST: read_sweep(store, asked)} if newest else {})
            return [verdict(claim, sweeps) for claim in claims]
    except Missing as nothing:
        click.echo(str(nothing), err=True)
        return [verdict(claim, {}) for claim in claims]


def _write(verdicts: list[Verdict], out: str | None, table: str | None) -> list[Path]:
    """The files that were asked for, in folders that are made where they are missing."""
    from dpbench.experiments.scorecard import markdown, write_csv

    page, numbers = (Path(name).expanduser().resolve() if name is not None else None for name in (out, table))
    written = [path for path in (page, numbers) if path is not None]
    try:
        for path in written:
            path.parent.mkdir(parents=True, exist_ok=True)
        if page is not None:
            page.write_text(markdown(verdicts), encoding="utf-8")
        if numbers is not None:
            write_csv(verdicts, numbers)
    except OSError as error:
        raise Refused(f"The file {error.filename!r} cannot be written: {error.strerror}.") from None
    return written
