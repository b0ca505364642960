"""Loads plugins one by one and asks each for what it offers, so that a broken plugin does not stop the others."""

import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

import pluggy

from dpbench.base.core_functions import unreplaced
from dpbench.base.environment import PLUGIN_SECONDS, UNRESPONSIVE_PLUGINS
from dpbench.base.errors import PackageMissing, Refused, near_names
from dpbench.base.strangers_code import Unresponsive, attempt, stdout_is_stderr
from dpbench.contracts import hooks
from dpbench.registry.class_checks import check_offer
from dpbench.registry.plugin_sources import Plugin

DISTRIBUTION = "dp-regression-bench"
WATCHED_MODULES = tuple(f"dpbench.{name}" for name in ("privacy.secure_noise", "data.blocks", "fitting.noisy_objective"))
"""Modules that decide about numbers and are not loaded with the registry: a plugin could replace their functions unseen."""
MAX_LOAD_SECONDS = 5.0
"""How long a stranger's plugin may take to be imported and asked, unless DPBENCH_PLUGIN_SECONDS says otherwise."""
MAX_NAME_LENGTH, MAX_REASON_LENGTH = 60, 300
"""Characters of what listings show of a broken plugin."""


@dataclass(frozen=True)
class Registration:
    """Something that a plugin offers, or a plugin that offers nothing usable: what it is, and whether it can be used."""

    plugin: Plugin
    kind: str
    """One of OFFERS; "plugin" for a plugin that could not say what it offers."""
    name: str
    offer: Any = None
    """A component's class, or a paper; None if it is broken."""
    health: Literal["ok", "conflict", "broken", "missing"] = "ok"
    """``missing``: a package that the plugin needs is not installed, and the reason says how to install it."""
    reason: str = ""
    error: BaseException | None = field(default=None, compare=False, repr=False)

    @property
    def complaint(self) -> str:
        """The sentence for a user who needs what cannot be used."""
        broken = f"The {self.kind} {self.name!r} of {self.plugin.origin} is broken: {self.reason}"
        return self.reason if self.health in ("conflict", "missing") else broken


def discover(plugins: Iterable[Plugin]) -> Iterator[Registration]:
    """Load each plugin, ask it for its offers, and check them."""
    manager = pluggy.PluginManager(hooks.PROJECT)
    manager.add_hookspecs(hooks)
    for plugin in plugins:
        offers = _offers_of(plugin, manager)
        if isinstance(offers, BaseException):
            yield _broken(plugin, "plugin", plugin.name, _one_line(offers), offers)
        else:
            yield from offers


def _offers_of(plugin: Plugin, manager: pluggy.PluginManager) -> list[Registration] | BaseException:
    """Return what a plugin offers, or the error that it raises; a stranger's plugin has a limited time."""
    if plugin.distribution == DISTRIBUTION:
        try:
            return _load(plugin, manager)
        except Exception as error:  # noqa: BLE001  listed like a stranger's
            return error
    seconds, unresponsive = _seconds(), os.environ.get(UNRESPONSIVE_PLUGINS, "").split("\n")
    name = f"{plugin.name} of {plugin.origin}"
    if name in unresponsive:
        offers: list[Registration] | BaseException = Unresponsive()
    else:
        try:
            # watched from here, because a thread that is left would put things back at any time
            with stdout_is_stderr(), _watched():
                offers = attempt(lambda: _load(plugin, manager), seconds)
        except Refused as refusal:
            return refusal
    if isinstance(offers, Unresponsive):
        # worker processes inherit the variable, and do not wait for the same plugin again
        os.environ[UNRESPONSIVE_PLUGINS] = "\n".join(dict.fromkeys([*filter(None, unresponsive), name]))
        advice = f"Import heavy packages in the functions that use them; {PLUGIN_SECONDS}=60 waits longer."
        return Unresponsive(f"It was not loaded within {seconds:g} s, and left out. {advice}")
    return offers


