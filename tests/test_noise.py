"""Every law of noise is importable from one public place."""

from __future__ import annotations

import dpbench.noise
from dpbench.privacy.noise import CORE_LAWS


def test_every_law_of_the_core_is_public() -> None:
    assert {law.__name__ for law in CORE_LAWS} <= set(dpbench.noise.__all__)
    assert all(hasattr(dpbench.noise, name) for name in dpbench.noise.__all__)
