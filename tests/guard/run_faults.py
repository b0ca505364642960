"""Run every planted fault next to built-in mechanisms, each in a process of its own, and print the outcomes as JSON.

    python tests/guard/run_faults.py                       all of them
    python tests/guard/run_faults.py rare_event exits      only these

A fault may replace functions of the core or of NumPy, so each runs in a child of this process and spoils nothing else.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from math import nan
from multiprocessing import get_context
from pathlib import Path
from typing import Any

FAULTS = Path(__file__).with_name("faults")
BUILT_IN = ("no_privacy", "fm", "cdp_irls")
"""What runs in the same sweep: the first of them before the fault, the others after it."""
TABLE = {"dataset": "gaussian", "dataset.n": 220, "dataset.d": 2, "splits.repeats": 2, "splits.folds": 2, "epsilon": 1.0}
KINDS = ("attack", "dataset", "metric", "model")
UNCOMPARED = ("time/", "reason")
GROUP_SIZE = 10
LITERALS = ("SWEEP", "ALONE", "SPOILS_OTHERS")
"""Names in a fault's file that say how it is run."""
WORKERS = 2


@dataclass(frozen=True)
class Fault:
    """A planted fault: its file, what it does wrong, and the expected outcome."""

    name: str
    meaning: str
    expected: str
    sweep: Mapping[str, Any]
    """Keys of the sweep that it needs (``SWEEP`` in its file)."""
    alone: bool
    """Whether it would spoil other faults in the same process (``ALONE = True``)."""
    spoils_others: bool
    """Whether all it does is to change what others use (``SPOILS_OTHERS = True``): alone, in a release, it keeps its word."""

    @classmethod
    def of(cls, file: Path) -> Fault:
        module = ast.parse(file.read_text(encoding="utf-8"))
        meaning, _, expected = (ast.get_docstring(module) or "").partition(" Expected: ")
        values = {
            node.targets[0].id: ast.literal_eval(node.value)
            for node in module.body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in LITERALS
        }
        return cls(
            file.stem, meaning, expected.rstrip("."), values.get("SWEEP", {}), *(values.get(name, False) for name in LITERALS[1:])
        )

    @property
    def kind(self) -> str:
        prefix = self.name.partition("_")[0]
        return prefix if prefix in KINDS else "mechanism"

    @property
    def releasable(self) -> bool:
        """Whether a release would run the fault."""
        return self.kind in ("mechanism", "model", "dataset") and not self.spoils_others


@dataclass(frozen=True)
class Group:
    """Faults that are in one sweep with the built-in mechanisms."""

    faults: tuple[Fault, ...]

    def keys(self, with_faults: bool = True) -> dict[str, Any]:
        """Return the keys of the sweep: the first built-in mechanism runs before the faults, the others after them."""
        first, kind = self.faults[0], self.faults[0].kind
        names = [fault.name for fault in self.faults] if with_faults else []
        options = {key: value for key, value in first.sweep.items() if with_faults or not key.startswith("mechanism.")}
        keys = {**table(first), **options, "mechanism": [BUILT_IN[0], *(names if kind == "mechanism" else []), *BUILT_IN[1:]]}
        around = {"attack": (["none"], ["membership"]), "model": (["linear"], []), "dataset": (["gaussian"], [])}
        if kind in around:
            before, after = around[kind]
            keys[kind] = [*before, *names, *after]
        return keys


def table(fault: Fault) -> dict[str, Any]:
    """Return the keys of the table, without the options of another dataset than the fault's."""
    other = fault.kind == "dataset" or "dataset" in fault.sweep
    return {key: value for key, value in TABLE.items() if not (other and key.startswith("dataset"))}


@dataclass
class Outcome:
    """What became of a fault."""

    name: str
    states: list[str] = field(default_factory=list)
    """Of its own cells: ``sound``, ``refuted``, …"""
    reasons: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    """The numbers of built-in cells that are not those of a sweep without the group of the fault."""
    release: str = ""
    """What ``release`` answered, with its exit code."""
    released: bool = False
    error: str = ""


def faults(names: Sequence[str] = ()) -> list[Fault]:
    """Return the planted faults of these names, or all."""
    files = sorted(file for file in FAULTS.glob("*.py") if not file.name.startswith("_"))
    return [Fault.of(file) for file in files if not names or file.stem in names]


def groups(chosen: Sequence[Fault]) -> list[Group]:
    """Return faults that need the same sweep and do not disturb each other together."""
    together = [fault for fault in chosen if fault.kind == "mechanism" and not fault.alone and not fault.sweep]
    parts = [tuple(together[start : start + GROUP_SIZE]) for start in range(0, len(together), GROUP_SIZE)]
    return [Group(part) for part in [*parts, *((fault,) for fault in chosen if fault not in together)]]


