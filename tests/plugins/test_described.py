"""Every hook has its page, template and tests; every component says what it is, where it is from, and what it promises.

Built-in components and those of the example distributions keep the same rules.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dpbench.base.options import options_of
from dpbench.contracts import hooks
from dpbench.contracts.hooks import KINDS, OFFERS
from dpbench.registry.lookup import registry
from dpbench.testing import components
from dpbench.testing.kinds import CHECKS

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path.parent for path in (ROOT / "examples").glob("*/dpbench_*/__init__.py"))
PARAGRAPHS = {**components.PARAGRAPHS, "model": ("Reference:",), "attack": ("Reference:",)}
YEAR = re.compile(r"\b(19|20)\d\d\b|none")
"""A citation names a year, or says that there is none."""


def built_in() -> Iterator[tuple[str, Any]]:
    """Every component that ships, with those that wait for a package."""
    for entry in registry().entries:
        waiting = entry.offer is None and entry.health == "missing"
        yield entry.kind, vars(entry.plugin.load())["MECHANISM"] if waiting else entry.offer


SHIPPED = [pytest.param(kind, offer, id=f"{kind} {offer.name}") for kind, offer in built_in()]


def undescribed(kind: str, offer: Any) -> list[str]:
    """What a component does not say."""
    missing = [] if offer.summary().strip() else ["a summary"]
    if kind in KINDS:
        missing += [f"help of {option.name}" for option in options_of(offer) if not option.help.strip()]
        if not offer.summary().endswith((".", ":")):
            missing.append("a summary that is a sentence")
    paragraphs = {text.split(" ")[0]: text for text in (inspect.getdoc(offer) or "").split("\n\n")} if kind in KINDS else {}
    if not getattr(offer, "attacks_nothing", False):
        missing += [name for name in PARAGRAPHS.get(kind, ()) if name not in paragraphs]
    if not YEAR.search(paragraphs.get("Reference:", "none")):
        missing.append("a year in the reference")
    if kind == "mechanism" and not offer.guarantee:
        missing.append("a guarantee")
    if kind == "dataset":
        dataset = offer()
        users_own = not (dataset.synthetic or dataset.public)
        missing += [name for name in ("licence", "citation") if not getattr(dataset, name).strip() and not users_own]
    if kind == "metric":  # its meaning is its definition, and names a source where there is one
        missing += [name for name in ("label", "meaning") if not getattr(offer, name).strip()]
    if kind == "attack":
        missing += [f"the meaning of {info.name}" for info in offer.metrics if not info.meaning.strip().endswith(".")]
    return missing


@pytest.mark.parametrize(("kind", "offer"), SHIPPED)
def test_a_built_in_component_describes_itself(kind: str, offer: Any) -> None:
    assert undescribed(kind, offer) == []


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_the_components_of_an_example_describe_themselves(folder: Path, fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPBENCH_PLUGINS_DIR", str(folder.parent))
    brought = [entry for entry in registry().entries if entry.plugin.is_file and entry.plugin.name == folder.name]
    assert brought
    assert {f"{entry.kind} {entry.name}": undescribed(entry.kind, entry.offer) for entry in brought} == {
        f"{entry.kind} {entry.name}": [] for entry in brought
    }


def test_what_is_not_said_is_noticed(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wrong plugins of the conformance kit lack references: the rule above can fail."""
    monkeypatch.setenv("DPBENCH_PLUGINS_DIR", str(ROOT / "tests" / "testing" / "wrong_plugins"))
    monkeypatch.setenv("DPBENCH_PLUGIN_SECONDS", "0.5")
    wrong = {entry.name: entry for entry in registry().entries if entry.plugin.is_file and entry.health == "ok"}
    assert undescribed("model", wrong["missing_provides"].offer) == ["Reference:"]
    assert undescribed("attack", wrong["told_attack"].offer) == ["Reference:"]
    assert undescribed("dataset", wrong["unscaled_bounds"].offer) == ["licence", "citation"]


@pytest.mark.parametrize("kind", OFFERS)
def test_every_hook_is_documented_and_tested(kind: str) -> None:
    hook = OFFERS[kind].hook
    assert (inspect.getdoc(getattr(hooks, hook)) or "").endswith("."), "its docstring is its entry in the API reference"
    page = (ROOT / "docs" / "authors" / f"{kind}.md").read_text(encoding="utf-8")
    assert kind == "paper" or f"def {hook}():" in page, "the page for authors shows a complete plugin"
    assert f"new {kind} " in (ROOT / "docs" / "authors" / "README.md").read_text(encoding="utf-8")
    templates = ROOT / "dpbench" / "scaffold" / "templates"
    assert (templates / f"{kind}.py.j2").is_file() or (templates / kind / "__init__.py.j2").is_file()
    assert CHECKS[kind], "python -m dpbench check tries what it returns"
    assert kind not in KINDS or components.CALLS[kind]
    assert (ROOT / "tests" / "contracts" / f"test_{kind}.py").is_file()
    implementations = [path for path in (ROOT / "tests" / "testing" / "wrong_plugins").glob("*.py") if hook in functions(path)]
    assert implementations, "a wrong plugin of this kind shows that the kit notices"


def functions(path: Path) -> set[str]:
    return {node.name for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)}
