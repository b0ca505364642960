"""The registry finds plugins one by one, explains the broken ones, and never lets one stop another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dpbench.base.errors import Refused
from dpbench.contracts.kinds import KINDS, OFFERS, Kind
from dpbench.registry import discovery as _plugins
from dpbench.registry.lookup import BrokenPlugin, Registration, Registry, registry

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
COMPONENT = HEAD + "@dataclass(frozen=True)\nclass Some(Component):\n    '''Something.'''\n    name = 'some'\n"
HOOK = "\n@hookimpl\ndef dpbench_mechanisms():\n    return [Some]\n"

Install = Callable[..., None]


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every test has a registry of its own, without what is shipped, where any component keeps any contract."""
    monkeypatch.setattr(_plugins, "GROUP", "dpbench_tests")
    for name, kind in KINDS.items():
        monkeypatch.setitem(OFFERS, name, Kind(kind.hook, "dpbench.contracts.component", "Component"))
    for variable in ("DPBENCH_PLUGINS_DIR", "DPBENCH_DISABLE_PLUGINS", "DPBENCH_STRICT_PLUGINS"):
        monkeypatch.delenv(variable, raising=False)
    registry.cache_clear()
    yield
    registry.cache_clear()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
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


def of(distribution: str) -> list[Registration]:
    return [entry for entry in registry().entries if entry.distribution == distribution]


def only(distribution: str) -> Registration:
    (entry,) = of(distribution)
    return entry


def test_an_installed_component_is_found_by_kind_and_name(install: Install) -> None:
    install("stranger", "2.5", nice=GOOD)
    entry = only("stranger")
    assert (entry.kind, entry.name, entry.plugin, entry.version) == ("mechanism", "good", "nice", "2.5")
    assert (entry.summary, entry.guarantee, entry.health, entry.reason) == ("Does what it should.", "ε-DP", "ok", "")
    assert registry().get("mechanism", "good") is entry.cls
    assert "good" in registry().names("mechanism")
    assert "good" not in registry().names("model")
    assert entry.cls is not None
    assert registry().version_of(entry.cls) == "stranger 2.5"


def test_the_registry_is_made_once(install: Install) -> None:
    first = registry()
    install("late", nice=GOOD)
    assert registry() is first


def test_a_plugin_that_raises_on_import_is_named_and_stops_nobody(install: Install) -> None:
    install("sick", "0.3", boom="raise OSError('no such\\ntable')", nice=GOOD)
    bad = next(entry for entry in of("sick") if entry.health == "broken")
    assert (bad.kind, bad.name, bad.version) == ("plugin", "boom", "0.3")
    assert bad.reason == "OSError: no such"
    assert registry().get("mechanism", "good").name == "good"
    with pytest.raises(Refused, match=r"no mechanism named 'boom'.*plugin 'boom' of sick 0\.3 is broken: OSError: no such"):
        registry().get("mechanism", "boom")


def test_a_plugin_that_exits_on_import_is_broken_too(install: Install) -> None:
    install("quitter", leave="import sys; sys.exit(7)")
    assert only("quitter").reason == "SystemExit: 7"


def test_strict_raises_with_the_cause_chained(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install("sick", boom="raise OSError('no table')")
    monkeypatch.setenv("DPBENCH_STRICT_PLUGINS", "1")
    with pytest.raises(BrokenPlugin, match=r"'boom' of sick 1\.0: OSError: no table") as raised:
        registry()
    assert isinstance(raised.value.__cause__, OSError)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            COMPONENT + HOOK.replace("mechanisms", "mechanism"),
            "There is no hook named 'dpbench_mechanism'. Did you mean dpbench_mech",
        ),
        (COMPONENT + HOOK.replace("@hookimpl\n", ""), "Its function dpbench_mechanisms does not carry the marker @hookimpl."),
        (COMPONENT, "It implements no hook."),
        (COMPONENT + HOOK.replace("[Some]", "Some"), "TypeError: dpbench_mechanisms must return a list of classes."),
        (COMPONENT + HOOK.replace("[Some]", "None"), "TypeError: dpbench_mechanisms must return a list of classes."),
        (COMPONENT + HOOK.replace("return [Some]", "yield Some; raise ValueError('half')"), "ValueError: half"),
        (COMPONENT + HOOK.replace("ms()", "ms(curator)"), "PluginValidationError"),
        (
            COMPONENT + HOOK.replace("[Some]", "['Some']"),
            "A mechanism must be a class derived from Component. Got 'Some' instead.",
        ),
        (COMPONENT + HOOK.replace("[Some]", "[dict]"), "A mechanism must be a class derived from Component."),
    ],
)
def test_a_hook_that_is_not_right_is_explained(install: Install, source: str, reason: str) -> None:
    install("clumsy", wrong=source)
    entry = only("clumsy")
    assert entry.health == "broken"
    assert entry.reason.startswith(reason), entry.reason


