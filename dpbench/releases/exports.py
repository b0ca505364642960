"""What a release is written as, next to model.json: a model card, an ONNX file, a registry entry, a model in MLflow.

All of it follows from model.json, so it costs nothing and may be made again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from dpbench.base.errors import Refused, Unfinished
from dpbench.base.whole_file import write_whole
from dpbench.releases.model_card import is_card, model_card
from dpbench.releases.release_file import Release


@dataclass(frozen=True)
class Exports:
    """Which of them are wanted, and where."""

    card: Path | None = None
    onnx: Path | None = None
    registry: Path | None = None
    mlflow: str = ""
    """The name of the model in MLflow; empty: it is not registered."""
    store: str | None = None
    """The URI of MLflow's store; without one it is the store that sweeps are recorded in by default."""
    overwrite: bool = False

    def check(self) -> None:
        """Refuse what cannot be written, as far as that is known before there is a release."""
        if self.card is not None and self.card.is_file() and self.overwrite and (text := _text(self.card)) and not is_card(text):
            raise Refused(f"overwrite=true replaces a model card, and {str(self.card)!r} is another file.")
        if self.registry is not None:
            from dpbench.releases.registry_entry import check_file_name

            check_file_name(self.registry.name)
        if self.onnx is not None:
            from dpbench.releases.onnx_model import require

            require()
        if self.mlflow:
            from dpbench.releases.mlflow_model import check_name
            from dpbench.tracking.store import check_uri

            check_name(self.mlflow)
            check_uri(self.store)

    def write(self, release: Release, model: Path, today: date) -> Iterator[str]:
        """Write everything, and yield a line or more about each."""
        card = model_card(release, model.name)
        if self.card is not None:
            yield self._written("Model card", self.card, card.encode())
        if self.onnx is not None:
            from dpbench.releases.onnx_model import onnx_bytes

            yield self._written("ONNX", self.onnx, onnx_bytes(release))
        if self.registry is not None:
            yield from self._entry(release, self.registry, today)
        if self.mlflow:
            yield from self._registered(release, card)

    def _entry(self, release: Release, path: Path, today: date) -> Iterator[str]:
        from dpbench.releases.registry_entry import entry_text, open_fields, registry_entry

        entry = registry_entry(release, path.stem.replace("_", "-"), today)
        yield self._written("Registry entry", path, entry_text(entry).encode())
        yield "Fill in, because only a human knows them:"
        yield from (f"  {name}" for name in open_fields(entry))

    def _registered(self, release: Release, card: str) -> Iterator[str]:
        from dpbench.releases.mlflow_model import register_release

        registered = register_release(release, self.mlflow, self.store, card)
        yield f"Registered: {registered.address} in {registered.store}"
        environment = "" if registered.is_default else f"MLFLOW_TRACKING_URI={registered.store} "
        yield f"Serve it: {environment}mlflow models serve -m {registered.address} --env-manager local --port 5001"

    def _written(self, what: str, path: Path, content: bytes) -> str:
        try:
            write_whole(path, content, self.overwrite)
        except FileExistsError:
            raise Refused(f"The file {str(path)!r} exists already: overwrite=true replaces it.") from None
        except OSError as error:
            raise Unfinished(f"The file {str(path)!r} could not be written: {error.strerror}.") from None
        return f"{what}: {path}"


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")
