"""What mechanisms, models, datasets and attacks have in common: a name, a docstring, options."""

import inspect
from abc import ABC
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

from dpbench.base.options import check_options, refuse_unknown_options
from dpbench.base.version import API_VERSION

MAX_SUMMARY_LENGTH = 300


@dataclass(frozen=True)
class Component(ABC):
    """The base class of mechanisms, models, datasets and attacks: a frozen dataclass with a ``name`` on the command line.

    The fields are the component's options; declare them with :func:`dpbench.option`, which takes a default, limits and a
    line of help. Values are checked when an object is made. :mod:`dpbench.base.options` lists the types that a field may
    have. The first line of the docstring is shown in listings.

    ``api_version`` is the version of the contracts that the component was written for; a newer one than dpbench's is refused.
    ``expected_failures`` names the conformance checks (``python -m dpbench check``) that the component is meant to fail, each
    with the reason: a baseline without privacy, for example, has no proof in its ledger. A check that passes must not be named.
    """

    kind: ClassVar[str]
    name: ClassVar[str]
    api_version: ClassVar[int] = API_VERSION
    expected_failures: ClassVar[Mapping[str, str]] = {}

    def __post_init__(self) -> None:
        check_options(self, type(self).name)

    @classmethod
    def summary(cls) -> str:
        """Return the first line of the docstring, cut where it is too long for a listing."""
        line = (inspect.getdoc(cls) or "").strip().split("\n")[0]
        return line if len(line) <= MAX_SUMMARY_LENGTH else f"{line[:MAX_SUMMARY_LENGTH]}…"

    @classmethod
    def build(cls, options: Mapping[str, Any]) -> Self:
        """Return the component with these options, or refuse an unknown name or a wrong value in one sentence."""
        refuse_unknown_options(cls, options, cls.name)
        return cls(**options)

    def options(self) -> dict[str, Any]:
        """Return every option with its value, as plain data."""
        return asdict(self)
