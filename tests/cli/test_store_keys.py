"""Subcommands that name runs read the keys of their store, and no others."""

from __future__ import annotations

import pytest

from dpbench.base.errors import Refused
from dpbench.cli._store_keys import open_recorded, split_arguments


def test_runs_and_keys_are_told_apart_by_the_equals_sign() -> None:
    runs, keys = split_arguments("compare", ["abcdef", "tracking.uri=http://x/?a=b", "latest"])
    assert runs == ["abcdef", "latest"]
    assert keys == {"tracking.uri": "http://x/?a=b"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["epsilon=1"], "no key of reproduce named 'epsilon'"),
        (["other.uri=sqlite:///x.db"], "no key of reproduce named 'other.uri'"),
        (["tracking.uri="], "Got none instead"),
        (["tracking.uri=a", "tracking.uri=b"], "Got several instead"),
    ],
)
def test_other_keys_and_keys_without_one_value_are_refused(arguments: list[str], words: str) -> None:
    with pytest.raises(Refused, match=words):
        split_arguments("reproduce", arguments)


def test_a_store_that_does_not_exist_is_refused_and_not_made(tmp_path) -> None:
    with pytest.raises(Refused, match="no runs"):
        open_recorded({"tracking.uri": f"sqlite:///{tmp_path}/m.db"})
    assert list(tmp_path.iterdir()) == []
