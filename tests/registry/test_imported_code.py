"""A plugin whose file was edited after it was imported is refused until the process starts again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dpbench.base.errors import Refused
from dpbench.registry.imported_code import refuse_edited
from dpbench.registry.lookup import registry

PLUGIN = """
    from dataclasses import dataclass

    from dpbench import Mechanism, hookimpl

    from ._scale import SHARE

    @dataclass(frozen=True)
    class Mine(Mechanism):
        '''Fits nothing.'''

        name = "mine"
        guarantee = "none"

        def fit(self, curator, problem, budget):
            raise NotImplementedError

    @hookimpl
    def dpbench_mechanisms():
        return [Mine]
"""


@pytest.fixture
def mine(drop_in: Callable[[str], None], tmp_path: Path) -> Path:
    """The file that a drop-in plugin imports a number from."""
    (tmp_path / "_scale.py").write_text("SHARE = 1\n")
    drop_in(PLUGIN)
    return tmp_path / "_scale.py"


def test_a_file_that_was_edited_since_it_was_imported_is_refused(mine: Path) -> None:
    refuse_edited([registry().get("mechanism", "mine")])
    mine.write_text("SHARE = 2\n")
    with pytest.raises(Refused, match=r"_scale\.py' was edited after this process imported it: restart the process"):
        refuse_edited([registry().get("mechanism", "mine")])
    mine.write_text("SHARE = 1\n")
    refuse_edited([registry().get("mechanism", "mine")])


def test_a_file_that_is_gone_was_edited(mine: Path) -> None:
    cls = registry().get("mechanism", "mine")
    refuse_edited([cls])
    mine.unlink()
    with pytest.raises(Refused, match="restart"):
        refuse_edited([cls])


def test_a_plugin_that_was_imported_again_is_new(mine: Path) -> None:
    registry()
    mine.write_text("SHARE = 2\n")
    registry.cache_clear()
    refuse_edited([registry().get("mechanism", "mine")])