def test_a_misspelt_hook_does_not_cost_the_right_one(install: Install) -> None:
    install("half", mixed=GOOD + "\n@hookimpl\ndef dpbench_datasts():\n    return []\n")
    health = {entry.name: entry.health for entry in of("half")}
    assert health == {"good": "ok", "mixed": "broken"}


@pytest.mark.parametrize(
    ("wrong", "right", "reason"),
    [
        ("@dataclass(frozen=True)\n", "", "The class Some must be decorated with @dataclass(frozen=True)."),
        ("'''Something.'''", "pass", "The class Some must have a docstring"),
        ("'some'", "'Some'", "The name of Some must be small letters, digits and _, a letter first. Got 'Some' instead."),
        ("'some'", "'2nd'", "The name of Some must be"),
        ("'some'", "None", "The name of Some must be"),
        ("name = 'some'", "name: str = 'some'", "The name of Some must be written without a type"),
        ("name = 'some'", "name = 'some'\n    shrink: float", "The option 'shrink' of Some must have a default."),
        (
            "name = 'some'",
            "name = 'some'\n    shrink: flaot = 1",
            "The types of the options of Some must be names that its module",
        ),
        (
            "name = 'some'",
            "name = 'some'\n    shrink: complex = 1j",
            "The type of the option 'shrink' of Some must be float, int",
        ),
        (
            "name = 'some'",
            "name = 'some'\n    shrink: list[int] = ()",
            "The type of the option 'shrink' of Some must be float, int",
        ),
        (
            "name = 'some'",
            "name = 'some'\n    pair: tuple[int, int] = (1, 2)",
            "The type of the option 'pair' of Some must be float",
        ),
        (
            "name = 'some'",
            "name = 'some'\n    shrink: float = option(2, high=1)",
            "The 'shrink' option of Some, by default, must be",
        ),
        ("name = 'some'", "name = 'some'\n    shrink: int = 0.5", "The 'shrink' option of Some, by default, must be an int"),
        ("name = 'some'", "name = 'some'\n    guarantee = 3", "The guarantee of Some must be a short text. Got 3 instead."),
    ],
)
def test_a_class_that_keeps_no_contract_is_explained(install: Install, wrong: str, right: str, reason: str) -> None:
    assert wrong in COMPONENT
    install("careless", draft=COMPONENT.replace(wrong, right) + HOOK)
    entry = only("careless")
    assert (entry.kind, entry.health, entry.cls) == ("mechanism", "broken", None)
    assert entry.reason.startswith(reason), entry.reason


@pytest.mark.parametrize("bases", ["Component", "Component, ABC"])
def test_methods_left_abstract_are_named(install: Install, bases: str) -> None:
    head = HEAD + "from abc import ABC, abstractmethod\n"
    source = COMPONENT.replace(HEAD, head).replace("(Component)", f"({bases})") + "    @abstractmethod\n    def fit(self): ...\n"
    install("lazy", draft=source + HOOK)
    assert only("lazy").reason == "The class Some must define fit."


def test_a_broken_component_is_refused_with_its_reason(install: Install) -> None:
    install("careless", draft=COMPONENT.replace("'''Something.'''", "pass") + HOOK)
    with pytest.raises(Refused, match=r"The mechanism 'some' of careless 1\.0 is broken: The class Some must have a docstring"):
        registry().get("mechanism", "some")