def _seconds() -> float:
    return float(os.environ.get(PLUGIN_SECONDS) or MAX_LOAD_SECONDS)


def _load(plugin: Plugin, manager: pluggy.PluginManager) -> list[Registration]:
    module = plugin.load()
    for name in [kind.hook for kind in hooks.OFFERS.values()]:
        if parameters := _parameters(getattr(module, name, None)):
            raise Refused(f"Its function {name} takes ({', '.join(parameters)}), and hooks take no arguments.")
    manager.register(module, name=f"{plugin.name} of {plugin.distribution}")
    return list(_registrations(plugin, module, manager))


def _parameters(function: Any) -> list[str]:
    return list(inspect.signature(function).parameters) if inspect.isfunction(function) else []


def _watched() -> AbstractContextManager[None]:
    """Return what refuses a plugin that replaces functions of dpbench while it is loaded."""
    for module in WATCHED_MODULES:
        import_module(module)
    return unreplaced("It")


def _registrations(plugin: Plugin, module: Any, manager: pluggy.PluginManager) -> Iterator[Registration]:
    kinds = {kind.hook: name for name, kind in hooks.OFFERS.items()}
    reasons = [f"Its function {name} does not carry the marker @hookimpl." for name in _unmarked_hooks(module)]
    callers = manager.get_hookcallers(module) or []
    called = [caller.name for caller in callers]
    reasons += [f"There is no hook named {name!r}.{near_names(name, kinds)}" for name in called if name not in kinds]
    if not callers and not reasons:
        reasons.append(f"It implements no hook.{near_names('', kinds)}")
    for reason in reasons:
        yield _broken(plugin, "plugin", plugin.name, reason)
    for caller in callers:
        for implementation in caller.get_hookimpls():
            if caller.name in kinds and implementation.plugin is module:
                yield from _call(plugin, kinds[caller.name], implementation.function)


def _call(plugin: Plugin, kind: str, hook: Callable[[], Any]) -> Iterator[Registration]:
    """Call one hook and register what it returns."""
    try:
        result = hook()
        if isinstance(result, type) or not isinstance(result, Iterable):
            what = "classes" if kind in hooks.KINDS else f"{kind}s"
            raise TypeError(f"{hooks.OFFERS[kind].hook} must return a list of {what}. Got {result!r} instead.")
        offers = list(result)
    except PackageMissing as reason:
        yield Registration(plugin, kind, plugin.short_name, health="missing", reason=str(reason))
        return
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and plugin.distribution == DISTRIBUTION:  # the user's, since it is not ours
            raise
        yield _broken(plugin, kind, plugin.name, _one_line(error), error)
        return
    for offer in offers:
        name = getattr(offer, "name", None)
        label = name if isinstance(name, str) else getattr(offer, "__name__", repr(offer))
        try:
            check_offer(kind, offer)
        except Refused as refusal:
            yield _broken(plugin, kind, label, str(refusal))
        else:
            yield Registration(plugin, kind, label, offer)


def _broken(plugin: Plugin, kind: str, name: str, reason: str, error: BaseException | None = None) -> Registration:
    limits = ((name, MAX_NAME_LENGTH), (reason, MAX_REASON_LENGTH))
    name, reason = (text if len(text) <= most else f"{text[:most]}…" for text, most in limits)
    return Registration(plugin, kind, name, health="broken", reason=reason, error=error)


def _unmarked_hooks(module: Any) -> list[str]:
    """Return the functions of the plugin itself that look like hooks and lack the marker."""
    home, prefix = getattr(module, "__name__", None), f"{hooks.PROJECT}_"
    names = [name for name in getattr(module, "__dict__", {}) if name.startswith(prefix) and callable(getattr(module, name))]
    defined = (name for name in names if getattr(getattr(module, name), "__module__", None) == home)
    return [name for name in defined if not hasattr(getattr(module, name), f"{prefix}impl")]


def _one_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    if isinstance(error, (Unresponsive, Refused)):
        return lines[0]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
