"""What a released model needs of a new row: one number or text for each attribute.

An attribute with levels is one input, although the model has a column for each of its levels.
"""

from dataclasses import dataclass

from dpbench.data.column_format import NUMBER, ColumnFormat
from dpbench.data.table import Column
from dpbench.releases.release_file import Release


@dataclass(frozen=True)
class ReleaseInput:
    """An attribute of a new row."""

    name: str
    columns: tuple[Column, ...]
    """The columns of the model that follow from it: a number has one, an attribute with levels one for each."""
    format: ColumnFormat
    levels: tuple[str, ...] = ()
    """The levels; empty for a number."""

    @property
    def is_text(self) -> bool:
        """Whether its cells are texts: levels or dates."""
        return bool(self.levels or self.format.part)

    def level_of(self, column: Column) -> str:
        """Return the level at which a column is 1."""
        return column.name.removeprefix(f"{self.name}=")


def inputs_of(release: Release) -> tuple[ReleaseInput, ...]:
    """Return the inputs of a release in the order of its columns."""
    inputs: dict[str, ReleaseInput] = {}
    for column in release.columns:
        group = column.group
        if group is None or not column.name.startswith(f"{group}="):
            inputs[column.name] = ReleaseInput(column.name, (column,), release.formats.get(column.name, NUMBER))
        elif group not in inputs:
            columns = tuple(each for each in release.columns if each.group == group and each.name.startswith(f"{group}="))
            spelled = tuple(each.name.removeprefix(f"{group}=") for each in columns)
            form = release.formats.get(group, ColumnFormat(spelled))
            inputs[group] = ReleaseInput(group, columns, form, form.levels)
    return tuple(inputs.values())
