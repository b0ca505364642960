"""A released model as a model of MLflow, registered under a name, so that MLflow's own commands load and serve it."""

import re
import shutil
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpbench.base.errors import Refused, Unfinished
from dpbench.base.version import __version__
from dpbench.releases.prediction_file import prediction_names
from dpbench.releases.release_file import Release
from dpbench.releases.release_inputs import inputs_of
from dpbench.releases.released_intervals import ReleasedIntervals
from dpbench.tracking.registered_models import register
from dpbench.tracking.store import check_uri, open_store

EXPERIMENT = "dpbench-releases"
"""The experiment that registered models belong to: sweeps have another one."""
NAME = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
METADATA_KEYS = ("epsilon", "delta", "neighbours", "rows", "persons", "rows_per_person", "noise")


def check_name(name: str) -> None:
    """Refuse a name that a model cannot have in MLflow's addresses."""
    if not NAME.fullmatch(name):
        raise Refused(f"The name of a model in MLflow must be letters, digits, _, . and -, as in mlflow=wages. Got {name!r}.")


def metadata_of(release: Release) -> dict[str, Any]:
    """Return what the model's metadata says: its privacy first."""
    privacy = {key: release.privacy[key] for key in METADATA_KEYS if key in release.privacy}
    components = {
        "mechanism": release.mechanism["name"],
        "model": release.model["name"],
        "synthetic": release.dataset["synthetic"],
    }
    return {**privacy, **components, "statement": release.statement, "made_by": release.made_by}


def write_mlflow_model(release: Release, folder: Path) -> None:
    """Write a model from code: model.json, the file that serves it, and a signature from the columns."""
    with tempfile.TemporaryDirectory(prefix="dpbench-") as staged, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # hints to authors of models
        from mlflow import pyfunc

        from dpbench.releases import served_model

        # MLflow notes where it found the files: not in this installation's folder, which would name the machine's user
        code = Path(shutil.copy(str(served_model.__file__), staged))
        release.save(Path(staged, "model.json"))
        pyfunc.save_model(
            str(folder),
            python_model=str(code),
            artifacts={served_model.RELEASE: str(Path(staged, "model.json"))},
            signature=_signature(release),
            metadata=metadata_of(release),
            pip_requirements=[f"dp-regression-bench=={__version__}"],
        )


@dataclass(frozen=True)
class RegisteredModel:
    """Where a model is registered."""

    address: str
    """As in ``models:/wages/1``."""
    store: str
    """The URI of the store, without its password."""
    is_default: bool
    """Whether MLflow finds the store by itself, from the current folder or from MLFLOW_TRACKING_URI."""


def register_release(release: Release, name: str, uri: str | None, note: str) -> RegisteredModel:
    """Register the model in the store at this URI. ``note`` is what MLflow shows next to it."""
    from mlflow.exceptions import MlflowException

    check_name(name)
    with open_store(uri, EXPERIMENT) as store, tempfile.TemporaryDirectory(prefix="dpbench-") as folder:
        write_mlflow_model(release, Path(folder, "model"))
        privacy = release.privacy
        facts = {key: str(privacy[key]) for key in ("epsilon", "delta", "neighbours")}
        facts |= {"mechanism": str(release.mechanism["name"]), "model": str(release.model["name"])}
        try:
            version = register(store, name, Path(folder, "model"), facts, release.statement, note)
        except MlflowException as error:
            raise Unfinished(f"The model was not registered in {store.shown}: {str(error).partition(chr(10))[0]}") from None
        return RegisteredModel(f"models:/{name}/{version}", store.shown, store.uri == check_uri(None))


def _signature(release: Release) -> Any:
    """Return MLflow's signature: a number or a text for each attribute, and the prediction."""
    from mlflow.models import ModelSignature
    from mlflow.types.schema import ColSpec, DataType, ParamSchema, ParamSpec, Schema

    inputs: list[Any] = [ColSpec(DataType.string if each.is_text else DataType.double, each.name) for each in inputs_of(release)]
    outputs: list[Any] = [ColSpec(DataType.double, name) for name in prediction_names(release)]
    intervals = release.kind == "real" and isinstance(release.inference, ReleasedIntervals)
    params: Any = ParamSchema([ParamSpec("interval", DataType.double, None)]) if intervals else None
    return ModelSignature(Schema(inputs), Schema(outputs), params)
