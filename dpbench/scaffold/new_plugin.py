"""What ``python -m dpbench new`` writes: a distribution with one component, or the component alone as a file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dpbench.base.errors import Refused, check_spelling
from dpbench.base.version import __version__
from dpbench.contracts.hooks import OFFERS

FIRST_SWEEPS = {
    "mechanism": "-m mechanism={name},fm epsilon=0.1,1 dataset=wine splits.repeats=6",
    "model": "-m mechanism=fm,no_privacy model={name} dataset=wine splits.repeats=6",
    "dataset": "-m mechanism=fm,no_privacy dataset={name} splits.repeats=6",
    "attack": "-m mechanism=fm,no_privacy attack={name} dataset=wine splits.repeats=6",
    "metric": "-m mechanism=fm,no_privacy dataset=wine splits.repeats=6",
    "paper": "-m experiment={name}/fig1 quick=true",
}
"""The arguments of a command that uses the new component, by its kind."""

PAPER_FILES = ("__init__.py", "claims.yaml", "choices.yaml", "presets/fig1.yaml")


@dataclass(frozen=True)
class NewPlugin:
    """A plugin that brings one component, metric or paper, and the texts of its files."""

    kind: str
    name: str

    def __post_init__(self) -> None:
        check_spelling(f"the {self.kind}", self.name)

    @property
    def distribution(self) -> str:
        """What pip calls it."""
        return f"dpbench-{self.name.replace('_', '-')}"

    @property
    def package(self) -> str:
        """What Python calls it."""
        return f"dpbench_{self.name}"

    @property
    def sweep(self) -> str:
        """The arguments of a first sweep that uses it."""
        return FIRST_SWEEPS[self.kind].format(name=self.name)

    @property
    def class_name(self) -> str:
        """The component's class: my_ridge becomes MyRidge."""
        return "".join(word.capitalize() for word in self.name.split("_"))

    @property
    def module(self) -> str:
        """The text of a component's module."""
        return self._text(f"{self.kind}.py")

    @property
    def files(self) -> dict[str, str]:
        """The texts of a distribution's files, by their paths."""
        files = {name: self._text(name) for name in ("pyproject.toml", "README.md", "ci.sh")}
        files[f"tests/test_{self.name}.py"] = self._text("test.py")
        if self.kind == "paper":
            return files | {f"{self.package}/{name}": self._text(f"paper/{name}") for name in PAPER_FILES}
        return files | {f"{self.package}/__init__.py": self.module}

    def write_distribution(self, parent: Path) -> Path:
        """Write the distribution into a new folder, and return the folder."""
        folder = parent / self.distribution
        if folder.exists():
            raise Refused(f"{str(folder)!r} already exists, and nothing in it was changed. Choose another name, or move it away.")
        for path, text in self.files.items():
            _write(folder / path, text)
        (folder / "ci.sh").chmod(0o755)
        return folder

    def write_file(self, parent: Path) -> Path:
        """Write the component alone, as a file for a folder of plugins, and return the file."""
        if self.kind == "paper":
            raise Refused("A paper is a folder of presets and claims, so it cannot be a single file.")
        path = parent / f"{self.name}.py"
        if path.exists():
            raise Refused(f"{str(path)!r} already exists, and was not changed. Choose another name, or move it away.")
        _write(path, self.module)
        return path

    def _text(self, name: str) -> str:
        facts = {key: getattr(self, key) for key in ("kind", "name", "distribution", "package", "class_name", "sweep")}
        return str(self._templates.get_template(f"{name}.j2").render(facts, version=__version__, hook=OFFERS[self.kind].hook))

    @cached_property
    def _templates(self) -> Any:
        from jinja2 import Environment, PackageLoader, StrictUndefined

        return Environment(loader=PackageLoader("dpbench.scaffold"), undefined=StrictUndefined, keep_trailing_newline=True)


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Refused(f"The file {str(path)!r} cannot be written: {error.strerror}.") from None
