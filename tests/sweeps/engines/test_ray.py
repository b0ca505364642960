"""Units run on Ray's workers: a cluster of our own leaves nothing behind, and only this machine can reach it."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from typing import Any

import pytest

from dpbench.base.errors import Refused
from dpbench.sweeps.engines.loop import run

if importlib.util.find_spec("ray") is None:  # importing it here would be too early for its settings
    pytest.skip("Ray is not installed: pip install -e '.[ray]'", allow_module_level=True)

from dpbench.sweeps.engines.ray import Ray

Do = Callable[[Any], Any]


def test_only_this_machine_can_reach_a_cluster_of_our_own(do: Do) -> None:
    """Every socket that is open while a unit runs, and was not open before, listens on the loopback interface."""
    before = listening()
    ((_, sockets),) = run(Ray(1, None), do, [("listening",)])
    opened = set(sockets) - before
    assert opened, "Ray's own processes listen"
    assert {address for address, _ in opened} <= {"0100007F", "0000000000000000FFFF00000100007F"}


def listening() -> set[tuple[str, str]]:
    """The sockets that listen: address and port, as the kernel writes them."""
    return set(importlib.import_module("engine_tasks").do(("listening",)))


def test_ray_does_not_report_how_it_is_used(do: Do) -> None:
    ((_, environment),) = run(Ray(1, None), do, [("environment", "RAY_USAGE_STATS_ENABLED")])
    assert environment == {"RAY_USAGE_STATS_ENABLED": "0"}


def test_ray_that_is_not_installed_is_refused_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(Refused, match=r"`pip install 'dp-regression-bench\[ray\]'`"):
        Ray(2, None)
