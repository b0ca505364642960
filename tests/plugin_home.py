"""A virtual environment in which tests install plugins, as their authors and users do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class PluginHome:
    """A virtual environment that sees everything this one has, and a folder to work in."""

    python: Path
    folder: Path

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command of dpbench."""
        return self.run_module("dpbench", *arguments, **environment)

    def run_module(self, module: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a module as a program, without settings from outside."""
        return self._run("-m", module, *arguments, **environment)

    def run_code(self, code: str) -> subprocess.CompletedProcess[str]:
        """Run lines of Python."""
        return self._run("-c", code)

    def _run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("DPBENCH_", "MLFLOW_"))}
        command = [str(self.python), *arguments]
        return subprocess.run(
            command, cwd=self.folder, env={**kept, **environment}, capture_output=True, text=True, encoding="utf-8", timeout=240
        )

    def plugins(self) -> dict[str, dict[str, Any]]:
        """What `plugins --json` says, by the plugin's name."""
        result = self.run("plugins", "--json")
        assert result.returncode == 0, result.stderr
        return {entry["plugin"]: entry for entry in json.loads(result.stdout)}

    def pip(self, *arguments: str) -> None:
        """Run pip on this environment."""
        quiet(sys.executable, "-m", "pip", "--python", str(self.python), *arguments)


def make_home(folder: Path) -> PluginHome:
    """Make a virtual environment in a folder, and an empty folder to work in."""
    venv.create(folder / "venv")
    own = Path(sysconfig.get_path("purelib", vars={"base": str(folder / "venv")}))
    shared = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    lines = [f"import site; site.addsitedir({path!r})" for path in sorted(shared)]
    (own / "shared.pth").write_text("\n".join(lines) + "\n")
    (folder / "work").mkdir()
    return PluginHome(folder / "venv" / "bin" / "python", folder / "work")


def build_wheel(source: Path, folder: Path, parts: Sequence[str] = ()) -> Path:
    """Build the wheel of a distribution from a copy of its folder, or of some parts of it, and return its path."""
    copy = folder / "source"
    for part in parts or [path.name for path in source.iterdir()]:
        (copy / part).parent.mkdir(parents=True, exist_ok=True)
        if (source / part).is_dir():
            shutil.copytree(source / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source / part, copy / part)
    pip = (sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index")
    quiet(*pip, "--wheel-dir", str(folder), str(copy))
    return next(folder.glob("*.whl"))


def quiet(*command: str) -> None:
    """Run a command that must succeed, and show what it printed only if it does not."""
    result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
