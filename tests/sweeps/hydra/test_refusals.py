"""Errors of Hydra become one sentence."""

from __future__ import annotations

import pytest
import yaml
from hydra.errors import ConfigCompositionException, MissingConfigException
from omegaconf.errors import InterpolationKeyError

from dpbench.base.errors import Refused
from dpbench.sweeps.hydra.refusals import hydra_errors_refused


@pytest.mark.parametrize("error", [ConfigCompositionException, MissingConfigException, InterpolationKeyError, yaml.YAMLError])
def test_an_error_of_hydras_is_refused_in_one_line_without_its_cause(error: type[Exception]) -> None:
    with pytest.raises(Refused, match="no such key") as refusal, hydra_errors_refused():
        raise error("no such   key\n  full_key: epsilon")
    assert "\n" not in str(refusal.value)
    assert refusal.value.__suppress_context__


def test_other_errors_are_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError), hydra_errors_refused():
        raise ZeroDivisionError
