"""Outside packages: other people's programs, run in virtual environments of their own, with arrays in and arrays out.

``python -m dpbench.base.outside_package <folder> <requirement> ...`` makes such an environment: requirements may conflict with
those of dpbench. You write a small script that runs inside the environment. It is called with a folder, reads ``arrays.npz`` and
``options.json`` there, and writes ``results.npz``.
"""

import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpbench.base.errors import PackageMissing, Refused, Unfinished

MAX_SECONDS = 600
"""The default limit of one call."""


@dataclass(frozen=True)
class OutsidePackage:
    """A package in a virtual environment of its own."""

    name: str
    requirements: tuple[str, ...]
    """What pip installs, with versions, so that a measurement can be repeated."""
    folder: Path
    """The virtual environment, which need not exist."""

    @property
    def python(self) -> Path:
        """The interpreter of the environment."""
        return self.folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")

    @property
    def _mark(self) -> Path:
        """The file that says what was installed: without it, an installation was not finished."""
        return self.folder / "requirements.txt"

    @property
    def installed(self) -> bool:
        """Whether the environment exists and holds just these requirements."""
        return self._mark.is_file() and self._mark.read_text(encoding="utf-8") == "\n".join(self.requirements)

    def require(self) -> None:
        """Refuse if the package is not installed; the sentence holds the line that installs it."""
        if not self.installed:
            line = shlex.join(["python", "-m", "dpbench.base.outside_package", str(self.folder), *self.requirements])
            raise PackageMissing(f"{self.name} is not installed in an environment of its own. Install it with: {line}")

    def install(self) -> None:
        """Make the environment, unless it is there already. This needs a network, or packages that pip finds by itself."""
        if self.installed:
            return
        commands = [[sys.executable, "-m", "venv", "--clear", "--without-pip", str(self.folder)]]
        if self.requirements:
            commands.append([sys.executable, "-m", "pip", "--python", str(self.python), "install", "--quiet", *self.requirements])
        for command in commands:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                last = (done.stderr.strip().splitlines() or ["no reason was given"])[-1]
                raise Refused(f"{self.name} could not be installed: {last}")
        self._mark.write_text("\n".join(self.requirements), encoding="utf-8")

    def run(
        self, script: Path, arrays: Mapping[str, np.ndarray], seconds: float = MAX_SECONDS, **options: Any
    ) -> dict[str, np.ndarray]:
        """Run a script in the environment on these arrays and options, and return the arrays that it wrote."""
        self.require()
        with tempfile.TemporaryDirectory() as folder:
            np.savez(Path(folder, "arrays.npz"), **dict(arrays))  # type: ignore[arg-type]  # no array is called allow_pickle
            Path(folder, "options.json").write_text(json.dumps(options), encoding="utf-8")
            command = [str(self.python), "-P", str(script), folder]  # -P: files next to the script are no packages
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False, cwd=folder)
            except subprocess.TimeoutExpired:
                raise Unfinished(f"{self.name} was stopped after {seconds:g} s.") from None
            results = Path(folder, "results.npz")
            if done.returncode or not results.is_file():
                last = (done.stderr.strip().splitlines() or ["it wrote no results.npz"])[-1]
                raise Unfinished(f"{self.name} ended without results: {last}")
            with np.load(results, allow_pickle=False) as written:
                return {name: written[name] for name in written.files}


if __name__ == "__main__":
    OutsidePackage(Path(sys.argv[1]).name, tuple(sys.argv[2:]), Path(sys.argv[1])).install()
