"""Plugins written for a test, and a registry that holds nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dpbench.base.environment import UNRESPONSIVE_PLUGINS
from dpbench.contracts.component import Component
from dpbench.contracts.hooks import KINDS, OFFERS, Kind
from dpbench.registry import plugin_sources
from dpbench.registry.discovery import Registration
from dpbench.registry.lookup import registry

HEAD = """
from __future__ import annotations
from dataclasses import dataclass
from dpbench import hookimpl, option
from dpbench.contracts.component import Component
"""
GOOD = (
    HEAD
    + """
@dataclass(frozen=True)
class Good(Component):
    '''Does what it should.

    At length.
    '''
    name = "good"
    guarantee = "ε-DP"
    shrink: float = option(0.5, low=0, high=1)

@hookimpl
def dpbench_mechanisms():
    return [Good]
"""
)
PLAIN = (
    HEAD
    + """
@dataclass(frozen=True)
class Some(Component):
    '''Something.'''
    name = 'some'

@hookimpl
def dpbench_mechanisms():
    return [Some]
"""
)


class AnyComponent(Kind):
    """A kind of component that needs no contract but the common one."""

    def load(self) -> type[Component]:
        return Component


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every test has its own registry, without what is shipped, where any component keeps any contract."""
    monkeypatch.setattr(plugin_sources, "GROUP", "dpbench_tests")
    for name, kind in KINDS.items():
        monkeypatch.setitem(OFFERS, name, AnyComponent(kind.name))
    monkeypatch.setenv(UNRESPONSIVE_PLUGINS, "")  # what a test adds to it is taken back
    for variable in ("DPBENCH_PLUGINS_DIR", "DPBENCH_DISABLE_PLUGINS", "DPBENCH_STRICT_PLUGINS"):
        monkeypatch.delenv(variable, raising=False)
    registry.cache_clear()
    yield
    registry.cache_clear()


@pytest.fixture
def good() -> str:
    """The source of a plugin with a mechanism named good."""
    return GOOD


@pytest.fixture
def plain() -> str:
    """The source of a plugin with a mechanism named some, for a test to spoil."""
    return PLAIN


@pytest.fixture
def spoilt() -> Callable[[str, str], str]:
    """Replaces a part of the plain plugin."""

    def replace(part: str, by: str) -> str:
        assert part in PLAIN
        return PLAIN.replace(part, by)

    return replace


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put a distribution where Python looks for them: metadata, entry points and modules, as an installer leaves them."""

    def distribution(name: str, version: str = "1.0", **modules: str) -> None:
        site = tmp_path / name
        metadata = site / f"{name}-{version}.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        package = f"{name}_{abs(hash(tmp_path))}"  # modules of one test must not be found by the next
        (site / package).mkdir()
        for module, source in modules.items():
            (site / package / f"{module}.py").write_text(source, encoding="utf-8")
        lines = [f"{module} = {package}.{module}" for module in modules]
        (metadata / "entry_points.txt").write_text("\n".join(["[dpbench_tests]", *lines]))
        monkeypatch.syspath_prepend(str(site))

    return distribution


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A drop-in folder."""
    path = tmp_path / "dropped"
    path.mkdir()
    monkeypatch.setenv("DPBENCH_PLUGINS_DIR", str(path))
    return path


@pytest.fixture
def entries() -> Callable[[str], list[Registration]]:
    """The entries of one distribution."""
    return lambda distribution: [entry for entry in registry().entries if entry.plugin.distribution == distribution]


@pytest.fixture
def entry(entries: Callable[[str], list[Registration]]) -> Callable[[str], Registration]:
    """The only entry of a distribution."""

    def only(distribution: str) -> Registration:
        (one,) = entries(distribution)
        return one

    return only
