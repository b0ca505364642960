"""What all datasets share: options that select rows and columns, and the checksums of the files that ship."""

from __future__ import annotations

import hashlib
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

from dpbench.base.errors import Refused
from dpbench.base.random_streams import stream
from dpbench.registry.lookup import registry


def test_attributes_are_chosen_by_name_in_the_table_s_order(make) -> None:
    table = make("dataset", "wine", attributes=["alcohol", "ph"]).select(stream(0))
    assert table.attributes == ("ph", "alcohol")
    whole = make("dataset", "wine").select(stream(0))
    np.testing.assert_array_equal(table.features[:, 1], whole.features[:, -1])
    with pytest.raises(Refused, match="alcohol"):
        make("dataset", "wine", attributes=["alcohl"]).select(stream(0))


@pytest.mark.parametrize(("rate", "rows", "sampled"), [(1.0, 10, 10), (0.5, 11, 6), (0.25, 8, 2)])
def test_a_sampling_rate_is_a_public_number_of_rows(rate, rows, sampled, make) -> None:
    assert make("dataset", "gaussian", sample_rate=rate).rows_per_repeat(rows) == sampled


def test_a_sampling_rate_that_leaves_nothing_is_refused(make) -> None:
    with pytest.raises(Refused, match="leaves 1 of 100 rows"):
        make("dataset", "gaussian", sample_rate=0.01).rows_per_repeat(100)


def test_the_readme_lists_every_vendored_file_with_its_sha256() -> None:
    plugin = inspect.getsourcefile(registry().get("dataset", "wine"))
    assert plugin is not None
    folder = Path(plugin).parent / "data"
    listed = dict(
        re.findall(r"^\| `([^`]+)` \|.*\| `([0-9a-f]{64})` \|$", (folder / "README.md").read_text("utf-8"), re.MULTILINE)
    )
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file() and path.suffix != ".md"}
    assert {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()} == listed


def test_every_vendored_table_has_a_fingerprint_of_its_own(make) -> None:
    """The fingerprint is part of every cell's key."""
    names = [
        ("wine", {}),
        ("wine", {"color": "red"}),
        ("adult", {}),
        ("census", {}),
        ("census", {"variant": "heads"}),
        ("brazil", {}),
        ("open", {}),
        ("open", {"table": "airfoil"}),
    ]
    digests = [make("dataset", name, **options).fingerprint() for name, options in names]
    assert all(digests)
    assert len(set(digests)) == len(digests)
