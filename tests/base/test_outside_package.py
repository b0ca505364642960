"""An outside package runs a script in its own environment: arrays and options go in, arrays come out, failures are sentences."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from dpbench.base.errors import PackageMissing, Refused, Unfinished
from dpbench.base.outside_package import OutsidePackage

SCRIPT = """
import json, pathlib, sys, time
import numpy as np
folder = pathlib.Path(sys.argv[1])
options = json.loads((folder / "options.json").read_text())
arrays = np.load(folder / "arrays.npz")
{body}
"""


@pytest.fixture
def package(tmp_path: Path) -> OutsidePackage:
    """An environment whose interpreter is the one of the tests."""
    package = OutsidePackage("other", ("thing==1.0", "part"), tmp_path / "environment")
    package.python.parent.mkdir(parents=True)
    package.python.symlink_to(sys.executable)
    (package.folder / "requirements.txt").write_text("thing==1.0\npart")
    return package


@pytest.fixture
def script(tmp_path: Path):
    def write(body: str) -> Path:
        path = tmp_path / "script.py"
        path.write_text(SCRIPT.format(body=body))
        return path

    return write


@pytest.fixture(autouse=True)
def _packages_of_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter behind the link finds NumPy where that of the tests does."""
    monkeypatch.setenv("PYTHONPATH", ":".join(path for path in sys.path if path))


def test_arrays_and_options_go_in_and_arrays_come_out(package, script) -> None:
    file = script("np.savez(folder / 'results.npz', doubled=options['factor'] * arrays['x'], n=len(arrays['x']))")
    results = package.run(file, {"x": np.arange(3.0)}, factor=2)
    np.testing.assert_array_equal(results["doubled"], [0.0, 2.0, 4.0])
    assert results["n"] == 3


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise ValueError('no such thing')", "other ended without results: ValueError: no such thing"),
        ("pass", "it wrote no results.npz"),
        ("time.sleep(60)", "other was stopped after 0.2 s"),
    ],
)
def test_a_script_that_does_not_finish_is_a_sentence(body, words, package, script) -> None:
    with pytest.raises(Unfinished, match=words):
        package.run(script(body), {"x": np.zeros(1)}, seconds=0.2 if "sleep" in body else 60)


def test_an_environment_of_other_requirements_is_not_the_one(package, script) -> None:
    assert package.installed
    for other in (
        OutsidePackage("other", ("thing==1.1", "part"), package.folder),
        OutsidePackage("other", (), package.folder / "no"),
    ):
        assert not other.installed
        with pytest.raises(Refused, match="other is not installed"):
            other.run(script("pass"), {})


def test_an_environment_is_made_once_and_a_failure_leaves_no_mark(tmp_path, monkeypatch) -> None:
    """Without requirements nothing is downloaded; pip fails where it may look nowhere."""
    empty = OutsidePackage("empty", (), tmp_path / "empty")
    empty.install()
    assert empty.installed
    assert empty.python.exists()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    missing = OutsidePackage("missing", ("a-package-that-nobody-has",), tmp_path / "missing")
    with pytest.raises(
        PackageMissing, match=r"Install it with: python -m dpbench\.base\.outside_package .*/missing a-package-that-nobody-has$"
    ):
        missing.require()
    with pytest.raises(Refused, match="missing could not be installed: ERROR"):
        missing.install()
    assert not missing.installed
