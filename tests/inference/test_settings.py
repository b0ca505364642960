"""The keys that say which intervals are made."""

from __future__ import annotations

import pytest

from dpbench.base.errors import Refused
from dpbench.inference.settings import InferenceSettings


def test_only_what_differs_from_the_default_is_part_of_a_cells_configuration() -> None:
    assert InferenceSettings().as_config() == {}
    assert InferenceSettings(method="bootstrap", draws=199).as_config() == {"method": "bootstrap", "draws": 199}


@pytest.mark.parametrize("wrong", [{"method": "wald"}, {"covers": "rows"}, {"level": 1.0}, {"draws": 10}])
def test_a_wrong_value_is_refused_in_one_sentence(wrong) -> None:
    with pytest.raises(Refused, match=f"'{next(iter(wrong))}'"):
        InferenceSettings(**wrong)
