"""The progress bar of a sweep, on the error stream: finished cells, and the time that the others will take."""

import sys
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
        return Text(f"about {spell_seconds(left)} left" if left >= 1 else "nearly done", style="progress.remaining")
