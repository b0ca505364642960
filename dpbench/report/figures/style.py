"""How all figures look: what tells curves apart in colour and in grey, and the lines of references."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from matplotlib import rc_context, rc_params_from_file
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dpbench.records.mechanism_style import MARKS, mechanism_style, pick

Fill = Literal["full", "left", "bottom", "right"]

LINES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (4, 1.2, 1, 1.2)), (0, (4, 1, 1, 1, 1, 1)))
FILLS: tuple[Fill, ...] = ("full", "left", "bottom", "right")
"""Which half of a mark is filled. The number of fills and that of lines have no common factor, so pairs repeat late."""
HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "||||", "----", "++++")
GREY = "#555555"
REFERENCE_LINES: Mapping[str, Any] = {"non-private fit": (0, (5, 2)), "mean predictor": (0, (1, 1.5))}
"""The lines of the two references that every error has."""
OTHER_REFERENCE_LINES: tuple[Any, ...] = (
    (0, (6, 1.5, 1, 1.5)), (0, (1, 4)), (0, (9, 3)), (0, (3, 1.5, 1, 1.5, 1, 1.5)), (0, (9, 2, 3, 2)),
)  # fmt: skip
"""The lines of all others, each chosen by its name."""
LAYOUT_TABLES = ("GDEF", "GPOS", "GSUB", "kern")
"""The tables of a font with which letters are shifted and replaced before they are drawn."""
SETTINGS = rc_params_from_file(Path(__file__).with_name("report.mplstyle"), use_default_template=False)

# With this one, the controls of dpbench's attacks have different lines: checked by a test.
_REFERENCE_SALT = "reference 2"


@dataclass(frozen=True)
class CurveStyle:
    """How a curve is drawn, the same in all figures of a sweep."""

    colour: str
    mark: str
    line: Any
    hatch: str
    fill: Fill = "full"

    def marks(self, *, hollow: bool) -> dict[str, Any]:
        """Return how a mark is drawn: hollow if its cell is not ranked, else filled; an option changes one half."""
        face, half = ("white", _tint(self.colour)) if hollow else (self.colour, "white")
        look = {"marker": self.mark, "markerfacecolor": face, "markerfacecoloralt": half, "fillstyle": self.fill}
        return {"color": self.colour, "markeredgewidth": 0.9, **look}

    def handle(self, label: str, *, hollow: bool, line: Any = None) -> Line2D:
        """Return the entry of a line in the legend."""
        return Line2D([], [], linestyle=self.line if line is None else line, label=label, **self.marks(hollow=hollow))

    def box(self, *, hollow: bool) -> dict[str, Any]:
        """Return how a box is filled: its hatch tells it apart in grey."""
        face = "white" if hollow else to_rgba(self.colour, 0.45)
        return {"facecolor": face, "edgecolor": self.colour, "hatch": self.hatch, "linewidth": 1.0}

    def patch(self, label: str, *, hollow: bool) -> Patch:
        """Return the entry of a box in the legend."""
        return Patch(**self.box(hollow=hollow), label=label)


def curve_styles(curves: Mapping[str, tuple[str, str, str]]) -> dict[str, CurveStyle]:
    """Return the style of each curve, given its mechanism, the options of that mechanism, and what else makes it a curve.

    The mechanism sets the colour and the mark, its options the line and which half of a mark is filled. Where something else
    makes curves, such as the model, that sets the mark and the line. Two mechanisms of a sweep that have both colour and mark
    in common get different marks.
    """
    mechanisms, others = (list(dict.fromkeys(parts[which] for parts in curves.values())) for which in (0, 2))
    options: dict[str, list[str]] = {}
    for mechanism, option, _ in curves.values():
        if option not in options.setdefault(mechanism, []):
            options[mechanism].append(option)
    marks = _marks(mechanisms)
    styles = {}
    for index, (name, (mechanism, option, other)) in enumerate(curves.items()):
        variant, kind = options[mechanism].index(option), others.index(other)
        mark, line = (marks[mechanism], variant) if len(others) == 1 else (MARKS[kind % len(MARKS)], kind)
        shapes = (mark, LINES[line % len(LINES)], HATCHES[index % len(HATCHES)], FILLS[variant % len(FILLS)])
        styles[name] = CurveStyle(mechanism_style(mechanism).colour, *shapes)
    return styles


def _tint(colour: str) -> tuple[float, ...]:
    """Return a light shade of a colour: opaque, so that no line shows through a mark."""
    return tuple(0.3 * part + 0.7 for part in to_rgba(colour)[:3])


def _marks(mechanisms: list[str]) -> dict[str, str]:
    """Return the mark of each mechanism: its own, or the next one that no mechanism of the same colour has."""
    marks: dict[str, str] = {}
    taken = set()
    for mechanism in mechanisms:
        style = mechanism_style(mechanism)
        first = MARKS.index(style.mark)
        free = [mark for mark in (*MARKS[first:], *MARKS[:first]) if (style.colour, mark) not in taken]
        marks[mechanism] = next(iter(free), style.mark)
        taken.add((style.colour, marks[mechanism]))
    return marks


def reference_style(label: str) -> dict[str, Any]:
    """Return how a reference is drawn, the same in every figure."""
    line = REFERENCE_LINES.get(label) or pick(label, OTHER_REFERENCE_LINES, _REFERENCE_SALT)
    return {"color": GREY, "linestyle": line, "linewidth": 1.0}


def styled(**settings: Any) -> Any:
    """Return a context in which matplotlib has this style; nothing global is changed."""
    return rc_context({**SETTINGS, **settings})  # type: ignore[dict-item]


def save(figure: Figure, stem: Path, kinds: tuple[str, ...] = ("png", "pdf")) -> list[Path]:
    """Save a figure in these formats, the same bytes for the same figure, and return the files."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in kinds]
    for kind, path in zip(kinds, paths, strict=True):
        try:
            if kind == "pdf":
                # under Hydra's logging, every table of every font that a PDF embeds would be a line on the terminal
                logging.getLogger("fontTools").setLevel(logging.WARNING)
                with _fonts_without_layout_tables():
                    figure.savefig(path, metadata={"CreationDate": None})
            else:
                figure.savefig(path)
        except BaseException:
            path.unlink(missing_ok=True)  # half a file
            raise
    return paths


@contextmanager
def _fonts_without_layout_tables() -> Iterator[None]:
    """Load the fonts of PDFs without the tables that lay out text, which take longest to read: a PDF places each letter itself.

    matplotlib, which loads the fonts that it embeds with fontTools' function, has no setting for this.
    """
    from fontTools import subset  # only PDFs need it

    load_font = subset.load_font

    def load_without_layout(*arguments: Any, **options: Any) -> Any:
        font = load_font(*arguments, **options)
        for table in LAYOUT_TABLES:
            if table in font:
                del font[table]
        return font

    subset.load_font = load_without_layout
    try:
        yield
    finally:
        subset.load_font = load_font
