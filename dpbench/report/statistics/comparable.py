"""Which cells may be compared: those of one problem at one accounted ε, with the same rule, currency and kind of proof."""

from collections.abc import Sequence

from dpbench.records.cell_record import CellRecord
from dpbench.report.formatting import group_by

Problem = tuple[tuple[str, str], ...]
TIGHT = "tight"
RULES = {TIGHT: "the smallest proven sensitivity (tight)", "published": "the sensitivity that its paper publishes (published)"}


def comparable(cells: Sequence[CellRecord]) -> list[list[CellRecord]]:
    """Split cells of one problem at one accounted ε into groups that may be compared.

    Proofs that were replayed come first, then pure guarantees, then tight bounds.

    A cell whose bound is the same under every rule fits every group. It joins the tight group, or the only other one.
    """
    groups = []
    for _, same in sorted(group_by(cells, lambda cell: (cell.sound, is_pure(cell))).items(), reverse=True):
        rules = group_by(same, lambda cell: cell.sensitivity)
        flexible = rules.pop("", [])
        home = TIGHT if TIGHT in rules else next(iter(rules)) if len(rules) == 1 else ""
        if flexible:
            members = {id(cell) for cell in (*rules.get(home, ()), *flexible)}
            rules[home] = [cell for cell in same if id(cell) in members]
        groups += [rules[rule] for rule in sorted(rules, key=lambda rule: (rule != TIGHT, rule))]
    return groups


def is_pure(cell: CellRecord) -> bool:
    """Whether the guarantee is ε alone, without a δ."""
    return not cell.metrics.get("privacy/delta")


def rule_of(cells: Sequence[CellRecord]) -> str:
    """Return the rule for sensitivities that these cells rest on; empty if their bounds are the same under every rule."""
    return next(filter(None, (cell.sensitivity for cell in cells)), "")


def rule_text(rule: str) -> str:
    """Return a rule in words."""
    return RULES.get(rule, f"the sensitivity of the rule '{rule}'" if rule else "a sensitivity that is the same under every rule")


def currency_text(cells: Sequence[CellRecord]) -> str:
    """Return in words whether these cells are private by ε alone or also need a δ."""
    return f"a guarantee by ε {'alone' if is_pure(cells[0]) else 'with a δ'} ({delta_text(cells)})"


def proof_text(cells: Sequence[CellRecord]) -> str:
    """Return in words whether the proofs of these cells were tried, on tables whose bounds are declared public."""
    return "a proof that was replayed (sound)" if cells[0].sound else "a proof that was not fully tried (claimed)"


def delta_text(cells: Sequence[CellRecord]) -> str:
    deltas = sorted({cell.metrics.get("privacy/delta", 0.0) for cell in cells})
    return f"δ = {' or '.join(f'{delta:.3g}' for delta in deltas)}"


def groups(cells: Sequence[CellRecord]) -> list[list[CellRecord]]:
    """Return the ranked cells in the groups that may be compared."""
    levels = group_by((cell for cell in cells if cell.ranked), lambda cell: (cell.problem, cell.accounted))
    return [group for level in levels.values() for group in comparable(level)]
