"""A plugin that cannot be used has one finding, which says why."""

from __future__ import annotations

from dpbench.registry.discovery import Registration
from dpbench.registry.lookup import registry
from dpbench.testing.discovered import check_registration


def test_a_broken_plugin_fails_with_its_reason_and_a_missing_package_does_not() -> None:
    plugin = registry().entries[0].plugin
    broken = check_registration(Registration(plugin, "plugin", "torn", health="broken", reason="SyntaxError: line 3"))
    assert [(finding.state, finding.text) for finding in broken.found] == [("failed", "SyntaxError: line 3")]
    missing = check_registration(Registration(plugin, "mechanism", "far", health="missing", reason="Install it."))
    assert missing.passed


def test_a_component_that_can_be_used_is_checked() -> None:
    (entry,) = [entry for entry in registry().entries if entry.name == "rmse"]
    assert len(check_registration(entry).found) > 3
