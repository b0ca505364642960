"""What the engines' tests run in workers: a module of its own, since workers import it by name, without NumPy."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class Thorny(Exception):
    """An exception that cannot be unpickled: it wants more than its message."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} {second}")


@dataclass(frozen=True)
class Named:
    """A unit with what a folder needs to know of it."""

    words: tuple[Any, ...]
    error = ""

    @property
    def digest(self) -> str:
        return hashlib.sha256(repr(self.words).encode()).hexdigest()[:16]

    @property
    def name(self) -> str:
        return "table:0"


def do_named(unit: Named) -> Any:
    """Do what the unit's words say."""
    return do(unit.words)


running: list[int] = []
"""The units that run in this process now."""


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
    if word == "write pid and wait for":
        Path(f"{rest[0]}.new").write_text(str(os.getpid()))
        Path(f"{rest[0]}.new").rename(rest[0])
        while not Path(rest[1]).exists():
            time.sleep(0.01)
        return "waited"
    if word == "one at a time":
        running.append(rest[0])
        time.sleep(0.05)
        most = len(running)
        running.remove(rest[0])
        return most
    if word == "count":
        with Path(rest[0]).open("a") as file:
            file.write("x")
        return rest[1]
    if word == "pid":
        time.sleep(0.05)
        return os.getpid()
    if word == "sleep":
        time.sleep(rest[0])
        return os.getpid()
    if word == "environment":
        return {name: os.environ.get(name) for name in rest}
    if word == "listening":
        lines = [line.split() for name in ("tcp", "tcp6") for line in Path("/proc/net", name).read_text().splitlines()[1:]]
        return [tuple(line[1].split(":")) for line in lines if line[3] == "0A"]
    if word == "modules":
        return sorted(name for name in sys.modules if "." not in name)
    raise AssertionError(word)
