"""The progress bar shows the predicted time, which counts down between two results."""

from __future__ import annotations

import io
import sys
from types import ModuleType

import pytest
from rich.console import Console

from dpbench.sweeps import progress


def test_the_bar_shows_the_predicted_time_and_not_that_of_the_mean_cell() -> None:
    screen = Console(file=io.StringIO(), force_terminal=True, width=100, color_system=None)
    predictions = iter([10.0, 3600.0])
    with progress.progress_bar(4, lambda: next(predictions), screen) as update:
        update(1)
    shown = screen.file.getvalue()  # type: ignore[attr-defined]
    assert "0/4" in shown
    assert "1/4" in shown
    assert shown.rindex("about 60 minutes left") > shown.rindex("1/4")


def test_the_time_counts_down_until_the_next_result() -> None:
    column = progress._RemainingTime()

    class Task:
        fields = {"left": 100.0, "asked_at": 5.0}  # noqa: RUF012  a stand-in for rich's
        finished = False
        now = 5.0

        def get_time(self) -> float:
            return self.now

    task = Task()
    assert column.render(task).plain == "about 100 seconds left"  # type: ignore[arg-type]
    task.now = 45.0
    assert column.render(task).plain == "about 60 seconds left"  # type: ignore[arg-type]
    task.now = 500.0
    assert column.render(task).plain == "nearly done"  # type: ignore[arg-type]
    task.finished = True
    assert column.render(task).plain == ""  # type: ignore[arg-type]


def test_without_cells_there_is_no_bar() -> None:
    screen = Console(file=io.StringIO(), force_terminal=True, width=100)
    with progress.progress_bar(0, lambda: 0.0, screen) as update:
        update(0)
    assert screen.file.getvalue() == ""  # type: ignore[attr-defined]


def test_the_bar_is_on_the_error_stream(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.progress_bar(2, lambda: 0.0) as update:
        update(2)
    out, err = capsys.readouterr()
    assert out == ""
    assert "2/2" in err


def test_a_notebook_has_one_line_that_is_replaced_and_needs_no_widgets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Warnings are errors: rich would warn that ipywidgets is not installed."""
    shown: list[str] = []

    class Line:
        def update(self, content: dict[str, str], raw: bool) -> None:
            shown.append(content["text/plain"])
            assert content["text/html"].startswith("<progress value=")

    def display(content: dict[str, str], raw: bool, display_id: bool) -> Line:
        line = Line()
        line.update(content, raw)
        return line

    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", ModuleType("IPython.display"))
    monkeypatch.setattr(sys.modules["IPython.display"], "display", display, raising=False)
    notebook = Console(file=io.StringIO(), force_jupyter=True)
    with progress.progress_bar(3, lambda: 10.0, notebook) as update:
        update(2)
        update(3)
    assert shown[:2] == ["0 of 3 cells, about 10 seconds left", "2 of 3 cells, about 10 seconds left"]
    assert shown[2].startswith("3 of 3 cells, in ")
    with progress.progress_bar(0, lambda: 0.0, notebook) as update:
        update(0)
    assert len(shown) == 3
