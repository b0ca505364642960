"""Write a released model as a model card, an ONNX file, a registry entry or a model in MLflow."""

import click

from dpbench.base.errors import Refused
from dpbench.base.terminal import say


@click.command(name="export")
@click.argument("model")
@click.argument("keys", nargs=-1, type=click.UNPROCESSED)
def command(model: str, keys: tuple[str, ...]) -> None:
    """Write a released model as a model card, an ONNX file, a registry entry or a model in MLflow; no ε is spent.

    MODEL is a file that `release` wrote. KEYS, at least one: card=model_card.md; onnx=model.onnx (extra `onnx`);
    registry=model.yaml, an entry for the registry of deployments that OpenDP maintains; mlflow=NAME registers the model in
    MLflow under this name, in the store that tracking.uri=… names. overwrite=true replaces files that exist.
    """
    from datetime import UTC, datetime

    from dpbench.base.user_path import user_path
    from dpbench.cli._export_keys import KEYS, read_exports
    from dpbench.cli._plain_keys import read_keys, read_truth
    from dpbench.releases.release_file import load_release

    values = read_keys("export", keys, (*KEYS, "overwrite"))
    overwrite = read_truth("overwrite", values.pop("overwrite", "false"))
    if not values:
        raise Refused(f"An export must say what to write: {', '.join(f'{key}=…' for key in KEYS[:-1])}. Got nothing.")
    released, path = load_release(model), user_path(model)
    for line in read_exports(values, overwrite, [path]).write(released, path, datetime.now(UTC).date()):
        say(line)
