"""Read the keys that say what a release is written as: ``release`` has them for a new one, ``export`` for one that exists."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dpbench.base.errors import Refused
from dpbench.cli._plain_keys import output_path

if TYPE_CHECKING:
    from dpbench.releases.exports import Exports

PATH_KEYS = ("card", "onnx", "registry")
STORE_KEY = "tracking.uri"
KEYS = (*PATH_KEYS, "mlflow", STORE_KEY)


def read_exports(keys: Mapping[str, str], overwrite: bool, inputs: Collection[Path]) -> "Exports":
    """Return the exports that were typed, checked as far as that is possible without a release."""
    from dpbench.releases.exports import Exports

    if STORE_KEY in keys and "mlflow" not in keys:
        raise Refused(f"The key {STORE_KEY!r} says where a model is registered, and needs its name: mlflow=wages. Got no name.")
    paths = {key: output_path(key, keys[key], overwrite, inputs) for key in PATH_KEYS if key in keys}
    if len({path.absolute() for path in paths.values()}) < len(paths):
        raise Refused(f"The keys {' and '.join(map(repr, paths))} must name different files. Got one file twice.")
    exports = Exports(**paths, mlflow=keys.get("mlflow", ""), store=keys.get(STORE_KEY), overwrite=overwrite)
    exports.check()
    return exports
