"""Choose the engine that a configuration names, and refuse keys that would have no effect on it."""

import os
import re
import socket
from collections.abc import Callable, Mapping
from typing import Any

from dpbench.base.errors import Refused, unknown
from dpbench.sweeps.engines.loop import Engine

WORTH_STARTING = 4.0
"""Seconds of work from which processes pay: starting them and loading the data in each takes about a second."""
MAX_WORKERS = 1024
CONNECT_SECONDS = 10
KEYS = {
    "serial": ("timeout",),
    "auto": ("workers", "timeout"),
    "local": ("workers", "timeout"),
    "dask": ("workers", "timeout", "scheduler"),
    "ray": ("workers", "timeout", "address"),
    "files": ("workers", "timeout", "folder"),
}
"""The keys that have an effect on each engine. The others must be null."""


def engine_from(section: Mapping[str, Any], seconds: float = 0.0) -> Engine:
    """Return the engine that a configuration's section names; ``seconds`` is the estimated time of the work on one core."""
    name = section["name"]
    if name not in KEYS:
        raise unknown("engine", name, KEYS)
    _check(name, section)
    engine = _MAKERS[name](section, seconds)
    engine.timeout = section.get("timeout")
    return engine


def _check(name: str, section: Mapping[str, Any]) -> None:
    for key, value in section.items():
        if key != "name" and value is not None and key not in KEYS[name]:
            users = " and ".join(f"engine={other}" for other in KEYS if key in KEYS[other])
            raise Refused(f"The key 'engine.{key}' has no effect on engine={name}: it belongs to {users}. Got {value!r}.")
    workers, timeout = section.get("workers"), section.get("timeout")
    if workers is not None and (not isinstance(workers, int) or isinstance(workers, bool) or not 1 <= workers <= MAX_WORKERS):
        raise Refused(
            f"The 'engine.workers' key must be an int in the range [1, {MAX_WORKERS}] or null. Got {workers!r} instead."
        )
    number = isinstance(timeout, (int, float)) and not isinstance(timeout, bool)
    if timeout is not None and not (number and 0 < timeout < float("inf")):
        raise Refused(f"The 'engine.timeout' key must be a number of seconds above 0, or null. Got {timeout!r} instead.")
    for key in ("scheduler", "address", "folder"):
        if not isinstance(section.get(key), str | None) or section.get(key) == "":
            raise Refused(f"The 'engine.{key}' key must be a text that is not empty, or null. Got {section.get(key)!r} instead.")
    scheduler = section.get("scheduler")
    if scheduler is not None and "://" not in scheduler:
        raise Refused(f"The 'engine.scheduler' key must be an address such as tcp://127.0.0.1:8786. Got {scheduler!r} instead.")
    if name == "files" and section.get("folder") is None:
        raise Refused("engine=files needs a folder that the workers see: engine.folder=…. Got null instead.")


def _check_reachable(what: str, address: str) -> None:
    """Refuse an address where nobody listens, before anything is written. An address without a port is looked up later."""
    if place := re.search(r"([^/@\[\]]+|\[.*\]):(\d+)/?$", address):
        try:
            socket.create_connection((place[1].strip("[]"), int(place[2])), CONNECT_SECONDS).close()
        except (OSError, OverflowError) as error:
            raise Refused(f"{what} does not answer at {address!r}: {getattr(error, 'strerror', None) or error}.") from None


def _auto(section: Mapping[str, Any], seconds: float) -> Engine:
    pays = _workers(section) > 1 and seconds > WORTH_STARTING
    return (_local if pays else _serial)(section, seconds)


def _serial(section: Mapping[str, Any], seconds: float) -> Engine:
    from dpbench.sweeps.engines.serial import Serial

    return Serial()


def _local(section: Mapping[str, Any], seconds: float) -> Engine:
    from dpbench.sweeps.engines.local import Local

    return Local(_workers(section))


def _dask(section: Mapping[str, Any], seconds: float) -> Engine:
    from dpbench.sweeps.engines.dask import Dask

    if (scheduler := section.get("scheduler")) is not None:
        _check_reachable("The Dask scheduler", scheduler)
    return Dask(_workers(section) if scheduler is None else section.get("workers"), scheduler)


def _ray(section: Mapping[str, Any], seconds: float) -> Engine:
    from dpbench.sweeps.engines.ray import Ray

    if (address := section.get("address")) is not None:
        _check_reachable("Ray", address)
    return Ray(_workers(section) if address is None else section.get("workers"), address)


def _files(section: Mapping[str, Any], seconds: float) -> Engine:
    from dpbench.sweeps.engines.files import Files, check_folder

    check_folder(section["folder"])
    return Files(section["folder"], section.get("workers"))


def _workers(section: Mapping[str, Any]) -> int:
    """Return the number of processes on this machine: as many as it may use cores, unless the user names one."""
    # some systems know only how many cores there are
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(section.get("workers") or cores)


_MAKERS: dict[str, Callable[[Mapping[str, Any], float], Engine]] = {
    "serial": _serial,
    "auto": _auto,
    "local": _local,
    "dask": _dask,
    "ray": _ray,
    "files": _files,
}
