"""The registry: looks up components and papers by kind and name, and explains the ones that cannot be used.

``DPBENCH_PLUGINS_DIR`` adds the files of a folder, ``DPBENCH_DISABLE_PLUGINS`` leaves plugins out (entry points or
distributions, separated by commas), ``DPBENCH_STRICT_PLUGINS=1`` raises an error where a plugin would be listed as broken, and
``DPBENCH_PLUGIN_SECONDS`` limits how long a plugin of others may take to load.
"""

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from dpbench.base.core_classes import is_core_class
from dpbench.base.errors import Refused, check_known, unknown
from dpbench.base.pristine_process import put_aside
from dpbench.contracts.hooks import OFFERS
from dpbench.registry.discovery import DISTRIBUTION, Registration, discover
from dpbench.registry.imported_code import remember_imports
from dpbench.registry.plugin_sources import find_plugins


class BrokenPlugin(Exception):
    """The error that ``DPBENCH_STRICT_PLUGINS=1`` raises for a plugin's author, chained to its cause."""


@dataclass(frozen=True)
class Registry:
    """Everything that plugins offer, in the order of kind and name."""

    entries: tuple[Registration, ...]
    disabled: tuple[str, ...] = ()
    """The names of plugins that the user disabled."""

    def get(self, kind: str, name: str) -> Any:
        """Return the component class, or the paper, of this kind and name; refuse if there is none or it cannot be used."""
        entries = [entry for entry in self._of_kind(kind) if entry.name == name]
        for entry in entries:
            if entry.health == "ok":
                return entry.offer
        if entries:
            raise Refused(entries[0].complaint)
        raise Refused(" ".join([str(unknown(kind, name, self.names(kind))), *self._hints(name)]))

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the names of this kind that can be used."""
        return tuple(entry.name for entry in self._of_kind(kind) if entry.health == "ok")

    def metrics_of(self, model: Any, flags: Collection[str] = ()) -> list[Any]:
        """Return the metrics that a model has if these keys of the command are true, in the order of their names."""
        return [metric for name in self.names("metric") if (metric := self.get("metric", name)).suits(model, flags)]

    def mechanisms_behind(self, name: str, options: Mapping[str, Any]) -> list[type[Any]]:
        """Return the class of a mechanism, then those of the mechanisms that its options name, whose code decides numbers too."""
        return [self.get("mechanism", name), *self._named(options)]

    def runs_plugin(self, mechanism: Any, model: Any) -> bool:
        """Return whether a fit runs code that does not come with dpbench, be it that of a mechanism that an option names."""
        return not all(map(is_core_class, (type(mechanism), *self._named(mechanism.options()), type(model))))

    def version_of(self, cls: type[Any]) -> str:
        """Return the distribution that a component came from, and its version."""
        for entry in self.entries:
            if entry.offer is cls:
                return entry.plugin.origin
        raise LookupError(f"{cls.__module__}.{cls.__qualname__} is not in the registry")

    def _named(self, options: Mapping[str, Any]) -> list[type[Any]]:
        names = set(self.names("mechanism"))
        return [self.get("mechanism", value) for value in options.values() if isinstance(value, str) and value in names]

    def _of_kind(self, kind: str) -> Iterable[Registration]:
        check_known("kind of component", [kind], OFFERS)
        return (entry for entry in self.entries if entry.kind == kind)

    def _hints(self, name: str) -> Iterable[str]:
        """Yield what is known about plugins, rather than components, of this name."""
        for entry in self.entries:
            if entry.health == "broken" and name in (entry.name, entry.plugin.short_name):
                yield entry.complaint
        if not self.entries:
            yield "No plugin is installed, not even dpbench's own: `pip install -e .` in a checkout makes them known."
        if name in self.disabled:
            yield f"The plugin {name!r} is left out by DPBENCH_DISABLE_PLUGINS."


@cache
def registry() -> Registry:
    """Return the registry of this process, built on first use."""
    plugins, disabled = find_plugins()
    entries = _mark_conflicts(list(discover(plugins)))
    if os.environ.get("DPBENCH_STRICT_PLUGINS", "") not in ("", "0"):
        for entry in entries:
            if entry.health in ("conflict", "broken"):
                raise BrokenPlugin(f"The plugin {entry.plugin.name!r} of {entry.plugin.origin}: {entry.reason}") from entry.error
    offers = [entry.offer for entry in entries if entry.kind in ("mechanism", "model") and isinstance(entry.offer, type)]
    put_aside(None if all(map(is_core_class, offers)) else registry)  # before a plugin's code sees any row
    remember_imports(entry.offer for entry in entries if isinstance(entry.offer, type))
    kinds = [*OFFERS, "plugin"]
    entries.sort(key=lambda entry: (kinds.index(entry.kind), entry.name, entry.plugin.distribution, entry.plugin.name))
    return Registry(tuple(entries), tuple(plugin.short_name for plugin in disabled))


def build(kind: str, config: Mapping[str, Any]) -> Any:
    """Return the component that a section of the configuration names, with its options."""
    options = {key: value for key, value in config.items() if key != "name"}
    return registry().get(kind, config["name"]).build(options)


def _mark_conflicts(entries: list[Registration]) -> list[Registration]:
    """Make offers of the same kind and name unusable, except dpbench's own; the reason names all of them.

    A name that comes with dpbench stays its own, so that no other plugin can disturb a sweep that uses it.
    """

    def marked(entry: Registration) -> Registration:
        same = (other for other in entries if (other.kind, other.name) == (entry.kind, entry.name))
        rivals = [other for other in same if entry.health == other.health == "ok"]
        own = [rival for rival in rivals if rival.plugin.distribution == DISTRIBUTION]
        if len(rivals) < 2 or own == [entry]:
            return entry
        owners = " and ".join(f"{rival.plugin.origin} (plugin {rival.plugin.name})" for rival in rivals)
        advice = "Give one of your own another name, uninstall one, or name a plugin in DPBENCH_DISABLE_PLUGINS."
        reason = f"The {entry.kind} {entry.name!r} is offered more than once, by {owners}. {advice}"
        return replace(entry, health="conflict", reason=reason)

    return list(map(marked, entries))
