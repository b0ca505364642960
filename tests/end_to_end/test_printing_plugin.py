"""What a plugin prints while it fits never stands between the tables and sentences that dpbench prints."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dpbench.__main__ import main

PRINTING = """
from __future__ import annotations
from dataclasses import dataclass
from dpbench import hookimpl
from dpbench.plugins.mechanisms.fm import FunctionalMechanism

@dataclass(frozen=True)
class Talker(FunctionalMechanism):
    '''Say so whenever it fits.'''
    name = "talker"

    def fit(self, *arguments):
        print("I fit", flush=True)
        return super().fit(*arguments)

@hookimpl
def dpbench_mechanisms():
    return [Talker]
"""


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["serial", "local"])
@pytest.mark.usefixtures("alone")
def test_what_a_fit_prints_goes_to_the_error_stream(
    drop_in: Callable[[str], None], capfd: pytest.CaptureFixture[str], engine: str
) -> None:
    drop_in(PRINTING)
    overrides = ("mechanism=talker", "dataset=gaussian", "dataset.n=60", "dataset.d=2", "splits.repeats=2", "audit.level=none")
    assert main([*overrides, f"engine={engine}"]) == 0
    out, err = capfd.readouterr()
    assert "talker" in out
    assert "I fit" not in out
    assert "I fit" in err
