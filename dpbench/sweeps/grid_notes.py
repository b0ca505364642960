"""Say how the cells of a sweep differ from what was typed: what is left out, and which cells stand for several combinations."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from dpbench.base.errors import Refused
from dpbench.experiments.combinations import Combinations, Values
from dpbench.records.budget_free import BUDGET_KEYS
from dpbench.report.formatting import listed
from dpbench.report.labels import label_of
from dpbench.sweeps.preset_options import Sections


def duplicate_notes(values: Values) -> Iterator[str]:
    """Yield a sentence for each value that a key was given more than once: it makes the same cells."""
    for key, group in values.items():
        for value, count in Counter(map(str, group)).items():
            if count > 1:
                yield f"The key {key!r} has the value {value} {count} times, which counts once."


def option_notes(sections: Sections, values: Values, typed: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each swept option that some of the chosen components do not have.

    Where neither the option nor its group was typed, the preset's own mixture is as its author wrote it.
    """
    for key, group in values.items():
        kind, dot, option = key.partition(".")
        if dot and len(group) > 1 and kind in sections and (key in typed or kind in typed):
            without = [name for name, section in sections[kind].items() if option not in section]
            if without:
                verb = "have" if len(without) > 1 else "has"
                yield f"{listed(without)} {verb} no option {option}: one cell stands for all values of {key}."


def skip_notes(rules: Combinations, left_out: Sequence[Sequence[int]], points: int, *, typed: bool) -> Iterator[str]:
    """Yield a sentence about what is left out; refuse a typed condition without an effect, and what leaves no combination.

    ``left_out`` has for each combination that is left out the positions of the conditions that it meets.
    """
    if left_out:
        yield f"skip leaves out {len(left_out)} of {len(left_out) + points} combinations."
    if not points:
        raise Refused("The key 'skip' must leave a combination. Got conditions that all of them meet.")
    effective = {position for positions in left_out for position in positions}
    for position in range(len(rules.conditions)):
        if position not in effective and typed:
            raise Refused(f"The key 'skip' must describe combinations of this sweep. None of them is {rules.text(position)}.")
        if position not in effective:
            yield f"No combination is {rules.text(position)}, which the preset's skip would leave out."


def budget_notes(points: Iterable[str], cells: Iterable[Mapping[str, str]], swept: Collection[str]) -> Iterator[str]:
    """Yield a sentence if cells under different budgets are one, because their mechanism uses none.

    ``points`` are the mechanisms of the grid's points, ``cells`` the parameters of the cells.
    """
    counts = Counter(params["mechanism"] for params in cells if "epsilon" not in params)
    names = [name for name, count in Counter(points).items() if 0 < counts[name] < count]
    keys = listed(label_of(key) for key in BUDGET_KEYS if key in swept)
    if names and any(key in swept for key in BUDGET_KEYS):
        verb = "do" if len(names) > 1 else "does"
        yield f"{listed(names)} {verb} not depend on {keys}: one cell stands for all values of {keys}."
