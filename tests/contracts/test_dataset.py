"""What every dataset can do with its table: rows, attributes, sensitive ones, and answers that depend on options."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.base.options import option
from dpbench.base.random_streams import stream
from dpbench.cells.loading import DatasetRows, identity
from dpbench.contracts.dataset import Dataset, doubt_about_bounds
from dpbench.data.scaling import scale
from dpbench.data.splits import Splits
from dpbench.data.table import Column, Table
from dpbench.registry.class_checks import check_offer


@dataclass(frozen=True)
class Numbers(Dataset):
    """The numbers from 0 to 99, real unless told otherwise, with one target for each kind of model."""

    name: ClassVar[str] = "numbers"
    licence: ClassVar[str] = "none"

    made_up: bool = option(False)
    target: str = option("")

    @property
    def synthetic(self) -> bool:
        return self.made_up

    def load(self, generator: np.random.Generator) -> Table:
        features = np.arange(100.0)[:, None] + np.array([0, 100])
        columns = (Column("a", 0, 99, kind="integer"), Column("b", 100, 199))
        return Table(columns, Column(self.target or "y", 0, 99), features, np.arange(100.0), sensitive=("b",), dropped=7)

    def subsets(self) -> dict[int, tuple[str, ...]]:
        return {2: ("a",)}

    def for_target(self, target: Any) -> Numbers:
        return self if self.target else Numbers(target=target)


def test_whether_a_table_is_synthetic_may_depend_on_an_option() -> None:
    assert not Numbers().synthetic
    assert Numbers(made_up=True).synthetic
    assert (Numbers().licence, Numbers().citation) == ("none", "")


def test_a_sample_is_drawn_once_and_a_smaller_one_is_part_of_it() -> None:
    small, large = (Numbers(sample_n=n).select(stream(5)).response for n in (10, 30))
    assert (len(small), len(large)) == (10, 30)
    assert set(small) < set(large)
    assert (np.diff(large) > 0).all()
    np.testing.assert_array_equal(large, Numbers(sample_n=30).select(stream(5)).response)
    assert set(large) != set(Numbers(sample_n=30).select(stream(6)).response)
    np.testing.assert_array_equal(Numbers(sample_n=100).select(stream(5)).response, np.arange(100.0))
    with pytest.raises(Refused, match="sample_n=101 needs more rows than dataset=numbers has: 100"):
        Numbers(sample_n=101).select(stream(5))


def test_a_sample_keeps_whole_rows_and_what_is_known_of_the_table() -> None:
    table = Numbers(sample_n=20, attributes=("a",)).select(stream(0))
    np.testing.assert_array_equal(table.features[:, 0], table.response)
    assert table.dropped == 7


def test_attributes_go_by_name_or_by_the_dataset_s_number(make) -> None:
    assert Numbers(attributes=2).select(stream(0)).attributes == ("a",)
    with pytest.raises(Refused, match="must be one of 2, or a list of names"):
        Numbers(attributes=3).select(stream(0))
    with pytest.raises(Refused, match="must be a list of names"):
        make("dataset", "gaussian", attributes=3).select(stream(0))
    with pytest.raises(Refused, match=r"must be a list or an int in the range \[1, inf\) or null"):
        Numbers(attributes=0)


def test_sensitive_attributes_are_the_dataset_s_unless_they_are_said() -> None:
    assert Numbers().select(stream(0)).sensitive == ("b",)
    assert Numbers(sensitive=("a",)).select(stream(0)).sensitive == ("a",)
    with pytest.raises(Refused, match="attribute"):
        Numbers(sensitive=("c",)).select(stream(0))


def test_what_only_selects_leaves_the_draws_alone() -> None:
    """So that cells that differ by it are compared on the same splits."""
    said = Numbers(sample_n=10, attributes=2, threshold=3, sensitive=("a",), target="z", scaling="ball")
    assert identity(said) == identity(Numbers())
    assert identity(Numbers(made_up=True)) != identity(Numbers())


def test_a_source_shows_each_model_the_target_of_its_kind(make) -> None:
    source = DatasetRows(Numbers(), make("model", "linear"), Splits(), 0)
    assert source.dataset.select(stream(0)).target.name == "real"
    assert source.scaled(0).dropped == 7


def test_levels_are_declared_and_reach_the_geometry() -> None:
    columns = (
        Column("a", 0, 3, kind="integer"),
        Column("b", 0, 1, kind="binary"),
        Column("c", 0, 1),
        Column("g", 0, 1, group="g"),
    )
    assert [column.levels for column in columns] == [4, 2, 0, 2]
    geometry = scale(Table(columns, Column("y", 0, 1), np.zeros((3, 4)), np.zeros(3)), "box", True, "real").geometry
    assert geometry.levels == (4, 2, 0, 2)
    assert geometry.without(["b"]).levels == (4, 0, 2)
    with pytest.raises(Refused, match="declared ordinal, so its bounds must be whole numbers"):
        Column("a", 0, 1.5, kind="ordinal")


def test_a_threshold_beyond_the_targets_bounds_is_refused(make) -> None:
    """Everybody would be in one class, and the error nothing."""
    with pytest.raises(Refused, match=r"'quality', in the range \[3, 9\)\. Got 100 instead"):
        make("dataset", "wine", threshold=100).select(stream(0))


def test_the_example_of_the_manual_is_a_dataset() -> None:
    source = textwrap.dedent((Dataset.__doc__ or "").partition("Example::\n")[2])
    names: dict[str, Any] = {"dataclass": dataclass, "Dataset": Dataset, "Table": Table, "Column": Column, "option": option}
    exec(compile(source, "the manual", "exec", dont_inherit=True), names)
    wages = names["Wages"]
    check_offer("dataset", wages)
    table = wages.build({"spread": 2, "sample_n": 20}).select(np.random.default_rng(0))
    assert (table.rows, table.attributes, table.threshold) == (20, ("age",), 40)


def test_bounds_are_doubted_in_a_plugin_s_private_table_without_a_source_and_nowhere_else(make, tmp_path) -> None:
    """Honest bounds of a score are attained: neither a user's table nor one of dpbench's own is doubted for that."""
    declares = "The dataset numbers does not declare where its bounds, filters and scaling come from (bounds_source)."
    numbers = Numbers()
    assert doubt_about_bounds(numbers, numbers.load(stream(0))).startswith(f"{declares} In 3 of 3 columns with more than 50")
    few = numbers.load(stream(0)).take(np.arange(50))
    assert doubt_about_bounds(numbers, few) == declares, "50 values may well attain their bounds"
    wider = replace(numbers.load(stream(0)), columns=(Column("a", 0, 100), Column("b", 100, 200)))
    assert doubt_about_bounds(numbers, wider) == declares, "most columns do not attain theirs"
    for declared in ({"bounds_source": "counted from 0"}, {"public": True}, {"synthetic": True}):
        other = type("Other", (Numbers,), declared)()
        assert doubt_about_bounds(other, other.load(stream(0))) == ""
    (tmp_path / "it.csv").write_text("x,y\n" + "".join(f"{at},{at}\n" for at in range(100)))
    table = make("dataset", "table", path=str(tmp_path / "it.csv"), target="y", bounds={"x": [0, 99], "y": [0, 99]})
    assert not table.public
    assert doubt_about_bounds(table, table.load(stream(0))) == ""


def test_an_option_to_resample_that_is_off_is_no_part_of_a_cell() -> None:
    """So that cells that were recorded before it existed keep their keys."""
    assert "resample" not in Numbers().options()
    assert Numbers(resample=True).options() == {**Numbers().options(), "resample": True}


def test_only_one_table_of_single_rows_is_resampled(make, tmp_path) -> None:
    with pytest.raises(Refused, match="needs one table for all repeats, but dataset=gaussian draws one for each"):
        make("dataset", "gaussian", redraw=True, resample=True)
    (tmp_path / "it.csv").write_text("who,x,y\n1,0,0\n2,1,1\n3,1,0\n")
    options = {"path": str(tmp_path / "it.csv"), "target": "y", "bounds": {"x": [0, 1], "y": [0, 1]}, "person": "who"}
    with pytest.raises(Refused, match=r"leave out dataset\.person"):
        make("dataset", "table", resample=True, rows_per_person=2, **options).select(stream(0))
