"""What runs on a streamed table: mechanisms that need sums of products or counts alone, and models that need such sums."""

from dpbench.contracts.attack import Attack
from dpbench.contracts.mechanism import Mechanism
from dpbench.contracts.model import Model
from dpbench.registry.lookup import registry

HINT = "dataset.stream=false loads the rows, if they fit into memory."


def needs_rows(mechanism: Mechanism, model: Model, attack: Attack | None = None) -> str:
    """Return why a cell cannot run on a streamed table, a sentence, or nothing if it can."""
    if not model.uses_moments_alone():
        return f"The model {model.name} needs the rows for its non-private fit, and the table is streamed: {HINT}"
    if not (mechanism.uses_moments_alone() or mechanism.counts_alone):
        return f"{mechanism.name} needs the rows, not only sums of products of columns, and the table is streamed: {HINT}"
    if attack is not None and not attack.attacks_nothing:
        return f"The attack {attack.name} needs the rows, and the table is streamed: {HINT}"
    if registry().runs_plugin(mechanism, model):
        return f"The fits of a plugin are checked on the rows, and the table of {mechanism.name} is streamed: {HINT}"
    return ""
