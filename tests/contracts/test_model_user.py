"""Mechanisms and attacks say in one sentence why they do not fit a model: a missing capability first, then their own reason."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import pytest

from dpbench.contracts.model_user import ModelUser


@dataclass(frozen=True)
class Picky(ModelUser):
    """Needs two capabilities and two columns."""

    name: ClassVar[str] = "picky"
    needs: ClassVar[frozenset[str]] = frozenset({"polynomial", "gradient"})

    def refuses(self, model, geometry) -> str | None:
        return "it needs two columns" if geometry.features < 2 else None


@pytest.mark.parametrize(
    ("provides", "features", "sentence"),
    [
        ({"polynomial", "gradient", "weighted"}, 2, None),
        ({"polynomial", "gradient"}, 1, "picky does not fit linear: it needs two columns."),
        ({"polynomial"}, 1, "picky does not fit linear: the model provides no gradient."),
        (set(), 2, "picky does not fit linear: the model provides no gradient and no polynomial."),
    ],
)
def test_a_pruned_cell_gets_one_sentence(provides: set[str], features: int, sentence: str | None, geometry) -> None:
    model = SimpleNamespace(name="linear", provides=frozenset(provides))
    assert Picky().unsupported(model, geometry(features)) == sentence
