"""The package exports its public names, and importing it costs nothing."""

from __future__ import annotations

from collections.abc import Callable
from pkgutil import iter_modules

import dpbench


def test_importing_the_package_imports_nothing(python: Callable[[str], str]) -> None:
    assert python("import sys, dpbench; print([m for m in ('numpy', 'pluggy', 'click') if m in sys.modules])") == "[]\n"


def test_the_names_for_plugins_and_notebooks_are_there(python: Callable[[str], str]) -> None:
    names = "Mechanism, OneRunMechanism, Model, Dataset, Attack, hookimpl, option"
    assert python(f"from dpbench import {names}; import dpbench; print(set(dpbench.__all__) <= set(dir(dpbench)))") == "True\n"


def test_sweep_is_a_function_with_its_real_signature(python: Callable[[str], str]) -> None:
    """``help(dpbench.sweep)`` shows the arguments, also after modules of the sweeps room were imported."""
    imports = "import inspect, dpbench, dpbench.sweeps.plan"
    assert python(f"{imports}; print(inspect.isfunction(dpbench.sweep))") == "True\n"
    assert python(f"{imports}; print(inspect.signature(dpbench.sweep))").startswith("(options: ")
    assert "Run every combination" in python(f"{imports}; help(dpbench.sweep)")


def test_an_unknown_name_of_the_package_is_an_attribute_error(python: Callable[[str], str]) -> None:
    assert python("import dpbench; print(hasattr(dpbench, 'Mechansim'))") == "False\n"


def test_no_room_has_the_name_of_a_public_function() -> None:
    """Importing a submodule would replace the function in the package."""
    rooms = {module.name for module in iter_modules(dpbench.__path__)}
    assert rooms & set(dpbench.__all__) == set()
