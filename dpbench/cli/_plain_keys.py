"""Read the arguments ``key=value`` of subcommands that compose no configuration."""

from collections.abc import Collection, Sequence
from pathlib import Path

from dpbench.base.errors import Refused, unknown
from dpbench.base.user_path import user_path


def read_keys(command: str, texts: Sequence[str], known: Collection[str]) -> dict[str, str]:
    """Return the values of the keys that were typed."""
    keys: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if key not in known:
            raise unknown(f"key of {command}", key, known)
        if not equals or not value or key in keys:
            raise Refused(f"The key {key!r} must have one value. Got {'several' if key in keys else 'none'} instead.")
        keys[key] = value
    return keys


def read_number(key: str, text: str, rule: str) -> float:
    """Return a key's value as a number; ``rule`` says which are allowed if the text is none."""
    try:
        return float(text)
    except ValueError:
        raise Refused(f"The key {key!r} must be {rule}. Got {text!r} instead.") from None


def read_truth(key: str, text: str) -> bool:
    """Return a key's value as true or false."""
    if text.lower() not in ("true", "false"):
        raise Refused(f"The key {key!r} must be true or false. Got {text!r} instead.")
    return text.lower() == "true"


def output_path(key: str, text: str, overwrite: bool, inputs: Collection[Path]) -> Path:
    """Return the path of a file to write: in a folder that exists, none of the inputs, and new unless ``overwrite``."""
    path = user_path(text)
    if not path.parent.is_dir():
        raise Refused(f"The folder of {key}={text} does not exist.")
    if path.is_dir():
        raise Refused(f"{key}={text} is a folder: name a file in it.")
    if path.exists() and any(path.samefile(other) for other in inputs if other.exists()):
        raise Refused(f"{key}={text} is a file that is read: name another one.")
    if path.exists() and not overwrite:
        raise Refused(f"The file {text!r} exists already: overwrite=true replaces it.")
    return path