def run(group: Group, baseline: Mapping[str, Mapping[str, Any]]) -> list[Outcome]:
    """Sweep the faults and the built-in mechanisms together, then try to release each fault."""
    outcomes = {fault.name: Outcome(fault.name) for fault in group.faults}
    with tempfile.TemporaryDirectory(prefix="guard-") as folder:
        plugins = Path(folder, "plugins")
        plugins.mkdir()
        for file in (*(FAULTS / f"{name}.py" for name in outcomes), *FAULTS.glob("_*")):
            if file.is_file():
                shutil.copy(file, plugins)
        os.environ.update(DPBENCH_PLUGINS_DIR=str(plugins), DPBENCH_TEST_GUARD_STATE=folder)
        _forget_plugins()
        try:
            cells, refusal = sweep(group.keys()), ""
        except Exception as error:  # noqa: BLE001  a refusal is an outcome, and so is anything else
            cells, refusal = dict(baseline), f"{type(error).__name__}: {error}"
        changed = [
            f"{key}: {name} was {value}, is {cells.get(key, {}).get(name)}"
            for key, numbers in baseline.items()
            for name, value in numbers.items()
            if not name.startswith(UNCOMPARED) and not _same(value, cells.get(key, {}).get(name))
        ]
        for fault in group.faults:
            outcome = outcomes[fault.name]
            own = [cell for key, cell in cells.items() if fault.name in key.split() and cell["state"] != "pruned"]
            own = own[-1:]  # what a fault keeps between fits can only show in a later one
            if fault.kind == "metric":
                own = [{"state": "failed"} for cell in cells.values() if _same(cell.get("utility/writes_median", nan), nan)]
            outcome.states = [state_of(cell) for cell in own]
            outcome.reasons = [str(cell.get("reason") or cell.get("dpbench.guarantee_why") or "") for cell in own]
            if refusal:
                outcome.states, outcome.reasons = ["refused"], [refusal]
            outcome.changed = changed
            if fault.releasable:
                outcome.release, outcome.released = release(fault, Path(folder, f"{fault.name}.json"))
    return list(outcomes.values())


def state_of(cell: Mapping[str, Any]) -> str:
    """Return one word for what a cell is shown as."""
    if cell["state"] != "run":
        return str(cell["state"])
    guarantee = cell.get("dpbench.guarantee")
    if isinstance(guarantee, str):
        return guarantee
    if cell.get("dpbench.audit") == "failed":
        return "refuted"
    if cell.get("dpbench.private") is False:
        return "not_private"
    if cell.get("dpbench.leaks"):
        return "leaks"
    return "sound" if cell.get("dpbench.sound") is True else "unproven"


def sweep(keys: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Run a sweep that records nothing; return its cells by the names of their components."""
    import dpbench

    with contextlib.redirect_stderr(io.StringIO()):
        frame = dpbench.sweep({"engine": "serial", "audit.level": "replay", **keys}, record=False).full
    cells = frame.to_dict("records")
    return {" ".join(str(cell[key]) for key in ("mechanism", "model", "dataset", "attack", "epsilon")): cell for cell in cells}


def release(fault: Fault, file: Path) -> tuple[str, bool]:
    """Try to release the fault; return the exit code with what was printed, and whether there is a file."""
    from dpbench.__main__ import main

    keys = {**table(fault), **fault.sweep, "mechanism": "fm"} | {fault.kind: fault.name}
    first = {key: value[0] if isinstance(value, list) else value for key, value in keys.items()}
    words = [f"{key}={_word(value)}" for key, value in first.items() if not key.startswith("splits.")]
    output = io.StringIO()
    with contextlib.redirect_stderr(output), contextlib.redirect_stdout(output):
        try:
            code: Any = main(["release", *words, f"out={file}"])
        except BaseException as error:  # noqa: BLE001  a traceback is what must not happen
            code = f"{type(error).__name__}: {error}"
    return f"{code}: {output.getvalue().strip()}", file.exists()


def in_child(task: Callable[[], Any], pipe: Any) -> None:
    """Run a task in this child and send what it returns, or its traceback."""
    try:
        pipe.send(task())
    except BaseException:  # noqa: BLE001  the parent reports it
        pipe.send(traceback.format_exc())


def main(names: Sequence[str]) -> list[Outcome]:
    """Run the faults in children of this process, two at a time."""
    os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1"))
    for name in ("PYTEST_CURRENT_TEST", "CI"):  # a fault behaves well where it sees them
        os.environ.pop(name, None)
    import opendp.prelude  # noqa: F401  what a release needs is imported once, before the children are made

    from dpbench.registry.lookup import registry

    registry()
    chosen = groups(faults(names))
    plain = {repr(group.keys(with_faults=False)): group.keys(with_faults=False) for group in chosen}
    results = in_children([partial(sweep, keys) for keys in plain.values()])
    baselines = dict(zip(plain, results, strict=True))
    if errors := [result for result in results if isinstance(result, str)]:
        raise SystemExit(errors[0])
    tasks = [partial(run, group, baselines[repr(group.keys(with_faults=False))]) for group in chosen]
    outcomes: list[Outcome] = []
    for group, result in zip(chosen, in_children(tasks), strict=True):
        lost = [Outcome(fault.name, ["died"], error=str(result)) for fault in group.faults]
        outcomes += result if isinstance(result, list) else lost
    return outcomes


def in_children(tasks: Sequence[Callable[[], Any]]) -> list[Any]:
    """Return the results of tasks, each in a child of this process; the text of an error in the place of a result."""
    context, results, waiting = get_context("fork"), [], []

    def collect(most: int) -> None:
        while len(waiting) > most:
            process, receiver = waiting.pop(0)
            try:
                results.append(receiver.recv())
            except EOFError:
                results.append("the process died")
            process.join()

    for number, task in enumerate(tasks):
        collect(WORKERS - 1)
        print(f"{number} of {len(tasks)}", file=sys.stderr, flush=True)
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=in_child, args=(task, sender))
        process.start()
        sender.close()
        waiting.append((process, receiver))
    collect(0)
    return results


def _forget_plugins() -> None:
    """Make the next lookup read the drop-in folder."""
    from dpbench.registry.lookup import registry
    from dpbench.sweeps.hydra.config_groups import register

    registry.cache_clear()
    register.cache_clear()


def _same(first: Any, second: Any) -> bool:
    return first == second or (first != first and second != second)


def _word(value: Any) -> str:
    return f"[{','.join(map(str, value))}]" if isinstance(value, tuple) else str(value).lower() if value is True else str(value)


if __name__ == "__main__":
    print(json.dumps([asdict(outcome) for outcome in main(sys.argv[1:])]))
