"""The registry looks offers up by kind and name, and refuses the rest in one sentence."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dpbench.base.errors import Refused
from dpbench.contracts.component import Component
from dpbench.registry.discovery import Registration
from dpbench.registry.lookup import BrokenPlugin, Registry, build, registry


def test_an_installed_component_is_found_by_kind_and_name(
    install: Callable[..., None], entry: Callable[[str], Registration], good: str
) -> None:
    install("stranger", "2.5", nice=good)
    one = entry("stranger")
    assert (one.kind, one.name, one.plugin.name, one.plugin.version) == ("mechanism", "good", "nice", "2.5")
    assert (one.offer.summary(), one.offer.guarantee, one.health, one.reason) == ("Does what it should.", "ε-DP", "ok", "")
    assert registry().get("mechanism", "good") is one.offer
    assert "good" in registry().names("mechanism")
    assert "good" not in registry().names("model")
    assert one.offer is not None
    assert registry().version_of(one.offer) == "stranger 2.5"


def test_the_registry_is_made_once(install: Callable[..., None], good: str) -> None:
    first = registry()
    install("late", nice=good)
    assert registry() is first


def test_strict_raises_with_the_cause_chained(install: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    install("sick", boom="raise OSError('no table')")
    monkeypatch.setenv("DPBENCH_STRICT_PLUGINS", "1")
    with pytest.raises(BrokenPlugin, match=r"'boom' of sick 1\.0: OSError: no table") as raised:
        registry()
    assert isinstance(raised.value.__cause__, OSError)


def test_a_broken_component_is_refused_with_its_reason(install: Callable[..., None], spoilt: Callable[[str, str], str]) -> None:
    install("careless", draft=spoilt("'''Something.'''", "pass"))
    with pytest.raises(Refused, match=r"The mechanism 'some' of careless 1\.0 is broken: The class Some must have a docstring"):
        registry().get("mechanism", "some")


def test_two_components_of_one_name_are_refused_naming_both_distributions(
    install: Callable[..., None], good: str, plain: str
) -> None:
    install("first", one=good)
    install("second", "2.0", two=good, other=plain)
    with pytest.raises(
        Refused,
        match=r"'good' is offered more than once, by first 1\.0 \(plugin one\) and second 2\.0 \(plugin two\)\. "
        "Give one of your own another name",
    ):
        registry().get("mechanism", "good")
    assert [entry.health for entry in registry().entries if entry.name == "good"] == ["conflict", "conflict"]
    assert "good" not in registry().names("mechanism")
    assert registry().get("mechanism", "some").name == "some"


def test_a_name_that_comes_with_dpbench_stays_its_own(
    install: Callable[..., None], good: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No other plugin can disturb a sweep that uses it."""
    monkeypatch.setattr("dpbench.registry.lookup.DISTRIBUTION", "first")
    install("first", one=good)
    install("second", "2.0", two=good)
    assert registry().get("mechanism", "good").name == "good"
    (clash,) = [entry for entry in registry().entries if entry.health == "conflict"]
    assert clash.plugin.distribution == "second"
    assert "is offered more than once, by first 1.0" in clash.reason


def test_one_name_in_two_kinds_is_no_conflict(
    install: Callable[..., None], entries: Callable[[str], list[Registration]], good: str
) -> None:
    install("both", one=good, two=good.replace("mechanisms", "models"))
    assert [entry.health for entry in entries("both")] == ["ok", "ok"]
    assert registry().get("mechanism", "good") is not registry().get("model", "good")


def test_unknown_names_and_kinds_list_the_near_ones(install: Callable[..., None], good: str) -> None:
    install("stranger", nice=good)
    with pytest.raises(Refused, match=r"no mechanism named 'goood'\. Did you mean good"):
        registry().get("mechanism", "goood")
    with pytest.raises(Refused, match=r"no kind of component named 'mechanisms'\. Did you mean mechanism"):
        registry().names("mechanisms")


def test_the_version_of_a_class_from_nowhere_is_a_mistake() -> None:
    with pytest.raises(LookupError, match=r"not in the registry"):
        Registry(()).version_of(dict)


def test_a_checkout_that_was_never_installed_is_told_so() -> None:
    with pytest.raises(Refused, match=r"`pip install -e \.` in a checkout"):
        Registry(()).get("mechanism", "fm")


def test_a_section_names_a_component_and_its_options(install: Callable[..., None], good: str) -> None:
    install("stranger", nice=good)
    component = build("mechanism", {"name": "good", "shrink": 0.25})
    assert (component.name, component.options()) == ("good", {"shrink": 0.25})
    assert build("mechanism", {"name": "good"}).shrink == 0.5


def test_an_option_that_the_component_does_not_have_is_refused(install: Callable[..., None], good: str) -> None:
    install("stranger", nice=good)
    with pytest.raises(Refused, match=r"no option of good named 'shrnk'\. Did you mean shrink"):
        build("mechanism", {"name": "good", "shrnk": 1})


def test_a_fit_runs_a_plugin_by_its_mechanism_by_one_that_it_names_or_by_its_model(
    install: Callable[..., None], good: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("stranger", nice=good)
    own, stranger = object.__new__(Component), build("mechanism", {"name": "good"})
    monkeypatch.setattr(Component, "options", lambda self: {})
    assert not registry().runs_plugin(own, own)
    assert registry().runs_plugin(stranger, own)
    assert registry().runs_plugin(own, stranger)
    monkeypatch.setattr(Component, "options", lambda self: {"base": "good"})
    assert registry().runs_plugin(own, own)
