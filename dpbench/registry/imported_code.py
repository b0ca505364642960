"""Whether the code that this process imported is still what its files say: digests are of files, and a notebook runs for days."""

import hashlib
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from dpbench.base.errors import Refused
from dpbench.registry.code_digest import distribution_of, files_of_fit

_imported: WeakKeyDictionary[ModuleType, str] = WeakKeyDictionary()
"""The digest that the file of each plugin's module had when the registry imported it."""


def remember_imports(offers: Iterable[Any]) -> None:
    """Remember the files of all modules that the plugins with these offers have imported, unless they were remembered before."""
    packages = tuple({distribution_of(offer) for offer in offers if getattr(offer, "__module__", None)})
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if f"{name}.".startswith(packages) and file and module not in _imported:
            _imported[module] = _digest(file)


def refuse_edited(classes: Iterable[type]) -> None:
    """Refuse components with a file that was edited since it was imported: what runs would not be what is recorded."""
    for name, file in files_of_fit(tuple(classes)).items():
        module = sys.modules.get(name)
        if module is not None and module in _imported and _imported[module] != _digest(file):
            raise Refused(f"The file {file!r} was edited after this process imported it: restart the process to use it.")


def _digest(file: str) -> str:
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()
    except OSError:
        return "no file"
