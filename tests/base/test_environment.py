"""Environment variables that nothing reads are refused, because they would have no effect."""

from __future__ import annotations

import pytest

from dpbench.base.environment import VARIABLES, check_environment
from dpbench.base.errors import Refused


@pytest.mark.parametrize("name", [*VARIABLES, "DPBENCH_MIRROR_URL", "DPBENCH_TEST_X", "OTHER"])
def test_known_variables_pass(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "1")
    check_environment()


@pytest.mark.parametrize("name", ["DPBENCH_NOPE", "DPBENCH_PLUGIN_DIR", "DPBENCH_"])
def test_an_unknown_variable_is_refused_with_the_near_names(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "1")
    with pytest.raises(Refused, match=f"There is no environment variable named '{name}'.*DPBENCH_PLUGINS_DIR"):
        check_environment()


def test_a_switch_is_on_or_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPBENCH_STRICT_PLUGINS", "abc")
    with pytest.raises(Refused, match=r"must be 0 or 1\. Got 'abc' instead"):
        check_environment()


@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "1e300", "soon"])
def test_the_time_of_plugins_is_a_number_of_seconds(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("DPBENCH_PLUGIN_SECONDS", value)
    with pytest.raises(Refused, match=rf"must be a number of seconds above 0\. Got '{value}' instead"):
        check_environment()
