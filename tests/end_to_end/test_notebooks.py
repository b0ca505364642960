"""The notebooks run from top to bottom, as a person without ipywidgets would run them, and are stored without outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
SECONDS_OF_A_CELL = 300


def test_there_is_one_for_researchers_and_one_for_owners() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["compare_mechanisms", "release_a_model"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs(path: Path) -> None:
    """Outputs differ from run to run, would hide each change of the text, and a release's are of one draw of its noise."""
    code = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert len(code) > 5
    assert [cell["outputs"] for cell in code] == [[]] * len(code)
    assert {cell["execution_count"] for cell in code} == {None}


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reason = "a notebook's kernel is not installed: pip install -e '.[notebooks]'"
    pytest.importorskip("ipykernel", reason=reason)
    client = pytest.importorskip("nbclient", reason=reason)
    nbformat = pytest.importorskip("nbformat", reason=reason)
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path / "matplotlib"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("DPBENCH_BUDGET_BOOK", str(tmp_path / "budget_book.jsonl"))
    folder = tmp_path / "folder"
    folder.mkdir()
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(folder)}}
    client.NotebookClient(notebook, timeout=SECONDS_OF_A_CELL, kernel_name="python3", resources=resources).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert [output.text for output in outputs if output.output_type == "stream" and output.name == "stderr"] == [], "a warning"
    assert any("</table>" in page for page in pages(outputs))
    bars = [page for page in pages(outputs) if page.startswith("<progress")]
    assert len(bars) == sum("dpbench.sweep(" in cell.source for cell in notebook.cells)
    assert all(", in " in bar for bar in bars), "the line of progress has come to its end"


def pages(outputs: list[Any]) -> list[str]:
    """Return the outputs that are HTML."""
    return ["".join(output.data["text/html"]) for output in outputs if "text/html" in output.get("data", {})]
