"""Fit the options of a preset to the components of a request, which may replace the preset's own.

An option that the new component does not have, or whose value it does not accept, goes with the old component, and a note says
so.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from dpbench.base.errors import Refused
from dpbench.base.options import options_of
from dpbench.contracts.hooks import KINDS
from dpbench.registry.lookup import build, registry
from dpbench.sweeps.override_text import override_text

Sections = Mapping[str, Mapping[str, dict[str, Any]]]
"""The section of the configuration of each chosen component, by kind and name; ``splits`` is a kind here."""
Values = Mapping[str, Sequence[Any]]
"""The values of each key of a request."""
Refusals = Mapping[tuple[str, str], Sequence[Any]]
"""The values of a preset that a component does not accept, by the key and the component's name."""


def undo_settings(sections: Sections, typed: Collection[str]) -> Refusals:
    """Undo a preset's fixed settings that components typed in place of its own do not take, and return what was undone."""
    undone: dict[tuple[str, str], Sequence[Any]] = {}
    for kind in (kind for kind in KINDS if kind in typed):
        for name, section in sections[kind].items():
            defaults = {option.name: option.default for option in options_of(registry().get(kind, name))}
            for option in [option for option in section if option != "name"]:
                value, default = section[option], defaults.get(option)
                if option not in defaults:
                    del section[option]
                elif not _accepts(kind, section | {option: default}, option, value):
                    section[option] = default
                if section.get(option) is not value:
                    undone[f"{kind}.{option}", name] = [value]
    return undone


def idle_options(preset: Values, sections: Sections, typed: Collection[str]) -> Refusals:
    """Return the options of a preset that no component typed in place of its own has, with all of their values."""
    idle: dict[tuple[str, str], Sequence[Any]] = {}
    for key, values in preset.items():
        kind, dot, option = key.partition(".")
        if dot and kind in typed and kind in sections and not any(option in section for section in sections[kind].values()):
            idle |= {(key, name): values for name in sections[kind]}
    return idle


def refused_values(preset: Values, sections: Sections, request: Values) -> Refusals:
    """Return the values of a preset's options that a chosen component has but does not accept.

    ``request`` are the keys of the command line. A value that none of the preset's own components accepts is a mistake in the
    preset: it stays, and is refused later.
    """
    refused: dict[tuple[str, str], Sequence[Any]] = {}
    for key, values in preset.items():
        kind, dot, option = key.partition(".")
        if not dot or kind not in KINDS:
            continue
        bad: dict[str, list[Any]] = {}
        for name, section in sections[kind].items():
            if option in section:
                complete = {other: request.get(f"{kind}.{other}", [value])[0] for other, value in section.items()}
                bad[name] = [value for value in values if not _accepts(kind, complete, option, value)]
        mistakes = [] if kind in request else [value for value in values if all(value in wrong for wrong in bad.values())]
        refused |= {(key, name): [value for value in wrong if value not in mistakes] for name, wrong in bad.items()}
    return {place: wrong for place, wrong in refused.items() if wrong}


def add_attribute_options(sections: Sections, axes: Values) -> Iterator[str]:
    """Give each dataset the options, such as a coding, that the attributes named in the request need; yield a note for each.

    Options that the request sets stay.
    """
    named = {name: key for key, values in axes.items() if _names_attributes(key, sections) for name in _names_in(values)}
    places = " and ".join(f"{key}={name}" for name, key in named.items())
    for dataset, section in sections["dataset"].items():
        for option, value in registry().get("dataset", dataset).options_for(named.keys()).items():
            if f"dataset.{option}" not in axes:
                section[option] = value
                yield f"{places} needs dataset.{option}={value} where dataset={dataset}: it is chosen."


def notes_on(refusals: Refusals, typed: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each component and each option of the preset that it does not take.

    Where nothing of a kind was typed, the preset's own mixture is as its author wrote it, which needs no sentence.
    """
    changed = {key.partition(".")[0] for key in typed}
    for (key, name), values in refusals.items():
        if (kind := key.partition(".")[0]) in changed:
            yield f"{kind}={name} does not take {key}={override_text(list(values))} of the preset: it is left out."


def _accepts(kind: str, section: Mapping[str, Any], option: str, value: Any) -> bool:
    """Return whether a component accepts a value. If its section is wrong without the value, that is another mistake."""
    return _builds(kind, {**section, option: value}) or not _builds(kind, section)


def _builds(kind: str, section: Mapping[str, Any]) -> bool:
    try:
        build(kind, section)
    except Refused:
        return False
    return True


def _names_attributes(key: str, sections: Sections) -> bool:
    kind, dot, name = key.partition(".")
    components = [registry().get(kind, choice) for choice in sections[kind]] if dot and kind in KINDS else []
    return any(option.name == name and option.names_attributes for cls in components for option in options_of(cls))


def _names_in(values: Sequence[Any]) -> Iterator[str]:
    """Yield the names among an option's values, each of which is a name, a list of names, a number or null."""
    for value in values:
        yield from (name for name in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(name, str) and name)
