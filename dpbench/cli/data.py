"""``python -m dpbench data``: List the datasets, draft a bounds file for your own, fetch one that is not here yet."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from dpbench.base.errors import Refused

WARNING = (
    "WARNING: these bounds and levels were read from the private rows. Replace them by what is known without the rows before you "
    "use them: as they stand they are a leak that no ε pays for. Every record says so while from_data is true; without that line "
    "none will."
)


@click.group("data", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """List the datasets (also when no command is named), draft a bounds file for your own table, or fetch a dataset."""
    if context.invoked_subcommand is None:
        context.invoke(list_, as_json=False)


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print plain data instead of a table.")
def list_(as_json: bool) -> None:
    """List every dataset: rows, attributes, target, threshold, licence, citation, and whether it is synthetic."""
    from dpbench.registry.lookup import registry

    found = [_facts(name) for name in registry().names("dataset")]
    if as_json:
        click.echo(json.dumps([vars(facts) for facts in found], indent=2, ensure_ascii=False))
        return
    for facts in found:
        click.echo(facts.text())


@command.command()
@click.argument("path")
@click.option("--out", type=click.Path(dir_okay=False), help="Write the file there instead of printing it.")
@click.option("--delimiter", default=",", show_default=True, help="What parts the columns of a CSV.")
@click.option("--null", "nulls", multiple=True, help="A text that means a missing value; may be given several times.")
def describe(path: str, out: str | None, delimiter: str, nulls: tuple[str, ...]) -> None:
    """Draft a bounds file for a CSV or Parquet table, to be edited: its numbers come from the data."""
    from dpbench.files.bounds_draft import draft_bounds
    from dpbench.files.table_files import open_table

    text = draft_bounds(open_table(path, delimiter), delimiter, nulls or None)
    if out is not None:
        try:
            with Path(out).open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            raise Refused(f"The file {out!r} is there already, and may have been edited. Give --out another name.") from None
        except OSError as error:
            raise Refused(f"The file {out!r} cannot be written: {error.strerror}.") from None
    click.secho(WARNING, err=True, bold=True)
    use = f"python -m dpbench dataset=table dataset.path={path} dataset.bounds={out}"
    click.echo(text if out is None else f"Edit it, then: {use}", nl=out is not None)


@command.command()
@click.argument("name")
@click.argument("options", nargs=-1)
def fetch(name: str, options: tuple[str, ...]) -> None:
    """Bring the data of a dataset onto this machine, with its options as on the command line: fetch acs state=vt year=2019."""
    from dpbench.registry.lookup import registry
    from dpbench.sweeps.grid import parse

    given: dict[str, Any] = {}
    for text, axis in zip(options, parse(options), strict=True):
        if len(axis.values) != 1:
            raise Refused(f"{text!r} must give one value: fetch takes one dataset at a time.")
        given[axis.key.removeprefix("dataset.")] = axis.values[0]
    registry().get("dataset", name).build(given).fetch(click.echo)


@dataclass(frozen=True)
class _Facts:
    """What is public about a dataset with its default options; what is not here yet has no rows."""

    name: str
    summary: str
    synthetic: bool
    rows: int | None
    attributes: list[str]
    target: str
    threshold: float | None
    licence: str
    citation: str
    note: str

    def text(self) -> str:
        rows = f"{self.rows:,} rows" if self.rows is not None else "not here yet"
        lines = [f"{self.name}: {'SYNTHETIC, ' if self.synthetic else ''}{rows}", self.summary]
        if self.attributes:
            above = f"; binary: above {self.threshold:g}" if self.threshold is not None else ""
            lines += [f"attributes: {', '.join(self.attributes)}", f"target: {self.target}{above}"]
        lines += [f"{key}: {value}" for key, value in (("licence", self.licence), ("citation", self.citation)) if value]
        lines += [self.note] if self.note else []
        return "\n  ".join(lines) + "\n"


def _facts(name: str) -> _Facts:
    from dpbench.base.random_streams import stream
    from dpbench.registry.lookup import registry

    dataset = registry().get("dataset", name).build({})
    known = (dataset.name, dataset.summary(), dataset.synthetic)
    try:
        table = dataset.for_target("real").table(stream(0))
    except Refused as refusal:
        return _Facts(*known, None, [], "", None, dataset.licence, dataset.citation, str(refusal))
    target = table.target
    unit = f" {target.unit}" if target.unit else ""
    shown = f"{target.name}, {target.low:g} to {target.high:g}{unit}"
    return _Facts(*known, table.rows, list(table.attributes), shown, table.threshold, dataset.licence, dataset.citation, "")
