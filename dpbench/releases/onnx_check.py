"""Compare an ONNX graph with the release that it was made from, on made-up rows, before it is written."""

from dataclasses import replace
from typing import Any

import numpy as np

from dpbench.base.errors import Refused
from dpbench.base.random_streams import stream
from dpbench.releases.release_file import Release
from dpbench.releases.release_inputs import inputs_of

ROWS = 200
MATCH_TOLERANCE = 2.0**-23
"""Relative to the range of the target: the precision of float32."""


def made_up_rows(release: Release, rows: int = ROWS) -> dict[str, np.ndarray]:
    """Return random cells for each input, some of them outside the bounds; the same ones each time."""
    generator = stream(0, "onnx")
    data: dict[str, np.ndarray] = {}
    # of one-hot columns that are inputs themselves, at most one is 1
    groups = dict.fromkeys(column.group for column in release.columns if column.group is not None)
    positions = {group: generator.integers(len(release.columns), size=rows) for group in groups}
    for index, each in enumerate(inputs_of(release)):
        if each.levels:
            data[each.name] = generator.choice(np.array(each.levels, dtype=object), rows)
        elif (group := each.columns[0].group) is not None:
            data[each.name] = (positions[group] == index).astype(float)
        else:
            (column,) = each.columns
            margin = 0.1 * (column.high - column.low)
            data[each.name] = generator.uniform(column.low - margin, column.high + margin, rows)
            data[each.name][:2] = column.low, column.high
    return data


def check_predictions(release: Release, model: Any) -> None:
    """Refuse a graph whose predictions are not those of the release."""
    from onnx.reference import ReferenceEvaluator

    data = made_up_rows(release)
    with np.errstate(all="ignore"):
        cells = {name: values.reshape(-1, 1) for name, values in data.items()}
        found = np.asarray(next(iter(ReferenceEvaluator(model).run(None, cells))))
    expected = _expected(release, data)
    size = 1.0 if release.kind == "binary" else release.target.high - release.target.low
    if not np.allclose(found[:, 0], expected, rtol=0, atol=MATCH_TOLERANCE * size):
        raise Refused(
            f"The model {release.model['name']} cannot be written as ONNX: its predictions do not follow from a weighted sum "
            "of the columns as those of linear and logistic models do."
        )


def _expected(release: Release, data: dict[str, np.ndarray]) -> np.ndarray:
    """Return the release's own predictions, with the numbers of dates in place of dates, and fractions of whole numbers."""
    formats = {name: form for name, form in release.formats.items() if form.levels}
    return replace(release, formats=formats).predict(data)