def test_two_components_of_one_name_are_refused_naming_both_distributions(install: Install) -> None:
    install("first", one=GOOD)
    install("second", "2.0", two=GOOD, other=COMPONENT + HOOK)
    with pytest.raises(
        Refused, match=r"'good' is offered more than once, by first 1\.0 \(plugin one\) and second 2\.0 \(plugin two\)"
    ):
        registry().get("mechanism", "good")
    assert [entry.health for entry in registry().entries if entry.name == "good"] == ["conflict", "conflict"]
    assert "good" not in registry().names("mechanism")
    assert registry().get("mechanism", "some").name == "some"


def test_one_name_in_two_kinds_is_no_conflict(install: Install) -> None:
    install("both", one=GOOD, two=GOOD.replace("mechanisms", "models"))
    assert [entry.health for entry in of("both")] == ["ok", "ok"]
    assert registry().get("mechanism", "good") is not registry().get("model", "good")


@pytest.mark.parametrize("name", ["first", "one", "First", " one ,"])
def test_a_disabled_plugin_or_distribution_is_left_out(install: Install, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    install("first", one=GOOD)
    install("second", two=GOOD)
    monkeypatch.setenv("DPBENCH_DISABLE_PLUGINS", name)
    assert of("first") == []
    assert registry().disabled == ("one",)
    assert registry().version_of(registry().get("mechanism", "good")) == "second 1.0"
    with pytest.raises(Refused, match=r"The plugin 'one' is left out by DPBENCH_DISABLE_PLUGINS\."):
        registry().get("mechanism", "one")


def test_a_disabled_plugin_is_not_even_imported(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install("sick", boom="raise SystemError('imported')")
    monkeypatch.setenv("DPBENCH_DISABLE_PLUGINS", "boom")
    monkeypatch.setenv("DPBENCH_STRICT_PLUGINS", "1")
    assert of("sick") == []


def test_disabling_what_is_not_there_is_refused(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install("first", lonely=GOOD)
    monkeypatch.setenv("DPBENCH_DISABLE_PLUGINS", "lonly")
    with pytest.raises(Refused, match=r"DPBENCH_DISABLE_PLUGINS: There is no plugin named 'lonly'\. Did you mean lonely"):
        registry()


def test_a_file_in_the_drop_in_folder_is_a_plugin(folder: Path) -> None:
    (folder / "mine.py").write_text(
        GOOD.replace("import option", "import option").replace("hookimpl, option", "hookimpl, option")
    )
    (folder / "_helper.py").write_text("raise SystemError('not a plugin')")
    (folder / "notes.txt").write_text("nothing")
    entry = only("drop-in file")
    assert (entry.name, entry.plugin, entry.health) == ("good", "mine.py", "ok")
    assert len(entry.version) == 12


def test_an_edited_file_has_another_version(folder: Path) -> None:
    (folder / "mine.py").write_text(GOOD)
    first = only("drop-in file").version
    (folder / "mine.py").write_text(GOOD + "\n# edited\n")
    registry.cache_clear()
    assert only("drop-in file").version != first


def test_files_of_the_folder_can_share_a_helper(folder: Path) -> None:
    (folder / "_names.py").write_text("NAME = 'shared'\n")
    (folder / "mine.py").write_text(GOOD.replace('"good"', "NAME").replace(HEAD, HEAD + "from ._names import NAME\n"))
    assert only("drop-in file").name == "shared"


def test_a_file_with_a_syntax_error_stops_nobody(folder: Path) -> None:
    (folder / "bad.py").write_text("def (:\n")
    (folder / "good.py").write_text(GOOD)
    assert {entry.plugin: entry.health for entry in of("drop-in file")} == {"bad.py": "broken", "good.py": "ok"}
    assert next(entry for entry in of("drop-in file") if entry.reason).reason.startswith("SyntaxError: ")


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPBENCH_PLUGINS_DIR", str(tmp_path / "nowhere"))
    with pytest.raises(Refused, match=r"The plugin folder must be an existing folder\. Got '.*nowhere' instead\."):
        registry()


def test_a_plugin_that_prints_does_not_spoil_standard_output(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install("noisy", loud="print('hello')\n" + GOOD.replace("from __future__ import annotations", ""))
    registry()
    assert capsys.readouterr() == ("", "hello\n")


def test_unknown_names_and_kinds_list_the_near_ones(install: Install) -> None:
    install("stranger", nice=GOOD)
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
