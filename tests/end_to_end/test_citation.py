"""CITATION.cff agrees with the package."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from dpbench import __version__

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def citation() -> Any:
    return yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def test_the_citation_has_what_its_format_requires(citation: Any) -> None:
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] == "software"


def test_the_citation_names_the_version_licence_and_keywords_of_the_package(citation: Any) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert citation["version"] == __version__
    assert citation["license"] == project["license"]
    assert citation["keywords"] == project["keywords"]
