"""Student noise of three degrees of freedom at the price of Laplace noise, with its true function. Expected: caught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import special

from dpbench import hookimpl
from dpbench.privacy.noise import Noise, PureLaw

from ._planted import Planted


class Student(PureLaw):
    """Student's t with three degrees of freedom: near its middle it falls faster than exp(-abs(x))."""

    name = "student"

    def standard(self, generator: Any, size: int) -> Any:
        return generator.standard_t(3, size=size)

    def variance(self, scale: Any) -> Any:
        return 3 * np.square(scale)

    def cdf(self, x: Any, scale: Any) -> Any:
        return special.stdtr(3, x / scale)


@dataclass(frozen=True)
class StudentLaw(Planted):
    """Student noise of three degrees of freedom at the price of Laplace noise, with its true distribution function."""

    name: ClassVar[str] = "student_law"

    def noise(self, query: Any, epsilon: float) -> Noise:
        return Noise(Student(), np.array([2 * query.size / epsilon]), epsilon, "every product lies in [-1, 1]")


@hookimpl
def dpbench_mechanisms() -> Any:
    return [StudentLaw]
