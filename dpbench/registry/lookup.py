"""The registry answers for every component by kind and name, and explains the ones that cannot be used.

``DPBENCH_PLUGINS_DIR`` adds the files of a folder, ``DPBENCH_DISABLE_PLUGINS`` leaves plugins out (entry points or
distributions, separated by commas), and ``DPBENCH_STRICT_PLUGINS=1`` raises where a plugin would be listed as broken.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from dpbench.base.errors import Refused, unknown
from dpbench.contracts.kinds import OFFERS
from dpbench.registry.discovery import BrokenPlugin, Offer, offers, sources, strict, without_disabled

__all__ = ["BrokenPlugin", "Registration", "Registry", "registry"]


@dataclass(frozen=True)
class Registration:
    """One component, or one plugin that gave none: what it is, whose it is, and whether it can be used."""

    kind: str
    """"mechanism", "model", "dataset", "attack" or "paper"; "plugin" for a plugin that could not say what it holds."""
    name: str
    plugin: str
    """The entry point, or the file in the drop-in folder."""
    distribution: str
    version: str
    summary: str = ""
    guarantee: str = ""
    health: Literal["ok", "conflict", "broken"] = "ok"
    reason: str = ""
    cls: Any = None
    """A component's class, or a paper itself."""

    @property
    def origin(self) -> str:
        """The distribution and its version, as a reader would cite them."""
        return f"{self.distribution} {self.version}"


@dataclass(frozen=True)
class Registry:
    """Every component that was found, in the order of kind and name."""

    entries: tuple[Registration, ...]
    disabled: tuple[str, ...] = ()
    """Plugins left out on request."""

    def get(self, kind: str, name: str) -> Any:
        """The component class (or the paper) of this kind and name, or a refusal that says why there is none."""
        found = [entry for entry in self._of(kind) if entry.name == name]
        for entry in found:
            if entry.health == "ok" and entry.cls is not None:
                return entry.cls
        if found:
            raise Refused(found[0].reason if found[0].health == "conflict" else _explained(found[0]))
        refusal = unknown(kind, name, self.names(kind))
        raise Refused(" ".join([str(refusal), *self._hints(name)]))

    def names(self, kind: str) -> tuple[str, ...]:
        """The names of this kind that can be used."""
        return tuple(entry.name for entry in self._of(kind) if entry.health == "ok")

    def metrics_of(self, model: Any) -> list[Any]:
        """The metrics that a model has, in the order of their names."""
        return [entry.cls for entry in self._of("metric") if entry.health == "ok" and entry.cls.suits(model)]

    def version_of(self, cls: type[Any]) -> str:
        """The distribution that a component came from, and its version."""
        for entry in self.entries:
            if entry.cls is cls:
                return entry.origin
        raise LookupError(f"{cls.__module__}.{cls.__qualname__} is not in the registry")

    def _of(self, kind: str) -> Iterable[Registration]:
        if kind not in OFFERS:
            raise unknown("kind of component", kind, OFFERS)
        return (entry for entry in self.entries if entry.kind == kind)

    def _hints(self, name: str) -> Iterable[str]:
        """What is known about a plugin, though not a component, of this name."""
        for entry in self.entries:
            if entry.health == "broken" and name in (entry.name, entry.plugin.removesuffix(".py")):
                yield _explained(entry)
        if not self.entries:
            yield "No plugin is installed, not even dpbench's own: `pip install -e .` in a checkout makes them known."
        if name in self.disabled:
            yield f"The plugin {name!r} is left out by DPBENCH_DISABLE_PLUGINS."


@cache
def registry() -> Registry:
    """The registry of this process, made when first asked for."""
    kept, left_out = without_disabled(sources())
    entries = _without_conflicts([_entry(offer) for offer in offers(kept)])
    if strict():
        for entry in entries:
            if entry.health == "conflict":
                raise BrokenPlugin(entry.reason)
    order = [*OFFERS, "plugin"]
    entries.sort(key=lambda entry: (order.index(entry.kind), entry.name, entry.distribution, entry.plugin))
    return Registry(tuple(entries), tuple(source.plugin.removesuffix(".py") for source in left_out))


def _entry(offer: Offer) -> Registration:
    entry = Registration(offer.kind, offer.name, offer.source.plugin, offer.source.distribution, offer.source.version)
    if offer.cls is None:
        return replace(entry, health="broken", reason=offer.reason)
    guarantee = getattr(offer.cls, "guarantee", "") if offer.kind == "mechanism" else ""
    return replace(entry, summary=offer.cls.summary(), guarantee=guarantee, cls=offer.cls)


def _without_conflicts(entries: list[Registration]) -> list[Registration]:
    """Two components of one kind and name: neither can be used, and each says who the other is."""
    claims: dict[tuple[str, str], list[Registration]] = defaultdict(list)
    for entry in entries:
        if entry.health == "ok":
            claims[entry.kind, entry.name].append(entry)
    reasons = {key: _conflict(rivals) for key, rivals in claims.items() if len(rivals) > 1}
    return [
        replace(entry, health="conflict", reason=reasons[entry.kind, entry.name])
        if entry.health == "ok" and (entry.kind, entry.name) in reasons
        else entry
        for entry in entries
    ]


def _conflict(rivals: list[Registration]) -> str:
    owners = " and ".join(f"{entry.origin} (plugin {entry.plugin})" for entry in rivals)
    return (
        f"The {rivals[0].kind} {rivals[0].name!r} is offered more than once, by {owners}. "
        "Uninstall one, or name a plugin in DPBENCH_DISABLE_PLUGINS."
    )


def _explained(entry: Registration) -> str:
    what = f"plugin {entry.plugin!r}" if entry.kind == "plugin" else f"{entry.kind} {entry.name!r}"
    return f"The {what} of {entry.origin} is broken: {entry.reason}"
