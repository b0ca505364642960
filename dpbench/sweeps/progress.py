"""The progress bar of a sweep: finished cells, and the time that the others will take.

It is on the error stream, and in a notebook below the notebook's cell.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from dpbench.sweeps.feasibility import spell_seconds


@contextmanager
def progress_bar(
    cells: int, seconds_left: Callable[[], float], console: Console | None = None
) -> Iterator[Callable[[int], None]]:
    """Show how many cells are finished. Call the yielded function with their number whenever a result comes back.

    ``seconds_left`` predicts the remaining time at that moment; until the next result it is counted down.
    """
    console = console or Console(file=sys.stderr)
    if console.is_jupyter:
        yield _notebook_bar(cells, seconds_left) if cells else lambda finished: None
        return
    columns = (TextColumn("cells"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), _RemainingTime())
    with Progress(*columns, console=console, disable=not cells) as progress:
        task = progress.add_task("cells", total=cells, left=seconds_left(), asked_at=progress.get_time())

        def update(finished: int) -> None:
            progress.update(task, completed=finished, left=seconds_left(), asked_at=progress.get_time())

        yield update


class _RemainingTime(ProgressColumn):
    """The predicted remaining time. rich's own column takes every cell to last as long as the ones before it."""

    def render(self, task: Task) -> Text:
        left = task.fields["left"] - (task.get_time() - task.fields["asked_at"])
        if task.finished:
            return Text("")
        return Text(_time_left(left), style="progress.remaining")


def _time_left(seconds: float) -> str:
    return f"about {spell_seconds(seconds)} left" if seconds >= 1 else "nearly done"


def _notebook_bar(cells: int, seconds_left: Callable[[], float]) -> Callable[[int], None]:
    """Show one line in a notebook and return the function that replaces it. rich's own bar would need ipywidgets there."""
    from IPython.display import display

    begun_at = time.monotonic()

    def content(finished: int) -> dict[str, str]:
        seconds = time.monotonic() - begun_at
        remark = _time_left(seconds_left()) if finished < cells else f"in {spell_seconds(seconds)}"
        text = f"{finished} of {cells} cells, {remark}"
        return {"text/plain": text, "text/html": f'<progress value="{finished}" max="{cells}"></progress> {text}'}

    line = display(content(0), raw=True, display_id=True)

    def update(finished: int) -> None:
        line.update(content(finished), raw=True)

    return update
