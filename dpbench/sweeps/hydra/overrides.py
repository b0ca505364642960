"""Parse overrides into axes, by Hydra's grammar, and turn what Hydra raises into one sentence.

Every override is parsed here, once.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, Override, QuotedString
from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from dpbench.base.errors import Refused
from dpbench.sweeps.grid import Axis
from dpbench.sweeps.hydra.any_script import decode, encode
from dpbench.sweeps.override_text import quoted

FILE_NAME_GROUPS = ("dataset", "tracking", "out")
"""Keys whose values may be names of files: those need no quotes, whatever characters they contain."""
MAX_VALUES = 100_000
"""Values of one key: a longer list is a mistake, and would fill the memory."""
QUOTES_HINT = (
    " Names in a list need quotes if they hold (, ), = or a quote, and the shell needs others around a space: "
    "'key=[\"a (b)\",c d]'."
)


def parse(overrides: Sequence[str]) -> list[Axis]:
    """Return the overrides as axes, in their order."""
    return [_axis(text) for text in overrides]


@contextmanager
def hydra_errors_refused() -> Iterator[None]:
    """Refuse the request if Hydra cannot compose it: users never see a traceback of Hydra's."""
    try:
        yield
    except (HydraException, OmegaConfBaseException) as error:
        raise Refused(_first_line(error)) from None
    except YAMLError as error:
        raise Refused(f"A configuration file is not YAML: {' '.join(str(error).split())}.") from None


def _first_line(error: Exception) -> str:
    """Return the first line of an error's text: the others say where in Hydra it happened."""
    return " ".join(str(error).split("\n")[0].split())


def _axis(text: str) -> Axis:
    try:
        override = _parsed(text)
        key = override.key_or_group
        axis = Axis(key, (), text)
        if axis.for_hydra:  # Hydra reads its own keys itself
            return axis
        if override.is_add() or override.is_force_add() or override.is_delete():
            raise Refused(f"The override {text!r} adds or deletes a key. dpbench has fixed keys: write key=value.")
        if override.package is not None:
            raise Refused(f"The override {text!r} moves {key} to another place. dpbench has fixed keys: write key=value.")
        if override.is_interval_sweep():
            raise Refused(f"The override {text!r} is an interval, which has no values to sweep. Write them with commas.")
        value = override.value()
        if not override.is_sweep_override() or isinstance(value, Glob):  # only the group knows which names match
            return Axis(key, (_plain(value),), text)
        values = tuple(map(_plain, islice(override.sweep_iterator(), MAX_VALUES + 1)))
    except HydraException as error:
        reason = _first_line(error).partition(" expecting")[0]
        hint = QUOTES_HINT if "[" in text or "=" not in text else ""  # the shell cuts an override at a space
        raise Refused(f"The override {text!r} cannot be read: {reason}.{hint}") from None
    except (ArithmeticError, TypeError, ValueError) as error:  # of a function such as range or sort
        raise Refused(f"The override {text!r} cannot be read: {_first_line(error).rstrip('.')}.") from None
    if not 1 <= len(values) <= MAX_VALUES:
        count = f"more than {MAX_VALUES:,}" if values else "no"
        raise Refused(f"The override {text!r} gives {count} values. A key needs at least one value, and at most {MAX_VALUES:,}.")
    return Axis(key, values, text)


def _parsed(text: str) -> Override:
    """Parse an override. A file's name that the grammar cannot read as it is, is read as if it stood in quotes."""
    parser = OverridesParser.create()
    key, equals, value = text.partition("=")
    try:
        return parser.parse_override(f"{key}={encode(value)}" if equals else text)
    except HydraException:
        if not equals or key.partition(".")[0] not in FILE_NAME_GROUPS or value[:1] in ("'", '"', "[", "{"):
            raise
        return parser.parse_override(f"{key}={quoted(value)}")


def _plain(value: Any) -> Any:
    """Return a value without the grammar's own types."""
    if isinstance(value, QuotedString):
        return value.text
    if isinstance(value, str):
        return decode(value)
    if isinstance(value, Mapping):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
