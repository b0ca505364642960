"""Fit once on all rows with secure noise, and write a model that may be published."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpbench.base.errors import Refused, Unfinished, unknown
from dpbench.base.terminal import say, say_prose
from dpbench.base.user_path import user_path
from dpbench.cli._export_keys import KEYS as EXPORT_KEYS
from dpbench.cli._export_keys import read_exports
from dpbench.cli._plain_keys import read_keys

if TYPE_CHECKING:
    from dpbench.sweeps.grid import Axis

GROUPS = ("mechanism", "model", "dataset", "inference")
KEYS = ("epsilon", "delta", "budget", "accounting", "sensitivity")
FILE_KEYS = ("out", "overwrite")
SELECT_KEY, SELECT_VALUE = "select", "private"
SELECTED_GROUPS = ("mechanism", "model")
"""Groups whose keys may have several values where the data chooses."""


@click.command(name="release")
@click.argument("overrides", nargs=-1, type=click.UNPROCESSED)
def command(overrides: tuple[str, ...]) -> None:
    """Fit once on all rows with secure noise, and write a model that may be published.

    OVERRIDES choose what is fitted: mechanism=fm dataset=wine epsilon=1 out=model.json. Nothing is recorded, no error is
    computed, and every run draws other noise: asking twice costs twice. ε is what is accounted at δ, whatever a paper calls
    ε (budget=claimed hands it over as the paper counts). Intervals of the coefficients follow from the same answers and cost
    nothing; inference.… chooses which. overwrite=true replaces files that exist.

    select=private chooses by the data, and pays for it: mechanism=ssp,fm,best mechanism.ridge=2,4 epsilon=1 fits candidates,
    scores them with noise, and writes the best one with its score. ε is the total of the choice, so each candidate gets less.

    A model card is written next to the model (card=FILE says where). Further keys, which cost nothing: mlflow=NAME registers
    the model in MLflow under this name, in the store that tracking.uri=… names; onnx=model.onnx (extra `onnx`);
    registry=model.yaml, an entry for the registry of deployments that OpenDP maintains. `export` writes them later.
    """
    from datetime import UTC, datetime

    from dpbench.privacy.secure_noise import require
    from dpbench.registry.lookup import build
    from dpbench.releases.budget_book import BudgetBook, Reservation
    from dpbench.releases.fit_release import release
    from dpbench.releases.released_intervals import ReleasedIntervals
    from dpbench.releases.selected_release import selected_release
    from dpbench.report.leaderboard.wording import TWO_CLASSES
    from dpbench.sweeps.hydra.composition import grid_points

    typed_exports = [text for text in overrides if text.partition("=")[0] in EXPORT_KEYS]
    path, overwrite, selects, kept = _read([text for text in overrides if text not in typed_exports])
    export_keys = {"card": str(path.with_name(f"{path.stem}_card.md"))} | read_keys("release", typed_exports, EXPORT_KEYS)
    files = _named_files(kept)
    exports = read_exports(export_keys, overwrite, [path, *files.values()])
    require()
    # a mechanism that counts in another currency would spend more than the ε that was typed
    matched = [] if any(text.startswith("budget=") for text in kept) else ["budget=matched"]
    configs = [point.config for point in grid_points([*kept, *matched])]
    withheld = [config["model"] for config in configs if config["mechanism"]["name"] == TWO_CLASSES.withheld]
    if any(build("model", model).target == "binary" for model in withheld):
        say_prose(TWO_CLASSES.sentence)  # before ε is spent
    label = ", ".join(dict.fromkeys(str(config["mechanism"]["name"]) for config in configs))
    reservation = Reservation(BudgetBook(), f"one of {label}" if len(configs) > 1 else label, str(path.absolute()))
    try:
        made = selected_release(configs, reservation) if selects else release(configs[0], reserve=reservation)
    except KeyboardInterrupt:
        if reservation.entered:
            say_prose(
                "Nothing was written, but noise may have been drawn: ε stays spent. See `python -m dpbench budget`.", error=True
            )
        raise
    made = replace(made, command=_public_command([*kept, *[f"{SELECT_KEY}={SELECT_VALUE}"] * selects], files, path))
    try:
        made.save(path, overwrite)
    except FileExistsError:
        raise _exists(path) from None
    except OSError as error:
        raise Unfinished(f"The release could not be written: {error.strerror}. Its ε is spent nevertheless.") from None
    reservation.written()
    say_prose(made.statement)
    if isinstance(made.inference, ReleasedIntervals):
        say("\n".join(["", *made.intervals().lines(made.columns, made.target, made.kind == "binary"), ""]))
        say_prose(made.inference.sentence)
    say(f"Written: {path}")
    try:
        for line in exports.write(made, path, datetime.now(UTC).date()):
            say(line)
    except (Refused, Unfinished) as error:
        again = f"`python -m dpbench export {shlex.quote(str(path))} …` tries again, and spends nothing."
        raise Unfinished(f"{error} The model itself is written: {again}") from None
    say("\n".join(_uses(path)))


def _named_files(kept: Sequence[str]) -> dict[str, Path]:
    """Return the files that overrides name, by the override."""
    from dpbench.sweeps.hydra.overrides import parse

    values = {text: axis.values[0] for text, axis in zip(kept, parse(kept), strict=True)}
    return {text: user_path(value) for text, value in values.items() if isinstance(value, str) and user_path(value).is_file()}


def _public_command(kept: Sequence[str], files: Mapping[str, Path], path: Path) -> str:
    """Return what was typed for the file that may be published: without the folders of this machine."""
    public = [f"{text.partition('=')[0]}={files[text].name}" if text in files else text for text in kept]
    return shlex.join(["python", "-m", "dpbench", "release", *public, f"out={path.name}"])


def _uses(path: Path) -> list[str]:
    """Return how the model is used, as commands and a line of Python."""
    file = shlex.quote(str(path))
    return [
        f"Predict new rows:  python -m dpbench predict {file} new.csv out=predictions.csv",
        f"In Python:         dpbench.load_release({str(path)!r}).predict(frame)",
        f"Check its privacy: python -m dpbench verify {file}",
    ]


def _read(overrides: Sequence[str]) -> tuple[Path, bool, bool, list[str]]:
    """Return the path of the model, whether it may replace a file, whether the data chooses, and the other overrides."""
    from dpbench.sweeps.hydra.overrides import parse

    file: dict[str, Any] = {}
    kept: list[str] = []
    axes = parse(overrides)
    selects = _selects(axes)
    for text, axis in zip(overrides, axes, strict=True):
        if axis.swept and not (selects and axis.key.partition(".")[0] in SELECTED_GROUPS):
            raise _several(text, selects)
        if axis.key == "seed":
            raise Refused("A release takes no seed: its noise comes from the operating system, and must not be drawn again.")
        if axis.key == "noise" and axis.values != ("secure",):
            raise Refused(f"A release draws secure noise: noise must be 'secure'. Got {axis.values[0]!r} instead.")
        if axis.key in FILE_KEYS:
            file[axis.key] = axis.values[0]
        elif axis.key.partition(".")[0] in GROUPS or axis.key in KEYS:
            kept.append(text)
        elif axis.key not in ("noise", SELECT_KEY):
            raise unknown("key of release", axis.key, [*GROUPS, *KEYS, *FILE_KEYS, SELECT_KEY, *EXPORT_KEYS])
    for key in ("mechanism", "dataset", "epsilon"):
        if key not in [axis.key for axis in axes]:
            raise Refused(f"A release must say its {key}: nothing is taken for granted. Got no {key}=….")
    if not isinstance(overwrite := file.get("overwrite", False), bool):
        raise Refused(f"The key 'overwrite' must be true or false. Got {overwrite!r} instead.")
    return _path(file.get("out"), overwrite), overwrite, selects, kept


def _selects(axes: Sequence[Axis]) -> bool:
    """Return whether the request lets the data choose among candidates."""
    values = [axis.values for axis in axes if axis.key == SELECT_KEY]
    if values and values != [(SELECT_VALUE,)]:
        raise Refused(f"The key {SELECT_KEY!r} must be {SELECT_VALUE!r}. Got {values[0][0]!r} instead.")
    return bool(values)


def _several(text: str, selects: bool) -> Refused:
    if selects:
        return Refused(f"{text!r} gives several values: the data chooses among mechanisms, models and their options only.")
    hint = f"{SELECT_KEY}={SELECT_VALUE} lets the data choose among several, and pays for it."
    return Refused(f"{text!r} gives several values: a release is one fit. {hint}")


def _path(out: Any, overwrite: bool) -> Path:
    if not isinstance(out, str) or not out:
        raise Refused("A release needs a file to write, as in out=model.json.")
    path = user_path(out)
    if not path.parent.is_dir():
        raise Refused(f"The folder of out={out} does not exist.")
    if not os.access(path.parent, os.W_OK):
        raise Refused(f"The folder of out={out} cannot be written to.")
    if path.is_dir():
        raise Refused(f"out={out} is a folder: name a file in it.")
    if path.exists() and not overwrite:
        raise _exists(path)
    if path.exists():
        _check_replaced(path)
    return path


def _check_replaced(path: Path) -> None:
    """Refuse to replace a file that is neither a released model nor the beginning of one, such as the table itself."""
    from dpbench.releases.release_file import begins_as_release, load_release

    try:
        load_release(path)
    except Refused as refusal:
        if begins_as_release(path):
            return
        raise Refused(f"overwrite=true replaces a released model, and no other file. {refusal}") from None


def _exists(path: Path) -> Refused:
    return Refused(f"The file {str(path)!r} exists already: overwrite=true replaces it, but cannot take back what it released.")
