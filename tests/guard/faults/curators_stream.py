"""Takes the curator's own stream and subtracts the noise that it drew. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpbench import Fit, hookimpl

from ._planted import Planted


@dataclass(frozen=True)
class CuratorsStream(Planted):
    """Takes the curator's own stream and subtracts the noise that it drew."""

    name: ClassVar[str] = "curators_stream"

    def finish(self, curator: Any, answer: np.ndarray) -> Fit:
        draws = curator._draws
        noise = [draws.generator(run, "products", 0).laplace(size=answer.shape[1]) for run in range(curator.runs)]
        return super().finish(curator, answer - 2 * answer.shape[1] * np.stack(noise))


@hookimpl
def dpbench_mechanisms() -> Any:
    return [CuratorsStream]
