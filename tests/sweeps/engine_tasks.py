"""What the engines' tests run in workers: a module of its own, since workers import it by name, without NumPy."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any


class Thorny(Exception):
    """An exception that cannot be unpickled: it wants more than its message."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} {second}")


def do(unit: tuple[Any, ...]) -> Any:
    """What the unit says: its first word is what to do."""
    word, *rest = unit
    if word == "square":
        return rest[0] ** 2
    if word == "exit":
        os._exit(3)
    if word == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)
    if word == "kill once":
        if not Path(rest[0]).exists():
            Path(rest[0]).touch()
            os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(60)
        return "survived"
    if word == "raise":
        raise ValueError("no such luck")
    if word == "thorny":
        raise Thorny("one", "two")
    if word == "unsendable":
        return lambda: None
    if word == "leave":
        sys.exit(5)
    if word == "wait for":
        while not Path(rest[0]).exists():
            time.sleep(0.01)
        return "waited"
    if word == "pid":
        time.sleep(0.05)
        return os.getpid()
    if word == "sleep":
        time.sleep(rest[0])
        return os.getpid()
    if word == "environment":
        return {name: os.environ.get(name) for name in rest}
    if word == "modules":
        return sorted(name for name in sys.modules if "." not in name)
    raise AssertionError(word)
