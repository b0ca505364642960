"""Overrides in any script: Hydra's grammar knows only some of ASCII outside quotes, and no quotes around keys of a mapping.

Characters that it cannot read are written as ``%u<code>%`` before it parses an override, and back afterwards.
"""

import re

UNREADABLE = r"[^\x00-\x7f]|[!#&;<>^`~]"
"""Matches the characters that the grammar has no word for."""

_QUOTED = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)
_ENCODED = re.compile(r"%u([0-9a-f]+)%")


def encode(text: str) -> str:
    """Return a value with every character that the grammar cannot read encoded: outside quotes, and in keys within quotes."""
    parts, end = [], 0
    for match in _QUOTED.finditer(text):
        parts.append(_encode_where(UNREADABLE, text[end : match.start()]))
        before, after = text[: match.start()].rstrip()[-1:], text[match.end() :].lstrip()[:1]
        is_key = before in ("{", ",") and after == ":"
        parts.append(_encode_where(r"\W|[^\x00-\x7f]", _content(match[0])) if is_key else match[0])
        end = match.end()
    return "".join([*parts, _encode_where(UNREADABLE, text[end:])])


def decode(text: str) -> str:
    """Return a text with the characters that were encoded."""
    return _ENCODED.sub(lambda match: chr(int(match[1], 16)), text)


def _encode_where(pattern: str, text: str) -> str:
    return re.sub(pattern, lambda match: f"%u{ord(match[0]):x}%", text)


def _content(quoted: str) -> str:
    """Return what stands in quotes: a backslash has a meaning before a quote and at the end only."""
    return re.sub(rf"(\\+)({quoted[0]}|$)", lambda match: match[1][: len(match[1]) // 2] + match[2], quoted[1:-1])
