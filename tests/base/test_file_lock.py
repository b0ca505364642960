"""The lock between processes: one holder at a time, and none after its process was killed."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from dpbench.base.file_lock import file_lock


def test_threads_take_turns(tmp_path: Path) -> None:
    inside: list[int] = []
    most: list[int] = []

    def work() -> None:
        for _ in range(50):
            with file_lock(tmp_path / "lock"):
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1
    assert len(most) == 400


def test_an_error_gives_the_lock_back(tmp_path: Path) -> None:
    with pytest.raises(KeyError), file_lock(tmp_path / "lock"):
        raise KeyError
    with file_lock(tmp_path / "lock"):
        pass
