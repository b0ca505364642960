"""Check what the registry lists: a plugin that cannot be used has one finding, which says why."""

from dpbench.registry.discovery import Registration
from dpbench.testing.findings import Findings, LawOutcome
from dpbench.testing.running import check

LAW = "The plugin is loaded, and what it offers can be used."
ADVICE = (
    "Change what the sentence names. docs/authors/README.md lists where each name is imported from. With "
    "DPBENCH_STRICT_PLUGINS=1 an error is shown with its traceback."
)


def check_registration(entry: Registration) -> Findings:
    """Run the checks of a component that can be used; otherwise say why it cannot be."""
    if entry.health == "ok":
        return check(entry.offer)
    if entry.health == "missing":
        finding = LawOutcome("loading", LAW, "not applicable", entry.reason)
    else:
        finding = LawOutcome("loading", LAW, "failed", entry.reason, ADVICE)
    return Findings(entry.kind, entry.name, (finding,), {})
