"""``python -m dpbench data``: List the datasets, draft a bounds file for your own table, or download a dataset."""

import json
from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Any

import click

from dpbench.base.errors import Refused
from dpbench.base.random_streams import stream
from dpbench.base.terminal import say, say_prose
from dpbench.contracts.dataset import Dataset
from dpbench.registry.lookup import build, registry

WARNING = (
    "WARNING: these bounds and levels were read from the private rows. Replace them by what is known without the rows before you "
    "use them: unchanged, they are a leak that no ε pays for. Records name the leak while the file says from_data: true, and not "
    "after that line is deleted."
)


@click.group("data", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """List the datasets (the default), draft a bounds file for your own table, or download a dataset."""
    if context.invoked_subcommand is None:
        context.invoke(list_datasets, as_json=False)


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print plain data instead of a table.")
def list_datasets(as_json: bool) -> None:
    """List every dataset: rows, attributes, target, threshold, licence, citation, and whether it is synthetic."""
    datasets = [
        _facts(build("dataset", {"name": name, **options}), options)
        for name in registry().names("dataset")
        for options in registry().get("dataset", name).variants()
    ]
    say(json.dumps(datasets, indent=2, ensure_ascii=False) if as_json else "\n".join(map(_text, datasets)))


@command.command()
@click.argument("path")
@click.option("--out", type=click.Path(dir_okay=False), help="Write the file there instead of printing it.")
@click.option("--target", default="", help="The column to predict.  [default: a guess; none for an extract]")
@click.option("--delimiter", help="The character between the columns of a CSV, or tab.  [default: a guess]")
@click.option("--encoding", help="The encoding of a CSV, such as latin-1.  [default: a guess]")
@click.option("--header/--no-header", default=None, help="Whether the first row names the columns.  [default: a guess]")
@click.option("--decimal", help="The decimal separator of numbers, . or ,.  [default: a guess]")
@click.option("--thousands", help="The thousands separator of numbers: comma, point, space, apostrophe.  [default: a guess]")
@click.option("--null", "nulls", multiple=True, help="A cell that means a missing value; may be given several times.")
def describe(path: str, out: str | None, target: str, nulls: tuple[str, ...], **dialect: Any) -> None:
    """Draft a bounds file for your own table, for you to edit.

    Of a CSV or Parquet table, the numbers come from the data. Of an IPUMS extract, name the codebook, such as cps_00001.xml: the
    draft comes from it alone, and leaves bounds open that it does not know.
    """
    from dpbench.files.bounds_draft import draft_bounds
    from dpbench.files.codebook import codebook_of, read_codebook
    from dpbench.files.codebook_draft import draft_from_codebook
    from dpbench.files.dialect_guess import guess_dialect
    from dpbench.files.table_files import open_table
    from dpbench.files.user_files import regular_file

    regular_file(path)
    codebook = codebook_of(path)
    if codebook:
        text = draft_from_codebook(read_codebook(codebook), target)
    else:
        any_style = dialect["decimal"] is None and dialect["thousands"] is None
        guess = guess_dialect(path, {**dialect, "nulls": nulls})
        text = draft_bounds(lambda known: open_table(path, known, "--"), guess, target, any_style)
    if out is not None:
        try:
            with Path(out).open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            raise Refused(f"The file {out!r} already exists, and may have been edited. Give --out another name.") from None
        except OSError as error:
            raise Refused(f"The file {out!r} cannot be written: {error.strerror}.") from None
    if not codebook:
        say_prose(WARNING, error=True)
    use = f"python -m dpbench dataset=table {quote(f'dataset.path={path}')} {quote(f'dataset.bounds={out}')}"
    use += " dataset.missing=drop" if codebook else ""
    say(text if out is None else f"Edit it, then: {use}", end="\n" if out is not None else "")


@command.command()
@click.argument("name")
@click.argument("options", nargs=-1)
def fetch(name: str, options: tuple[str, ...]) -> None:
    """Download the data of a dataset, with its options as on the command line: fetch acs state=vt year=2019."""
    from dpbench.sweeps.hydra.overrides import parse

    values = {}
    for text, axis in zip(options, parse(options), strict=True):
        if len(axis.values) != 1:
            raise Refused(f"{text!r} must give one value: fetch takes one dataset at a time.")
        values[axis.key.removeprefix("dataset.")] = axis.values[0]
    registry().get("dataset", name).build(values).fetch(say)


def _facts(dataset: Dataset, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is public about a dataset with these options; without its data, a note says how to get it."""
    facts = {"name": dataset.name, "options": options, "summary": dataset.summary(), "synthetic": dataset.synthetic}
    facts |= {"rows": None, "attributes": [], "target": "", "threshold": None, "note": ""}
    facts |= {"licence": dataset.licence, "citation": dataset.citation, "remark": dataset.remark}
    try:
        table = dataset.for_target("real").select(stream(0))
    except Refused as refusal:
        return facts | {"note": str(refusal)}
    target = f"{table.target.name}, {table.target.low:g} to {table.target.high:g} {table.target.unit}".rstrip()
    return facts | {"rows": table.rows, "attributes": list(table.attributes), "target": target, "threshold": table.threshold}


def _text(facts: dict[str, Any]) -> str:
    rows = f"{facts['rows']:,} rows" if facts["rows"] is not None else "not available yet"
    name = " ".join([facts["name"], *(f"dataset.{key}={value}" for key, value in facts["options"].items())])
    lines = [f"{name}: {'SYNTHETIC, ' if facts['synthetic'] else ''}{rows}", *([] if facts["options"] else [facts["summary"]])]
    if facts["attributes"]:
        above = f"; binary: above {facts['threshold']:g}" if facts["threshold"] is not None else ""
        lines += [f"attributes: {', '.join(facts['attributes'])}", f"target: {facts['target']}{above}"]
    lines += [f"{key}: {facts[key]}" for key in ("remark", "licence", "citation") if facts[key]]
    lines += [facts["note"]] if facts["note"] else []
    return "\n  ".join(lines) + "\n"
