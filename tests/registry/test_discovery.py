"""Plugins are loaded one by one: a broken one is explained and stops nobody."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dpbench.base.errors import Refused
from dpbench.privacy.noise import Laplace
from dpbench.registry import discovery
from dpbench.registry.discovery import Registration
from dpbench.registry.lookup import registry


def test_a_plugin_that_raises_on_import_is_named_and_stops_nobody(
    install: Callable[..., None], entries: Callable[[str], list[Registration]], good: str
) -> None:
    install("sick", "0.3", boom="raise OSError('no such\\ntable')", nice=good)
    bad = next(entry for entry in entries("sick") if entry.health == "broken")
    assert (bad.kind, bad.name, bad.plugin.version) == ("plugin", "boom", "0.3")
    assert bad.reason == "OSError: no such"
    assert registry().get("mechanism", "good").name == "good"
    with pytest.raises(Refused, match=r"no mechanism named 'boom'.*plugin 'boom' of sick 0\.3 is broken: OSError: no such"):
        registry().get("mechanism", "boom")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import sys; sys.exit(7)", "SystemExit: 7"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("raise BaseException('x')", "BaseException: x"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise ValueError('x' * 300_000)", f"ValueError: {'x' * 288}…"),
    ],
)
def test_a_plugin_that_raises_no_usual_error_on_import_is_broken_too(
    install: Callable[..., None], entry: Callable[[str], Registration], code: str, reason: str
) -> None:
    install("quitter", leave=code)
    assert entry("quitter").reason == reason


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (("mechanisms", "mechanism"), "There is no hook named 'dpbench_mechanism'. Did you mean dpbench_mech"),
        (("@hookimpl\n", ""), "Its function dpbench_mechanisms does not carry the marker @hookimpl."),
        (("@hookimpl\ndef dpbench_mechanisms", "def mechanisms"), "It implements no hook."),
        (("[Some]", "Some"), "TypeError: dpbench_mechanisms must return a list of classes."),
        (("[Some]", "None"), "TypeError: dpbench_mechanisms must return a list of classes."),
        (("return [Some]", "yield Some; raise ValueError('half')"), "ValueError: half"),
        (("ms()", "ms(curator)"), "Its function dpbench_mechanisms takes (curator), and hooks take no arguments."),
        (("[Some]", "['Some']"), "A mechanism must be a class derived from Component. Got 'Some' instead."),
        (("[Some]", "[dict]"), "A mechanism must be a class derived from Component."),
    ],
)
def test_a_hook_that_is_not_right_is_explained(
    install: Callable[..., None],
    part: tuple[str, str],
    reason: str,
    entry: Callable[[str], Registration],
    spoilt: Callable[[str, str], str],
) -> None:
    install("clumsy", wrong=spoilt(*part))
    one = entry("clumsy")
    assert one.health == "broken"
    assert one.reason.startswith(reason), one.reason


def test_a_plugin_that_lacks_a_package_says_how_to_install_it_and_is_not_broken(
    install: Callable[..., None],
    entry: Callable[[str], Registration],
    spoilt: Callable[[str, str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lacking = spoilt(
        "return [Some]", "from dpbench.base.errors import PackageMissing; raise PackageMissing('It needs thing: get thing.')"
    )
    install("lacking", wanting=lacking)
    monkeypatch.setenv("DPBENCH_STRICT_PLUGINS", "1")  # it would raise for a broken one
    assert (entry("lacking").health, entry("lacking").name) == ("missing", "wanting")
    assert "wanting" not in registry().names("mechanism")
    with pytest.raises(Refused, match=r"^It needs thing: get thing\.$"):
        registry().get("mechanism", "wanting")


def test_a_misspelt_hook_does_not_cost_the_right_one(
    install: Callable[..., None], entries: Callable[[str], list[Registration]], good: str
) -> None:
    install("half", mixed=good + "\n@hookimpl\ndef dpbench_datasts():\n    return []\n")
    health = {entry.name: entry.health for entry in entries("half")}
    assert health == {"good": "ok", "mixed": "broken"}


def test_a_file_with_a_syntax_error_stops_nobody(folder: Path, entries: Callable[[str], list[Registration]], good: str) -> None:
    (folder / "bad.py").write_text("def (:\n")
    (folder / "good.py").write_text(good)
    assert {entry.plugin.name: entry.health for entry in entries("drop-in file")} == {"bad.py": "broken", "good.py": "ok"}
    assert next(entry for entry in entries("drop-in file") if entry.reason).reason.startswith("SyntaxError: ")


def test_a_plugin_that_prints_does_not_spoil_standard_output(
    install: Callable[..., None], capfd: pytest.CaptureFixture[str], good: str
) -> None:
    prints = "print('hello', flush=True)\nimport os\nos.system('echo from a shell')\n"
    install("noisy", loud=prints + good.replace("from __future__ import annotations", ""))
    registry()
    assert capfd.readouterr() == ("", "hello\nfrom a shell\n")


@pytest.mark.parametrize(
    "code", ["import threading; threading.Event().wait()", "while True: pass", "{good}\n    while True: pass"], ids=str
)
def test_a_plugin_that_hangs_is_left_out_and_stops_nobody(
    install: Callable[..., None], entry: Callable[[str], Registration], good: str, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    monkeypatch.setenv("DPBENCH_PLUGIN_SECONDS", "0.1")
    install("sleeper", sleep=code.replace("{good}", good.rpartition("\n    return")[0]))
    install("stranger", nice=good)
    advice = "Import heavy packages in the functions that use them; DPBENCH_PLUGIN_SECONDS=60 waits longer."
    assert entry("sleeper").reason == f"It was not loaded within 0.1 s, and left out. {advice}"
    assert registry().get("mechanism", "good").name == "good"


def test_a_worker_does_not_wait_for_the_plugin_that_hung_in_its_parent(
    install: Callable[..., None], entry: Callable[[str], Registration], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPBENCH_PLUGIN_SECONDS", "0.1")
    install("sleeper", sleep="import threading; threading.Event().wait()")
    reason = entry("sleeper").reason
    registry.cache_clear()  # a worker is a new process with the same environment
    monkeypatch.setattr(discovery, "attempt", lambda *_: pytest.fail("it was tried again"))
    assert entry("sleeper").reason == reason


def test_a_long_docstring_is_cut_and_a_long_guarantee_or_name_refused(
    install: Callable[..., None], entry: Callable[[str], Registration], good: str, spoilt: Callable[[str, str], str]
) -> None:
    install("talker", docs=good.replace("Does what it should.", "y" * 300_000))
    install("lawyer", claim=spoilt("name = 'some'", "name = 'some'\n    guarantee = 'x' * 300_000"))
    install("namer", naming=spoilt("name = 'some'", "name = 'X' * 300_000"))
    assert len(entry("talker").offer.summary()) == 301
    assert entry("lawyer").reason.startswith("The guarantee of Some must be a text of at most 60 characters. Got 'xxx")
    assert (len(entry("namer").name), len(entry("namer").reason)) == (61, 301)


def test_a_plugin_that_replaces_a_function_while_it_is_imported_is_broken_and_the_function_put_back(
    install: Callable[..., None], entry: Callable[[str], Registration], good: str
) -> None:
    standard = Laplace.standard
    install("patcher", patch=f"{good}\nfrom dpbench.privacy.noise import Laplace\nLaplace.standard = print\n")
    assert "It replaces functions of dpbench: Laplace.standard" in entry("patcher").reason
    assert Laplace.standard is standard
