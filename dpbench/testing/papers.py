"""Checks of a paper: its presets and claims can be read."""

from dataclasses import dataclass

from dpbench.contracts.paper import Paper
from dpbench.experiments.claims import paper_fault
from dpbench.testing.checks import Failure, law


@dataclass(frozen=True, eq=False)
class PaperCase:
    """A paper that is checked."""

    component: Paper


@law(
    "Every preset, choice and claim can be read, and names what dpbench knows.",
    "Change the file that the sentence names; docs/experiments.md and docs/claims.md have examples.",
    needed=True,
)
def files(case: PaperCase) -> None:
    if fault := paper_fault(case.component):
        raise Failure(fault)


@law(
    "A paper has presets: one command for each figure.",
    "Put a YAML file for each figure into the folder presets/; its name is what follows experiment=<paper>/.",
)
def presets(case: PaperCase) -> None:
    if not case.component.preset_files:
        raise Failure("Its folder presets/ has no YAML file.")


CHECKS = (files, presets)
