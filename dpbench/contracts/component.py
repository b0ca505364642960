"""What mechanisms, models, datasets and attacks have in common: a name, a docstring, options, a version."""

from __future__ import annotations

import inspect
from abc import ABC
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

from dpbench.base.options import check_options, refuse_unknown_options


@dataclass(frozen=True)
class Component(ABC):
    """A frozen dataclass that the registry knows by ``name``; its fields are its options on the command line.

    Options are checked when the object is made: see :mod:`dpbench.base.options` for the types a field may have.
    """

    kind: ClassVar[str]
    name: ClassVar[str]

    def __post_init__(self) -> None:
        check_options(self, type(self).name)

    @classmethod
    def summary(cls) -> str:
        """The first line of the docstring: what listings show."""
        return (inspect.getdoc(cls) or "").strip().split("\n")[0]

    @classmethod
    def build(cls, options: Mapping[str, Any]) -> Self:
        """The component with these options; unknown names and wrong values are refused in one sentence."""
        refuse_unknown_options(cls, options, cls.name)
        return cls(**options)

    def options(self) -> dict[str, Any]:
        """Every option with its value, as plain data."""
        return asdict(self)
