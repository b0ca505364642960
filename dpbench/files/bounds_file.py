"""The bounds file: what the user declares as public about the columns of a table, read and checked.

It is YAML: ``columns`` gives each column's bounds as ``[low, high]`` or ``{low: …, high: …, unit: …, kind: integer}``, its
``{levels: […]}``, or ``ignore``. A column may also have ``nulls`` (its codes for a missing value), ``missing`` (the number or
level that stands for a missing value), ``other: true`` (all undeclared levels are one more level), ``transform: log`` (or
``log1p``) or ``quantiles: […]``, and, if it holds dates, ``part`` and ``format``; and what is publicly known of its values:
``typical`` and ``spread``, or the ``shares`` of its levels. ``{low: , high: }`` leaves bounds open, for the user to fill in. The
other keys are ``target``, ``threshold``, ``sensitive``, and the settings of the file's dialect.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, get_args

from dpbench.base.errors import Refused, check_known, refuse_on
from dpbench.data.column_format import ColumnFormat
from dpbench.data.table import Column
from dpbench.data.transforms import LOWEST, Transform
from dpbench.files.cells import level_positions, spelling
from dpbench.files.column_knowledge import LEVEL_KEYS as KNOWN_OF_LEVELS
from dpbench.files.column_knowledge import NOTHING_KNOWN, ColumnKnowledge, parse_knowledge, parse_shares
from dpbench.files.column_knowledge import NUMBER_KEYS as KNOWN_OF_NUMBERS
from dpbench.files.dates import check_part
from dpbench.files.dialects import Dialect
from dpbench.files.user_files import regular_file

DeclaredKind = Literal["continuous", "integer"]

DIALECT_KEYS = ("delimiter", "encoding", "header", "decimal", "thousands", "nulls")
FILE_KEYS = ("columns", "target", "threshold", "sensitive", *DIALECT_KEYS, "from_data")
NO_WEIGHTS = (
    "Survey weights are not supported: every row counts once. With weights, one row could change a result as much as many rows, "
    "and no bound here covers that. Leave them out to fit the rows as they are; the results are then about these rows alone."
)
"""Why weights are refused instead of ignored."""
UNKNOWN_LEVEL = "unknown"
"""The level that missing values get with ``dataset.missing=level``, in columns that declare it."""
OTHER_LEVEL = "other"
"""The level that ``other: true`` gathers all undeclared levels into."""
LEVEL_KEYS = ("levels", "other", "nulls", "missing", *KNOWN_OF_LEVELS)
COLUMN_KEYS = ("low", "high", "unit", "kind", "transform", "quantiles", "part", "format", *KNOWN_OF_NUMBERS, *LEVEL_KEYS)


@dataclass(frozen=True)
class ColumnDeclaration:
    """What is declared of one column: a range or levels, and how its cells are read."""

    low: float = 0.0
    high: float = 1.0
    unit: str = ""
    kind: DeclaredKind = "continuous"
    levels: tuple[str, ...] = ()
    nulls: tuple[str, ...] = ()
    missing: str = ""
    part: str = ""
    date_format: str = ""
    transform: Transform | None = None
    other: str = ""
    knowledge: ColumnKnowledge = NOTHING_KNOWN
    """What is publicly known of the values; nothing that is fitted uses it."""

    @property
    def format(self) -> ColumnFormat:
        """How the column's values are read."""
        whole = self.kind == "integer"
        return ColumnFormat(self.levels, False, whole, self.nulls, self.missing, self.part, self.date_format, self.other)

    def with_unknown(self) -> Self:
        """Return the declaration in which the level `unknown`, if it is declared, stands for missing values, unless another does.

        No level is added: a level that no row has would be one more coefficient, of which the rows say nothing.
        """
        return self if self.missing or UNKNOWN_LEVEL not in self.levels else replace(self, missing=UNKNOWN_LEVEL)

    def columns(self, name: str) -> tuple[Column, ...]:
        """Return the design's columns: one for a range, or one per level of a categorical attribute."""
        if not self.levels:
            return (Column(name, self.low, self.high, self.unit, kind=self.kind, transform=self.transform),)
        return tuple(Column(f"{name}={level}", 0, 1, group=name, meaning=level) for level in self.levels)


