"""Splits: parts that partition the sampled rows, sizes that are public, streams that depend on names alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dpbench.base.errors import Refused
from dpbench.base.random_streams import stream
from dpbench.data.splits import BLOCK_ROWS, UNSAMPLED, Splits

SCHEMES = {
    "5 folds": Splits(repeats=3),
    "2 folds": Splits(repeats=3, folds=2),
    "7 folds": Splits(repeats=3, folds=7),
    "150 folds": Splits(repeats=1, folds=150),
    "hold-out": Splits(scheme="holdout", repeats=3),
    "small hold-out": Splits(scheme="holdout", repeats=3, test_fraction=0.001),
    "large hold-out": Splits(scheme="holdout", repeats=3, test_fraction=0.999),
}


@pytest.mark.parametrize("splits", SCHEMES.values(), ids=SCHEMES)
@pytest.mark.parametrize(("rows", "sampled"), [(301, 301), (301, 150), (301, 151)])
def test_the_parts_partition_the_sampled_rows_into_public_sizes(splits, rows, sampled) -> None:
    for repeat in range(splits.repeats):
        labels = splits.assign(rows, sampled, 0, "t", repeat)
        assert labels.shape == (rows,)
        assert (labels == UNSAMPLED).sum() == rows - sampled
        assert labels.min() >= UNSAMPLED
        counts = np.bincount(labels[labels != UNSAMPLED], minlength=splits.parts)
        np.testing.assert_array_equal(counts, splits.sizes(sampled))
        assert counts.sum() == sampled
        assert counts.min() >= 1


@pytest.mark.parametrize("folds", [2, 5, 7])
def test_folds_differ_by_at_most_one_row(folds) -> None:
    for rows in range(folds, 40):
        sizes = Splits(folds=folds).sizes(rows)
        assert sizes.sum() == rows
        assert np.ptp(sizes) <= 1


@pytest.mark.parametrize(
    ("fraction", "rows", "tested"), [(0.2, 100, 20), (0.25, 10, 2), (0.001, 100, 1), (0.999, 100, 99), (0.5, 2, 1)]
)
def test_a_hold_out_tests_its_fraction_and_leaves_both_parts_a_row(fraction, rows, tested) -> None:
    sizes = Splits(scheme="holdout", test_fraction=fraction).sizes(rows)
    assert sizes.tolist() == [tested, rows - tested]


def test_an_empty_part_is_refused() -> None:
    for splits, rows in ((Splits(folds=5), 4), (Splits(scheme="holdout"), 1)):
        with pytest.raises(Refused, match="leaves a part empty"):
            splits.sizes(rows)


def test_a_repeat_s_assignment_depends_on_its_names_alone() -> None:
    splits = Splits(repeats=4)
    forwards = [splits.assign(50, 50, 0, "t", repeat) for repeat in range(4)]
    backwards = [splits.assign(50, 50, 0, "t", repeat) for repeat in reversed(range(4))][::-1]
    for one, other in zip(forwards, backwards, strict=True):
        np.testing.assert_array_equal(one, other)
    others = [splits.assign(50, 50, 1, "t", 0), splits.assign(50, 50, 0, "u", 0), *forwards[1:]]
    assert all((forwards[0] != other).any() for other in others)
    np.testing.assert_array_equal(Splits(repeats=99).assign(50, 50, 0, "t", 2), forwards[2])


@pytest.mark.parametrize("splits", SCHEMES.values(), ids=SCHEMES)
def test_labels_are_the_draws_of_a_plain_shuffle_whatever_their_type(splits) -> None:
    """Recorded results depend on these draws: a faster way to shuffle must give the same ones."""
    sizes = splits.sizes(250)
    labels = np.concatenate([np.repeat(np.arange(splits.parts), sizes), np.full(51, UNSAMPLED)]).astype(np.int16)
    stream(3, "t", "splits", splits.scheme, 1).shuffle(labels)
    np.testing.assert_array_equal(splits.assign(301, 250, 3, "t", 1), labels)


def test_every_row_is_as_likely_in_every_part() -> None:
    """20 rows, 5 folds, 2,000 repeats, 25 % unsampled: χ² of rows × parts. False alarm 1e-6."""
    splits = Splits(folds=5)
    counts = np.zeros((20, 6))
    for repeat in range(2_000):
        counts[np.arange(20), splits.assign(20, 15, 0, "t", repeat) + 1] += 1
    expected = 2_000 * np.array([5, 3, 3, 3, 3, 3]) / 20
    score = ((counts - expected) ** 2 / expected).sum()
    assert stats.chi2.sf(score, 19 * 5) > 1e-6


@pytest.mark.parametrize(
    "options", [{"repeats": 0}, {"folds": 1}, {"test_fraction": 0.0}, {"test_fraction": 1.0}, {"scheme": "loo"}]
)
def test_impossible_splits_are_refused(options) -> None:
    with pytest.raises(Refused, match="must be"):
        Splits(**options)


BY_BLOCKS = {"5 folds": Splits(by="blocks"), "hold-out": Splits(scheme="holdout", by="blocks", test_fraction=0.3)}


@pytest.mark.parametrize("splits", BY_BLOCKS.values(), ids=BY_BLOCKS)
def test_the_rows_of_a_block_stay_together_and_the_sizes_are_public(splits) -> None:
    rows = 90 * BLOCK_ROWS + 17
    labels = splits.assign(rows, rows, 0, "t", 1)
    assert labels.shape == (rows,)
    for start in range(0, rows, BLOCK_ROWS):
        assert len(set(labels[start : start + BLOCK_ROWS])) == 1
    np.testing.assert_array_equal(np.bincount(labels), splits.block_sizes(rows, 0, "t", 1))


@pytest.mark.parametrize("splits", BY_BLOCKS.values(), ids=BY_BLOCKS)
def test_the_part_of_a_block_does_not_depend_on_how_many_blocks_follow(splits) -> None:
    many = splits.block_parts(1_000, 0, "t", 1)
    for blocks in (1, 7, 999):
        np.testing.assert_array_equal(splits.block_parts(blocks, 0, "t", 1), many[:blocks])
    assert all((splits.block_parts(1_000, *names) != many).any() for names in ((1, "t", 1), (0, "u", 1), (0, "t", 2)))


def test_every_block_is_as_likely_in_every_part() -> None:
    """20,000 blocks: χ² of the parts' sizes. False alarm 1e-6 each."""
    for splits, shares in ((BY_BLOCKS["5 folds"], [0.2] * 5), (BY_BLOCKS["hold-out"], [0.3, 0.7])):
        counts = np.bincount(splits.block_parts(20_000, 0, "t", 0))
        assert stats.chisquare(counts, 20_000 * np.array(shares)).pvalue > 1e-6


def test_too_few_blocks_and_rows_that_are_left_out_are_refused() -> None:
    splits = BY_BLOCKS["5 folds"]
    with pytest.raises(
        Refused, match=r"^With splits\.by=blocks, 8,000 rows are 2 blocks of 4,096, and repeat 3 leaves one of 5 parts"
    ):
        splits.assign(8_000, 8_000, 0, "t", 3)
    with pytest.raises(Refused, match=r"^With splits\.by=blocks every row belongs to a part: leave out dataset\.sample_rate"):
        splits.assign(10**6, 999_999, 0, "t", 0)


def test_assigning_rows_is_what_older_cells_are_keyed_by() -> None:
    assert "by" not in Splits().as_config()
    assert Splits(by="blocks").as_config() == {**Splits().as_config(), "by": "blocks"}
    assert Splits(by="blocks").describe() == "50 x 5-fold of blocks"
