"""The keys of exports, as ``release`` and ``export`` read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpbench.base.errors import Refused
from dpbench.cli._export_keys import read_exports


def test_paths_and_names_are_read(tmp_path: Path) -> None:
    keys = {"card": str(tmp_path / "a.md"), "mlflow": "wages", "tracking.uri": "sqlite:///a.db"}
    exports = read_exports(keys, False, [])
    assert (exports.card, exports.mlflow, exports.store) == (tmp_path / "a.md", "wages", "sqlite:///a.db")
    assert exports.onnx is None


def test_an_input_is_never_overwritten(tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    table.write_text("age,wage\n30,1000\n")
    with pytest.raises(Refused, match="is a file that is read"):
        read_exports({"card": str(table)}, True, [table])
