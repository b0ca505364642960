"""What is replaced of dpbench is put back, and named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpbench.accounting import composition
from dpbench.base.core_functions import unreplaced
from dpbench.base.errors import Refused
from dpbench.privacy import curator, noise
from dpbench.privacy.noise import Laplace, Noise


def zero(*_: Any, **__: Any) -> float:
    return 0.0


def replace_code() -> None:
    noise.laplace.__code__ = (lambda sensitivity, epsilon, proof: 0).__code__


REPLACEMENTS = {
    "Laplace.standard": lambda: setattr(Laplace, "standard", zero),
    "Laplace.shape": lambda: setattr(Laplace, "shape", zero),  # inherited before
    "Noise.cost": lambda: setattr(Noise, "cost", property(zero)),
    "curator.exact_answer": lambda: setattr(curator, "exact_answer", zero),
    "noise.CORE_LAWS": lambda: setattr(noise, "CORE_LAWS", ()),
    "curator.len": lambda: setattr(curator, "len", zero),
    "the content of dpbench.accounting.composition": lambda: composition.TOTALS.update(pure=zero),
    "the content of laplace": replace_code,
}


@pytest.mark.parametrize("name", REPLACEMENTS)
def test_a_replaced_function_is_named_and_put_back(name) -> None:
    before = Laplace.standard, Laplace.shape, Noise.cost, curator.exact_answer, noise.CORE_LAWS, noise.laplace.__code__
    totals = dict(composition.TOTALS)
    with pytest.raises(Refused, match=f"mine replaces functions of dpbench: .*{name}.*They were put back"), unreplaced("mine"):
        REPLACEMENTS[name]()
    after = Laplace.standard, Laplace.shape, Noise.cost, curator.exact_answer, noise.CORE_LAWS, noise.laplace.__code__
    assert after == before
    assert totals == composition.TOTALS
    assert not hasattr(curator, "len")
    assert "shape" not in vars(Laplace)


def test_a_function_of_numpy_counts_too_and_a_new_name_does_not() -> None:
    before = np.stack

    def replace() -> None:
        np.stack = zero
        np.a_new_name = 1

    with pytest.raises(Refused, match=r"numpy\.stack"), unreplaced("mine"):
        replace()
    assert np.stack is before
    del np.a_new_name


def test_what_an_error_leaves_behind_is_put_back_too() -> None:
    before = Laplace.standard

    def replace_and_fail() -> None:
        Laplace.standard = zero
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), unreplaced("mine"):
        replace_and_fail()
    assert Laplace.standard is before


def test_what_replaces_nothing_is_not_refused() -> None:
    with unreplaced("mine"):
        noise.laplace(1.0, 1.0, "p")
