"""An entry for the registry of deployments is valid, and says what a human has to add."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from dpbench.base.errors import Refused
from dpbench.releases.registry_entry import OPEN, check_file_name, entry_text, open_fields, registry_entry
from dpbench.releases.release_file import Release

SCHEMA = Path(__file__).with_name("deployments_registry") / "deployments-schema.yaml"
TODAY = date(2026, 1, 2)


def faults(text: str) -> list[str]:
    """What the registry's own check would say of a file."""
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed: pip install 'dp-regression-bench[dev]'")
    validator = jsonschema.Draft7Validator
    schema = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
    checked = validator(schema, format_checker=validator.FORMAT_CHECKER)
    return [error.message for error in checked.iter_errors(yaml.safe_load(text))]


def persons(release: Release) -> dict[str, Any]:
    kept = {key: value for key, value in release.privacy.items() if key != "rows"}
    return kept | {"persons": 500, "rows_per_person": 3, "neighbours": "replace_one_person"}


@pytest.mark.parametrize("variant", ["rows", "pure", "persons", "binary", "synthetic", "odd name"])
def test_every_entry_is_valid(wages: Callable[..., Release], variant: str) -> None:
    release = wages()
    changes: dict[str, Any] = {
        "rows": {},
        "pure": {"privacy": {**release.privacy, "delta": 0.0}},
        "persons": {"privacy": persons(release)},
        "binary": {"kind": "binary", "threshold": 900.0},
        "synthetic": {"dataset": {"name": "gaussian", "synthetic": True}},
        "odd name": {"mechanism": {"name": "fm", "note": "a: 'b' \"c\"\n- d\t# e"}},
    }[variant]
    text = entry_text(registry_entry(wages(**changes), "wages", TODAY))
    assert faults(text) == []
    # the registry's other checks: no folded texts
    assert {token.style for token in yaml.scan(text) if hasattr(token, "style")} <= {None, "|", '"', "'"}


def test_a_wrong_entry_would_be_found(wages: Callable[..., Release]) -> None:
    entry = registry_entry(wages(), "wages", TODAY)
    assert "Additional properties" in faults(entry_text({**entry, "surprise": 1}))[0]
    assert "is not a 'date'" in faults(entry_text({**entry, "deployment": {"basic": {"publication_date": "soon"}}}))[-1]


def test_what_the_release_knows_is_filled_in(wages: Callable[..., Release]) -> None:
    deployment = registry_entry(wages(), "wages", TODAY)["deployment"]
    assert deployment["dp_variant"]["variant_name"] == "Approximate DP"
    assert deployment["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    assert deployment["privacy_loss"]["privacy_unit"] == "Row"
    assert "age: 18 to 70" in deployment["dp_variant"]["data_domain"]
    assert "6,000 rows" in deployment["dp_variant"]["unprotected_quantities"]
    assert "second_moments (gdp): mu 0.2" in deployment["privacy_loss"]["privacy_parameters_details"]
    assert deployment["basic"]["publication_date"] == "2026-01-02"
    pure = wages(privacy={**wages().privacy, "delta": 0.0})
    assert registry_entry(pure, "wages", TODAY)["deployment"]["dp_variant"]["variant_name"] == "Pure DP"
    assert registry_entry(pure, "wages", TODAY)["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0}
    of_persons = registry_entry(wages(privacy=persons(wages())), "wages", TODAY)["deployment"]
    assert of_persons["privacy_loss"]["privacy_unit"] == "Person"
    assert "at most 3 count" in of_persons["privacy_loss"]["privacy_unit_details"]


def test_every_open_field_is_named(wages: Callable[..., Release]) -> None:
    entry = registry_entry(wages(), "wages", TODAY)
    names = open_fields(entry)
    basic = [
        f"deployment.basic.{name}" for name in ("data_curators", "intended_use", "data_product_region", "data_product_sector")
    ]
    assert set(basic) | {"deployment.implementation.justification", "deployment.administrative.registry_authors"} <= set(names)
    assert len(names) == entry_text(entry).count(OPEN) + 1, "all open texts, and the sector, which comes from a list"


@pytest.mark.parametrize("name", ["Wages.yaml", "wages-2026.yaml", "wages.yml", ".yaml"])
def test_a_file_name_that_the_registry_refuses_is_refused(name: str) -> None:
    with pytest.raises(Refused, match="The registry wants small letters"):
        check_file_name(name)


def test_a_file_name_that_it_accepts_is_accepted() -> None:
    check_file_name("wages_2026.yaml")
