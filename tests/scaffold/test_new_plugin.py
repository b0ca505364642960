"""What a new plugin's files say, and that nothing is overwritten."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import yaml

from dpbench.base.errors import Refused
from dpbench.contracts.hooks import OFFERS
from dpbench.scaffold.new_plugin import NewPlugin


@pytest.mark.parametrize("kind", OFFERS)
def test_a_distribution_announces_its_package_and_every_file_can_be_read(kind: str, tmp_path: Path) -> None:
    folder = NewPlugin(kind, "my_own").write_distribution(tmp_path)
    assert folder == tmp_path / "dpbench-my-own"
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["name"] == "dpbench-my-own"
    assert project["project"]["entry-points"]["dpbench"] == {"my_own": "dpbench_my_own"}
    assert project["tool"]["setuptools"]["packages"] == ["dpbench_my_own"]
    for path in folder.rglob("*.py"):
        compile(path.read_text(encoding="utf-8"), str(path), "exec")
    for path in folder.rglob("*.yaml"):
        assert yaml.safe_load(path.read_text(encoding="utf-8"))
    texts = [path.read_text(encoding="utf-8") for path in folder.rglob("*") if path.is_file()]
    assert not [text for text in texts if "{{" in text or "{%" in text]
    assert f"def dpbench_{kind}s" in (folder / "dpbench_my_own" / "__init__.py").read_text(encoding="utf-8")
    assert (folder / "ci.sh").stat().st_mode & 0o100, "it can be run"


def test_names_become_classes() -> None:
    assert NewPlugin("model", "my_ridge_2").class_name == "MyRidge2"


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    plugin = NewPlugin("metric", "mine")
    (path := plugin.write_file(tmp_path)).write_text("edited")
    (folder := plugin.write_distribution(tmp_path))
    (folder / "README.md").write_text("edited")
    for write in (plugin.write_file, plugin.write_distribution):
        with pytest.raises(Refused, match="already exists"):
            write(tmp_path)
    assert path.read_text() == (folder / "README.md").read_text() == "edited"


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Refused, match="cannot be written"):
        NewPlugin("metric", "mine").write_file(tmp_path / "file")


@pytest.mark.parametrize("name", ["Mine", "1st", "my-own", "", "null"])
def test_a_name_that_the_command_line_cannot_read_is_refused(name: str) -> None:
    with pytest.raises(Refused, match="The name of the metric must"):
        NewPlugin("metric", name)


def test_a_paper_is_no_single_file(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="cannot be a single file"):
        NewPlugin("paper", "mine2024").write_file(tmp_path)
