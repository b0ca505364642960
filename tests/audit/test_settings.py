"""The settings of an audit are options, with limits."""

from __future__ import annotations

import pytest

from dpbench.audit.settings import AuditSettings
from dpbench.base.errors import Refused


@pytest.mark.parametrize(
    ("name", "values", "outside"),
    [
        ("runs", (200,), (199, 0)),
        ("pairs", (1, 20), (0, 21)),
        ("confidence", (0.5, 0.9999), (0.49, 1.0)),
        ("rows", (1, 100_000), (0, 100_001)),
        ("seed", (0,), (-1,)),
    ],
)
def test_every_setting_is_refused_outside_its_limits(name, values, outside) -> None:
    for value in values:
        assert getattr(AuditSettings(**{name: value}), name) == value
    for value in outside:
        with pytest.raises(Refused, match=f"'{name}' option of the audit"):
            AuditSettings(**{name: value})


def test_the_defaults_are_the_documented_ones() -> None:
    """docs/privacy.md: a false alarm of 1 % for each geometry."""
    settings = AuditSettings()
    assert (settings.level, settings.runs, settings.pairs, settings.confidence, settings.rows) == ("all", 5_000, 2, 0.99, 8)
