"""Overrides become axes, and errors of Hydra become one sentence."""

from __future__ import annotations

import pytest
import yaml
from hydra.errors import ConfigCompositionException, MissingConfigException
from omegaconf.errors import InterpolationKeyError

from dpbench.base.errors import Refused
from dpbench.sweeps.hydra.overrides import hydra_errors_refused, parse


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("epsilon=0.1", (0.1,)),
        ("epsilon=0.1,0.8", (0.1, 0.8)),
        ("epsilon=choice(1,2)", (1, 2)),
        ("epsilon=range(1,4)", (1, 2, 3)),
        ("k=[a,b]", (["a", "b"],)),
        ("k=null", (None,)),
        ("k='0.8'", ("0.8",)),
    ],
)
def test_an_override_is_a_key_with_its_values(text: str, values: tuple[object, ...]) -> None:
    (axis,) = parse([text])
    assert (axis.text, axis.values, axis.swept) == (text, values, len(values) > 1)


@pytest.mark.parametrize("text", ["hydra.verbose=true", "hydra/sweeper=basic", "+hydra.x=1"])
def test_overrides_for_hydra_are_left_to_hydra(text: str) -> None:
    (axis,) = parse([text])
    assert axis.for_hydra
    assert axis.text == text


def test_a_pattern_is_resolved_by_the_group_that_it_chooses_from() -> None:
    (axis,) = parse(["mechanism=glob(dp*)"])
    assert not axis.swept
    assert axis.values[0].filter(["fm", "dpba", "dpc"]) == ["dpba", "dpc"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("+epsilon=1", "adds or deletes a key"),
        ("~attack", "adds or deletes a key"),
        ("mechanism@other=fm", "to another place"),
        ("epsilon=interval(0,1)", "is an interval"),
        ("epsilon='0.8", "cannot be read"),
        ("epsilon=choice(null)", "cannot be read"),
        ("dataset.attributes=[income (USD),age]", "Names in a list need quotes"),
        ("dataset.attributes=[hours", "the shell needs others around a space"),  # the shell cut it
        ("worked]", "the shell needs others around a space"),
    ],
)
def test_what_is_no_key_with_values_is_refused_in_one_sentence(text: str, words: str) -> None:
    with pytest.raises(Refused, match=words) as refusal:
        parse([text])
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("error", [ConfigCompositionException, MissingConfigException, InterpolationKeyError, yaml.YAMLError])
def test_an_error_of_hydras_is_refused_in_one_line_without_its_cause(error: type[Exception]) -> None:
    with pytest.raises(Refused, match="no such key") as refusal, hydra_errors_refused():
        raise error("no such   key\n  full_key: epsilon")
    assert "\n" not in str(refusal.value)
    assert refusal.value.__suppress_context__


def test_other_errors_are_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError), hydra_errors_refused():
        raise ZeroDivisionError
