"""Choose a mechanism and an ε, or the number of rows, from public facts: no row is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from dpbench.base.errors import Refused
from dpbench.base.terminal import console, print_grid, say

if TYPE_CHECKING:
    from dpbench.choosing.python_api import Choosing

TARGET_KEYS = ("target_error", "target_rmse", "target_interval", "target_risk")
DIALECT_KEYS = ("delimiter", "encoding", "header", "decimal", "thousands")
DATASET_KEYS = ("dataset", "dataset.path", "dataset.bounds", "dataset.target", *(f"dataset.{key}" for key in DIALECT_KEYS))
MODEL_KEYS = ("model", "model.penalty", "model.intercept")
KEYS = ("rows", *DATASET_KEYS, *MODEL_KEYS, "mechanism", "epsilon", "delta", *TARGET_KEYS, "r_squared")
OPEN = "?"
"""``rows=?`` asks for the number of rows, as leaving it out does."""


@click.command(name="choose")
@click.argument("keys", nargs=-1, type=click.UNPROCESSED)
def command(keys: tuple[str, ...]) -> None:
    """Choose a mechanism and an ε, or the number of rows, from public facts: no row is read.

    Which ε do I need? rows=8000 dataset.bounds=people.yaml model=linear target_error=10%
    How many rows do I need? epsilon=1 rows=? dataset.bounds=people.yaml target_error=10%
    What is lost? rows=8000 epsilon=1 dataset.bounds=people.yaml

    KEYS: target_error=10% (of what is explained is lost), target_rmse=300 (in the target's unit), target_interval=1.5 (times
    as wide as without privacy); target_risk=60% (the most often an attack may guess right) in place of epsilon;
    r_squared=0.3..0.7; mechanism=best,ssp; delta. With dataset=table dataset.path=people.csv only the number of rows is taken
    from the file.

    Tables that agree with the bounds, and with `typical:` and `spread:` in the bounds file, are simulated. The answer has two
    numbers: enough for the typical table, and safe for nine of ten.
    """
    from dpbench.choosing.python_api import choose

    print_choice(choose(**arguments(keys)))


def print_choice(chosen: Choosing) -> None:
    """Print an answer; on a terminal, sentences end at words and a table that is too wide is printed row by row."""
    from rich.table import Table

    from dpbench.choosing.wording import answer, grounds, next_step, table

    out = console()
    if not out.is_terminal:
        say(str(chosen))
        return
    header, *rows = table(chosen.choice)
    grid = Table(pad_edge=False, header_style="bold")
    for name in header:
        grid.add_column(name, no_wrap=True)
    for row in rows:
        grid.add_row(*row)
    for sentence in answer(chosen.choice):
        out.print(sentence)
    print_grid(out, grid)
    for sentence in grounds(chosen.choice):
        out.print(sentence)
    for line in next_step(chosen.choice, chosen.files):  # a command is copied, so its line stays whole
        say(line)


def arguments(keys: tuple[str, ...]) -> dict[str, Any]:
    """Return the arguments of ``dpbench.choose`` that the keys spell."""
    from dpbench.cli._plain_keys import read_keys, read_number

    values = read_keys("choose", keys, KEYS)
    if values.get("dataset", "table") != "table":
        raise Refused(f"A choice is for a table of your own: dataset must be table. Got {values['dataset']!r} instead.")
    found: dict[str, Any] = {"bounds": values.get("dataset.bounds"), "target": values.get("dataset.target", "")}
    if values.get("rows", OPEN) != OPEN:
        text = values["rows"].replace(",", "")
        if not text.isdigit():
            raise Refused(f"The key 'rows' must be a whole number, or ? to ask for it. Got {values['rows']!r} instead.")
        found["rows"] = int(text)
    if "dataset.path" in values and "rows" not in values:
        found["data"] = values["dataset.path"]
    elif "dataset.path" in values:
        raise Refused("The number of rows comes from rows= or from the table: leave one of them out.")
    for key in ("epsilon", "delta", "target_rmse", "target_interval"):
        if key in values:
            found[key] = read_number(key, values[key], "a number")
    for key in ("target_error", "target_risk"):
        if key in values:
            found[key] = _share(key, values[key])
    if "r_squared" in values:
        ends = values["r_squared"].split("..")
        numbers = [read_number("r_squared", end, "a range such as 0.3..0.7") for end in ends]
        if len(numbers) > 2:
            raise Refused(f"The key 'r_squared' must be a range such as 0.3..0.7. Got {values['r_squared']!r} instead.")
        found["r_squared"] = (numbers[0], numbers[-1])
    if "mechanism" in values:
        found["mechanism"] = tuple(values["mechanism"].split(","))
    found["model"] = _model(values)
    dialect = {key: values[f"dataset.{key}"] for key in DIALECT_KEYS if f"dataset.{key}" in values}
    return {**found, "dialect": _dialect(dialect)} if dialect else found


def _share(key: str, text: str) -> float:
    """Return a share, which may be spelled with a percent sign."""
    from dpbench.cli._plain_keys import read_number

    number = read_number(key, text.removesuffix("%"), "a share such as 10% or 0.1")
    return number / 100 if text.endswith("%") else number


def _model(values: Mapping[str, str]) -> dict[str, Any]:
    """Return the section of the configuration that the model's keys stand for."""
    from dpbench.cli._plain_keys import read_number, read_truth

    model: dict[str, Any] = {"name": values.get("model", "linear")}
    if "model.penalty" in values:
        model["penalty"] = read_number("model.penalty", values["model.penalty"], "a number")
    if "model.intercept" in values:
        model["intercept"] = read_truth("model.intercept", values["model.intercept"])
    return model


def _dialect(texts: dict[str, str]) -> dict[str, Any]:
    from dpbench.cli._plain_keys import read_truth

    return {key: read_truth(f"dataset.{key}", text) if key == "header" else text for key, text in texts.items()}
