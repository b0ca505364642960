"""Second moments are exact: the same bits however the rows are summed, because scaled values have few digits."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from dpbench.data.moments import EXACT_ROWS, MAX_ROWS, PRODUCT_BITS, Moments, exact_gram, from_multiples, gram, whole_multiples
from dpbench.data.scaling import scale


@pytest.mark.parametrize("n", [1_000, 5_003, 300_000])
@pytest.mark.parametrize("threads", [1, 2])
def test_gram_sums_are_equal_to_the_bit_however_the_rows_lie(n, threads, table) -> None:
    """Shuffled, in chunks, transposed in memory, strided, by einsum and in extended order; one BLAS thread or two."""
    generator = np.random.default_rng(n)
    z = scale(table(generator.uniform(-1, 1, (n, 3)), generator.uniform(-1, 1, n)), "box", True, "real").z
    with threadpool_limits(1):
        expected = gram(z)
    wide = np.repeat(z[:50_000], 2, axis=0)
    with threadpool_limits(threads):
        np.testing.assert_array_equal(gram(z[generator.permutation(n)]), expected)
        np.testing.assert_array_equal(sum(gram(chunk) for chunk in np.array_split(z, 7)), expected)
        np.testing.assert_array_equal(gram(np.asfortranarray(z)), expected)
        np.testing.assert_array_equal(z.T @ z.copy(), expected)
        np.testing.assert_array_equal(np.einsum("ni,nj->ij", z, z), expected)
        np.testing.assert_array_equal(np.cumsum(z[:, 1] * z[:, -1])[-1], expected[1, -1])
        np.testing.assert_array_equal(gram(wide[::2]), gram(z[:50_000]))


def test_off_the_grid_gram_sums_do_depend_on_the_order() -> None:
    """What the test above would miss if it could not fail."""
    z = np.random.default_rng(0).uniform(-1, 1, (5_003, 5))
    assert (gram(z) != sum(gram(chunk) for chunk in np.array_split(z, 7))).any()


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("scaling", ["box", "ball"])
def test_moments_are_those_of_the_design(intercept, scaling, table) -> None:
    generator = np.random.default_rng(0)
    rows = scale(table(generator.uniform(-1, 1, (500, 3)), generator.uniform(-1, 1, 500)), scaling, intercept, "real")
    moments = Moments(gram(rows.z)[None], rows.geometry)
    np.testing.assert_array_equal(moments.xx[0], rows.x.T @ rows.x)
    np.testing.assert_array_equal(moments.xy[0], rows.x.T @ rows.y)
    np.testing.assert_array_equal(moments.x[0], rows.x.sum(axis=0))
    assert (moments.n[0], moments.y[0], moments.yy[0]) == (500, rows.y.sum(), rows.y @ rows.y)


def test_whole_multiples_add_up_to_the_same_bits_in_any_parts_where_float_sums_do_not() -> None:
    """Three million rows of the values that need most digits: float sums of 2⁻³² steps round above 2²¹ rows."""
    rows = EXACT_ROWS + 900_001
    z = np.full((rows, 2), 1.0)
    z[:, 1] = 1 - 2.0**-16
    z[::3, 1] = 2.0**-16
    expected = int(np.count_nonzero(z[:, 1] == 2.0**-16)) + (2**16 - 1) ** 2 * int(np.count_nonzero(z[:, 1] != 2.0**-16))
    multiples = exact_gram(z)
    assert int(multiples[1, 1]) == expected
    assert multiples[0, 0] == rows << PRODUCT_BITS
    parts = [whole_multiples(gram(part)) for part in np.array_split(z, 7)]
    np.testing.assert_array_equal(sum(parts[::-1]), multiples)
    assert from_multiples(multiples)[1, 1] == float(expected) / 2**32


def test_the_sums_of_the_most_rows_fit_64_bits() -> None:
    assert MAX_ROWS << PRODUCT_BITS <= np.iinfo(np.int64).max < (MAX_ROWS + 1) << PRODUCT_BITS