@dataclass(frozen=True)
class Bounds:
    """The declarations of all columns, and the other settings of a bounds file."""

    columns: Mapping[str, ColumnDeclaration]
    ignored: frozenset[str] = frozenset()
    target: str = ""
    threshold: float | None = None
    sensitive: tuple[str, ...] = ()
    dialect: Mapping[str, Any] = field(default_factory=dict)
    """The settings of the file's dialect that are declared."""
    open: frozenset[str] = frozenset()
    """The columns whose bounds the user still has to fill in."""
    from_data: bool = False
    """Whether the file still says that its numbers were read from the rows."""


def parse_bounds(columns: Mapping[str, Any], owner: str) -> Bounds:
    """Return the bounds that a mapping from columns to ranges and levels declares; errors name its owner."""
    ignored = frozenset(name for name, value in columns.items() if value == "ignore")
    unfilled = frozenset(name for name, value in columns.items() if _is_open(value))
    declared = {name: value for name, value in columns.items() if name not in ignored | unfilled}
    return Bounds({name: _parse_column(name, value, owner) for name, value in declared.items()}, ignored, open=unfilled)


def read_bounds(path: str) -> Bounds:
    """Read a bounds file, or refuse it in one sentence."""
    import yaml

    file = regular_file(path, "bounds file", "`python -m dpbench data describe` drafts one.")
    rule = f"The bounds file {path!r} must be YAML."
    try:
        with refuse_on((OSError, UnicodeDecodeError), f"{rule} Got something else."):
            # texts only: to YAML `no` is false, 1e5 a text and 012 ten, and a level may be any of them
            content = yaml.load(file.read_text(encoding="utf-8-sig"), yaml.BaseLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise Refused(f"{rule} {f'Reading it stopped at line {mark.line + 1}.' if mark else 'Got something else.'}") from None
    if not isinstance(content, Mapping) or not isinstance(content.get("columns"), Mapping):
        raise Refused(f"The bounds file {path!r} must have a key 'columns' that holds a mapping.")
    if "weights" in content:
        raise Refused(f"The bounds file {path!r} cannot name weights. {NO_WEIGHTS}")
    check_known(f"key of the bounds file {path!r}", content, FILE_KEYS)
    return replace(
        parse_bounds(content["columns"], path),
        target=_text(content.get("target", "")),
        threshold=_parse_number(content["threshold"], "threshold", path) if content.get("threshold") else None,
        sensitive=_parse_list(content.get("sensitive") or (), "sensitive", path),
        dialect=_parse_dialect(content, path),
        from_data=content.get("from_data", "false") != "false",
    )


def parse_levels(name: str, value: Any, owner: str) -> tuple[str, ...]:
    """Return the declared levels of a column as texts: at least two, all different."""
    levels = _parse_list(value, f"levels of {name!r}", owner)
    if len(set(map(spelling, levels))) < max(len(levels), 2):
        raise Refused(f"The levels of {name!r} in {owner} must be at least two different texts. Got {list(levels)} instead.")
    return levels


def _parse_column(name: str, value: Any, owner: str) -> ColumnDeclaration:
    fields: Mapping[str, Any] = {}
    if isinstance(value, Mapping):
        fields, value = value, (value.get("low"), value.get("high"))
    check_known(f"key of the column {name!r} in {owner}", fields, COLUMN_KEYS)
    nulls = parse_codes(fields.get("nulls", ()), f"nulls of {name!r}", owner)
    missing = spelling(fields.get("missing", ""))
    if "levels" in fields:
        if others := sorted(set(fields) - set(LEVEL_KEYS)):
            raise Refused(
                f"The column {name!r} in {owner} has levels, so it can only have other, nulls, missing and shares. "
                f"Got {others[0]!r} too."
            )
        other = _parse_flag(fields.get("other", False), f"key 'other' of {name!r}", owner) * OTHER_LEVEL
        declared = _parse_list(fields["levels"], f"levels of {name!r}", owner)
        levels = parse_levels(name, declared if other in (*declared, "") else (*declared, other), owner)
        if missing and missing not in level_positions(levels, repr(name)):
            raise Refused(f"The key 'missing' of {name!r} in {owner} must be one of its levels. Got {missing!r} instead.")
        shares = fields.get("shares")
        known = NOTHING_KNOWN if shares is None else parse_shares(shares, len(levels), f"{name!r} in {owner}")
        return ColumnDeclaration(levels=levels, nulls=nulls, missing=missing, other=other, knowledge=known)
    if "shares" in fields:
        raise Refused(f"The column {name!r} in {owner} has shares, which are for levels: it needs levels. Got bounds instead.")
    kind = fields.get("kind", "continuous")
    if kind not in get_args(DeclaredKind):
        raise Refused(f"The kind of {name!r} in {owner} must be continuous or integer. Got {kind!r} instead.")
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2 or None in value:
        raise Refused(f"The bounds of {name!r} in {owner} must be [low, high], levels, or ignore. Got {value!r} instead.")
    low, high = (_parse_number(number, f"bounds of {name!r}", owner) for number in value)
    transform = _parse_transform(name, fields, (low, high), owner)
    Column(name, low, high, kind=kind, transform=transform)  # refuses reversed bounds, and what the transform is not defined for
    if missing and not low <= _parse_number(missing, f"key 'missing' of {name!r}", owner) <= high:
        raise Refused(f"The key 'missing' of {name!r} in {owner} must lie within its bounds. Got {missing} instead.")
    if part := _text(fields.get("part", "")):
        check_part(part, f"{name!r} in {owner}")
    elif "format" in fields:
        raise Refused(f"The column {name!r} in {owner} has a format, which is for dates: it needs a part, such as year.")
    unit, date_format = _text(fields.get("unit", "")), _text(fields.get("format", ""))
    known = parse_knowledge(fields, (low, high), f"{name!r} in {owner}")
    return ColumnDeclaration(low, high, unit, kind, (), nulls, missing, part, date_format, transform, knowledge=known)


def _parse_dialect(content: Mapping[str, Any], path: str) -> dict[str, Any]:
    settings: dict[str, Any] = {key: _text(content[key]) for key in DIALECT_KEYS if key in content}
    if "nulls" in content:
        settings["nulls"] = parse_codes(content["nulls"], "nulls", path)
    if "header" in content:
        settings["header"] = _parse_flag(content["header"], "key 'header'", path)
    Dialect.of(settings)  # refuses wrong settings
    return settings


def parse_codes(value: Any, what: str, owner: str) -> tuple[str, ...]:
    """Return codes for a missing value as texts; a single code needs no list."""
    return _parse_list(value if isinstance(value, (list, tuple)) else [value], what, owner)


def _is_open(value: Any) -> bool:
    """Return whether a column is declared to have a low and a high bound, and one of them is not filled in."""
    return isinstance(value, Mapping) and any(key in value and value[key] in ("", None) for key in ("low", "high"))


def _parse_transform(name: str, fields: Mapping[str, Any], bounds: tuple[float, float], owner: str) -> Transform | None:
    if "transform" in fields and "quantiles" in fields:
        raise Refused(f"The column {name!r} in {owner} must have one of transform and quantiles. Got both instead.")
    if "quantiles" in fields:
        values = _parse_list(fields["quantiles"], f"quantiles of {name!r}", owner)
        knots = (bounds[0], *(_parse_number(value, f"quantiles of {name!r}", owner) for value in values), bounds[1])
        return Transform("quantile", knots)
    if "transform" not in fields:
        return None
    if fields["transform"] not in LOWEST:
        got = fields["transform"]
        raise Refused(f"The transform of {name!r} in {owner} must be log or log1p, or give its quantiles. Got {got!r} instead.")
    return Transform(fields["transform"])


def _parse_flag(value: Any, what: str, owner: str) -> bool:
    if value not in (True, False, "true", "false"):
        raise Refused(f"The {what} in {owner} must be true or false. Got {value!r} instead.")
    return value in (True, "true")


def _parse_number(value: Any, what: str, owner: str) -> float:
    with refuse_on((TypeError, ValueError), f"The {what} in {owner} must be numbers. Got {value!r} instead."):
        return float(value)


def _parse_list(value: Any, what: str, owner: str) -> tuple[str, ...]:
    if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        raise Refused(f"The {what} in {owner} must be a list. Got {value!r} instead.")
    return tuple(map(_text, value))


def _text(value: Any) -> str:
    """Return a value as a bounds file would spell it: the command line parses true, 1 and 1.0 as more than texts."""
    return value if isinstance(value, str) else spelling(value)
