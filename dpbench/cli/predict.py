"""Predict the rows of a CSV or Parquet file with a released model."""

import click

from dpbench.base.errors import Refused, Unfinished
from dpbench.base.terminal import say
from dpbench.base.user_path import user_path

DIALECT_KEYS = ("delimiter", "encoding", "header", "decimal", "thousands")
KEYS = ("out", "overwrite", "interval", *DIALECT_KEYS)


@click.command(name="predict")
@click.argument("model")
@click.argument("rows")
@click.argument("keys", nargs=-1, type=click.UNPROCESSED)
def command(model: str, rows: str, keys: tuple[str, ...]) -> None:
    """Predict the rows of a CSV or Parquet file with a released model.

    MODEL is a file that `release` wrote, ROWS a file with the columns of the model; others are ignored. KEYS: out=predictions.csv
    (or .parquet), overwrite=true, interval=0.95 adds the ends of an interval where the release has intervals; delimiter,
    encoding, header, decimal and thousands say how a CSV is written, as for dataset=table.

    Cells mean what they meant in the fit: values outside the declared bounds are clipped to them, and a missing value is what
    the declaration says, or is refused.
    """
    from dpbench.cli._plain_keys import output_path, read_keys, read_number, read_truth
    from dpbench.files.dialects import Dialect
    from dpbench.files.table_files import open_table
    from dpbench.files.user_files import regular_file
    from dpbench.releases.prediction_file import predict_file, prediction_names
    from dpbench.releases.release_file import load_release

    values = read_keys("predict", keys, KEYS)
    overwrite = read_truth("overwrite", values.get("overwrite", "false"))
    rule = "a probability between 0 and 1, such as 0.95"
    interval = read_number("interval", values["interval"], rule) if "interval" in values else None
    dialect = {key: values.get(key) for key in DIALECT_KEYS} | {
        "header": read_truth("header", values["header"]) if "header" in values else None
    }
    released, source = load_release(model), regular_file(rows)
    out = values.get("out", "predictions.csv")
    path = output_path("out", out, overwrite, [source, user_path(model)])
    try:
        count = predict_file(released, open_table(rows, Dialect.of(dialect), option=""), path, interval, overwrite)
    except FileExistsError:
        raise Refused(f"The file {out!r} exists already: overwrite=true replaces it.") from None
    except OSError as error:
        raise Unfinished(f"The predictions could not be written to {out!r}: {error.strerror}.") from None
    say(f"Written: {path} ({count:,} {'row' if count == 1 else 'rows'})")
    if released.event:
        say(f"{prediction_names(released)[0]} is the probability that {released.target.name} is {released.event}.")
