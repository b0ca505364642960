"""The engine is the one that the configuration names; what would have no effect on it is refused."""

from __future__ import annotations

import os
from typing import Any

import pytest

from dpbench.base.errors import Refused
from dpbench.sweeps.engines.choice import WORTH_STARTING, engine_from
from dpbench.sweeps.engines.local import Local
from dpbench.sweeps.engines.serial import Serial


def test_the_engine_is_chosen_by_name() -> None:
    assert type(engine_from({"name": "serial", "workers": None}, 1e9)) is Serial
    local = engine_from({"name": "local", "workers": 3}, 0.0)
    assert isinstance(local, Local)
    assert local.workers == 3
    assert engine_from({"name": "local", "workers": None}, 0.0).slots == len(os.sched_getaffinity(0)) + 1


def test_the_automatic_choice_starts_processes_only_when_that_pays() -> None:
    assert type(engine_from({"name": "auto", "workers": 2}, WORTH_STARTING)) is Serial
    assert isinstance(engine_from({"name": "auto", "workers": 2}, 1.01 * WORTH_STARTING), Local)
    assert type(engine_from({"name": "auto", "workers": 1}, 1e9)) is Serial, "one worker is this process"


@pytest.mark.parametrize("workers", [0, -1, 1.5, "two", True, 10**6])
def test_a_number_of_workers_that_makes_no_sense_is_refused(workers: Any) -> None:
    with pytest.raises(Refused, match=r"'engine\.workers' key must be an int in the range \[1, 1024\] or null\. Got"):
        engine_from({"name": "local", "workers": workers}, 0.0)


def test_an_unknown_engine_is_refused_with_the_near_names() -> None:
    with pytest.raises(Refused, match=r"no engine named 'lokal'\. Did you mean local.* Known: auto, .*local, .*serial"):
        engine_from({"name": "lokal", "workers": None}, 0.0)


@pytest.mark.parametrize(
    ("name", "key", "value", "users"),
    [
        ("serial", "workers", 2, "engine=auto and engine=local and engine=dask and engine=ray and engine=files"),
        ("local", "scheduler", "tcp://127.0.0.1:8786", "engine=dask"),
        ("dask", "address", "auto", "engine=ray"),
        ("ray", "folder", "units", "engine=files"),
    ],
)
def test_a_key_that_has_no_effect_on_the_engine_is_refused(name: str, key: str, value: Any, users: str) -> None:
    with pytest.raises(Refused) as refusal:
        engine_from({"name": name, "workers": None, key: value})
    assert str(refusal.value) == f"The key 'engine.{key}' has no effect on engine={name}: it belongs to {users}. Got {value!r}."


@pytest.mark.parametrize("timeout", [0, -1, "soon", True, float("inf"), float("nan")])
def test_a_timeout_that_makes_no_sense_is_refused(timeout: Any) -> None:
    with pytest.raises(Refused, match=r"'engine\.timeout' key must be a number of seconds above 0, or null\. Got"):
        engine_from({"name": "serial", "timeout": timeout})


def test_the_timeout_is_the_engines() -> None:
    assert engine_from({"name": "local", "timeout": 2.5}).timeout == 2.5
    assert engine_from({"name": "serial"}).timeout is None


@pytest.mark.parametrize(("name", "key"), [("dask", "scheduler"), ("ray", "address"), ("files", "folder")])
@pytest.mark.parametrize("value", ["", 5])
def test_an_address_that_is_no_text_is_refused(name: str, key: str, value: Any) -> None:
    with pytest.raises(Refused, match=f"'engine.{key}' key must be a text that is not empty"):
        engine_from({"name": name, key: value})


def test_an_address_without_a_protocol_is_refused() -> None:
    with pytest.raises(Refused, match=r"an address such as tcp://127\.0\.0\.1:8786\. Got 'localhost:8786'"):
        engine_from({"name": "dask", "scheduler": "localhost:8786"})


@pytest.mark.parametrize(
    ("name", "key", "address", "what"),
    [
        ("dask", "scheduler", "tcp://127.0.0.1:1", "The Dask scheduler"),
        ("dask", "scheduler", "tcp://127.0.0.1:99999", "The Dask scheduler"),
        ("ray", "address", "127.0.0.1:1", "Ray"),
        ("ray", "address", "ray://[::1]:1", "Ray"),
    ],
)
def test_an_address_where_nobody_listens_is_refused(name: str, key: str, address: str, what: str) -> None:
    with pytest.raises(Refused) as refusal:
        engine_from({"name": name, key: address})
    assert str(refusal.value).startswith(f"{what} does not answer at {address!r}: ")
