"""The report as a file that is opened by itself, in a real browser: nothing is missing, and nothing is fetched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser


def test_the_report_is_readable_as_a_file(browser: Any, report: Path, first_words: str) -> None:
    browser.open(report.as_uri())
    browser.says(first_words)
    assert min(browser.drawn("img")) > 300
    browser.shot("report_file")
    assert browser.errors() == []


def test_the_report_needs_nothing_but_itself(browser: Any, report: Path) -> None:
    browser.open(report.as_uri())
    browser.one("img")
    fetched = browser.run("return performance.getEntriesByType('resource').map(entry => entry.name)")
    assert [name for name in fetched if not name.startswith("data:")] == []
    assert browser.errors() == []


def test_the_report_fits_a_narrow_window(browser: Any, report: Path) -> None:
    """Wide tables scroll by themselves; the page does not."""
    browser.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    )
    try:
        browser.open(report.as_uri())
        browser.one("img")
        browser.shot("report_narrow")
        assert browser.run("return document.documentElement.scrollWidth") <= 400
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
