"""Write Python values in the grammar of overrides, so that a sweep from Python can be repeated on the command line."""

import re
from collections.abc import Mapping
from typing import Any

from dpbench.base.errors import Refused
from dpbench.files.data_frames import is_frame, store_frame

_PLAIN_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_/-]*")
_OTHER_MEANINGS = ("true", "false", "null", "nan", "inf")


def override_text(value: Any) -> str:
    """Return the text of a value. A list is swept, a tuple is a value that is itself a list, a DataFrame is a file."""
    if is_frame(value):
        return _text(store_frame(value))
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers
        value = value.tolist()
    if isinstance(value, (list, range)):
        if not len(value):
            raise Refused("A swept list must hold at least one value. Got an empty list instead.")
        return ",".join(map(override_text, value))
    if isinstance(value, tuple):
        return "[" + ",".join(_fixed(item) for item in value) + "]"
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{_key(key)}:{_fixed(item)}" for key, item in value.items()) + "}"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return repr(value) if isinstance(value, (int, float)) else _text(str(value))


def quoted(text: str) -> str:
    """Return a text in quotes. The grammar gives a backslash a meaning only before a quote and at the end."""
    inner = re.sub(r"(\\*)('|$)", lambda match: match[1] * 2 + ("\\'" if match[2] else ""), text)
    return f"'{inner}'"


def _fixed(value: Any) -> str:
    """Return the text of a value inside a list or a mapping, where nothing is swept: a list there is a list."""
    return override_text(tuple(value) if isinstance(value, list) else value)


def _key(key: object) -> str:
    """Return the key of a mapping with a backslash before every character that has a meaning, or in quotes if it has some."""
    if re.search(r"['\"`#&;<>!~^]", str(key)):
        return quoted(str(key))
    return re.sub(r"([\\()\[\]{}:=, \t])", r"\\\1", str(key))


def _text(text: str) -> str:
    """Return a text in quotes, unless it is a word that cannot be taken for a number, a truth value or null."""
    plain = _PLAIN_WORD.fullmatch(text) and text.lower() not in _OTHER_MEANINGS
    return text if plain else quoted(text)
