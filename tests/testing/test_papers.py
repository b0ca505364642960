"""A paper's files can be read."""

from __future__ import annotations

import pytest

from dpbench import Paper
from dpbench.testing import check


@pytest.mark.parametrize(("text", "begin"), [("preset: [", "fig1.yaml is not YAML"), (None, "Its folder presets/ has no")])
def test_presets_that_cannot_be_read_or_are_missing_are_named(text, begin, tmp_path) -> None:
    (tmp_path / "presets").mkdir()
    if text is not None:
        (tmp_path / "presets" / "fig1.yaml").write_text(text)
    (failure, *_) = check(Paper("mine", "Mine 2020", tmp_path)).failures
    assert begin in failure.text
