"""Flags are split from overrides; wrong ones, and flags that cannot stand together, are refused."""

from __future__ import annotations

import pytest

from dpbench.base.errors import Refused
from dpbench.sweeps.hydra.flags import for_hydra, split


def test_short_flags_and_both_ways_to_give_a_value_mean_the_same() -> None:
    assert split(["-c", "job", "epsilon=1", "-p=splits"]) == ({"--cfg": "job", "--package": "splits"}, ["epsilon=1"])
    assert for_hydra(split(["--cfg=job", "--resolve"])[0]) == ["--cfg=job", "--resolve"]


def test_a_flag_whose_value_is_optional_takes_it_after_an_equals_sign_only() -> None:
    assert split(["--info", "epsilon=1"]) == ({"--info": ""}, ["epsilon=1"])
    assert split(["--info=config"]) == ({"--info": "config"}, [])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--resolve", "epsilon=1"], "--resolve needs --cfg"),
        (["--package", "splits", "epsilon=1"], "--package needs --cfg"),
        (["epsilon=1", "--config-dir"], "The flag --config-dir needs a value."),
        (["--multirum"], "There is no flag '--multirum'. Did you mean --multirun"),
        (["-m", "--multirun"], "The flag --multirun is given twice."),
        (["-m=1"], "The flag --multirun takes no value."),
        (["--info="], "The flag --info needs a value."),
        (["--cfg", "jobs"], "There is no value of --cfg named 'jobs'. Did you mean job?"),
        (["--cfg", "job", "--info"], "The flags --cfg and --info each print something else"),
        (["-m", "--info"], "leave out -m"),
        (["--shell-completion"], "Got nothing instead."),
        (["-sc", "install=tcsh"], "one of bash, fish and zsh, as in install=bash or uninstall=bash. Got install=tcsh instead."),
    ],
)
def test_a_wrong_flag_is_refused(arguments: list[str], words: str) -> None:
    with pytest.raises(Refused) as refusal:
        split(arguments)
    assert words in str(refusal.value)
