"""Numbers in texts, as people write them: with a decimal comma, thousands separators, currency or percent signs."""

from dataclasses import dataclass
from typing import Any

from dpbench.base.errors import Refused
from dpbench.files.cells import TRUTHS

DECIMALS = (".", ",")
THOUSANDS = ("", ",", ".", " ", "'")
BLANKS = r"[ \x{00a0}\x{2009}\x{202f}]"


@dataclass(frozen=True)
class NumberStyle:
    """What separates the whole part of a number from its fraction, and its thousands."""

    decimal: str = "."
    thousands: str = ""

    def __post_init__(self) -> None:
        if self.decimal not in DECIMALS or self.thousands not in THOUSANDS or self.decimal == self.thousands:
            raise Refused(
                "The decimal separator must be '.' or ',', and that of thousands '', ',', '.', ' ' or an apostrophe, a different "
                f"one. Got {self.decimal!r} and {self.thousands!r} instead."
            )

    @property
    def pattern(self) -> str:
        """The regular expression of a number without signs of a currency."""
        whole = rf"\d{{1,3}}({self.separator}\d{{3}})+|\d+" if self.thousands else r"\d+"
        decimal = rf"[{self.decimal}]"
        return rf"^[+-]?(({whole})({decimal}\d*)?|{decimal}\d+)([eE][+-]?\d+)?$"

    @property
    def separator(self) -> str:
        """The regular expression of what separates thousands."""
        return BLANKS if self.thousands == " " else "['’]" if self.thousands == "'" else f"[{self.thousands}]"


PLAIN = NumberStyle()
STYLES = (PLAIN, *(NumberStyle(*pair) for pair in ((",", ""), (".", ","), (",", "."), (".", " "), (",", " "), (".", "'"))))
"""The styles that `data describe` tries, in this order."""


def parse_numbers(texts: Any, style: NumberStyle) -> tuple[Any, frozenset[str]]:
    """Return an Arrow array of floats, null where a text is none, and the currency and percent signs that were met."""
    import pyarrow
    from pyarrow import compute

    if style == PLAIN:
        try:
            return texts.cast(pyarrow.float64()), frozenset({""} if len(texts) > texts.null_count else ())
        except pyarrow.ArrowInvalid:  # its message quotes the value
            pass
    bare = without_signs(texts)
    readable = fits(bare, style)
    signs = compute.replace_substring_regex(texts.filter(readable), r"[^\p{Sc}%]", "")
    for pattern, replacement in ((style.separator if style.thousands else "", ""), (f"[{style.decimal}]", "."), (r"^[+]", "")):
        bare = compute.replace_substring_regex(bare, pattern, replacement) if pattern else bare
    numbers = compute.if_else(readable, bare, pyarrow.scalar(None, bare.type)).cast(pyarrow.float64())
    return numbers, frozenset(signs.unique().to_pylist())


def without_signs(texts: Any) -> Any:
    """Return texts without currency and percent signs, with a minus for parentheses, and 1 and 0 for true and false."""
    from pyarrow import compute

    for pattern, replacement in (
        (r"(?i)^true$", TRUTHS["true"]),
        (r"(?i)^false$", TRUTHS["false"]),
        (r"^\((.*)\)$", r"-\1"),
        (r"^[−–]", "-"),
        (r"^([+-]?)\s*\p{Sc}\s*", r"\1"),
        (rf"({BLANKS}|\s)*[\p{{Sc}}%]$", ""),
    ):
        texts = compute.replace_substring_regex(texts, pattern, replacement)
    return texts


def fits(bare: Any, style: NumberStyle) -> Any:
    """Return which texts without signs are numbers in a style; null where there is no text."""
    from pyarrow import compute

    return compute.match_substring_regex(bare, style.pattern)
