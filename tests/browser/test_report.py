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


def test_a_click_sorts_a_table_and_another_turns_it_round(browser: Any, report: Path) -> None:
    browser.open(report.as_uri())
    column = "return [...document.querySelectorAll('.board tbody tr')].map(row => Number(row.cells[3].textContent))"
    before = browser.run(column)
    button = browser.find(".board thead th:nth-child(4) button")[0]
    button.click()
    assert browser.run(column) == sorted(before)
    button.click()
    assert browser.run(column) == sorted(before, reverse=True)
    assert browser.errors() == []


def test_words_filter_the_rows_of_a_long_table(browser: Any, report: Path) -> None:
    browser.open(report.as_uri())
    browser.run("document.querySelector('input[type=search]').scrollIntoView()")
    field = browser.one("input[type=search]")
    visible = "return [...arguments[0].nextElementSibling.querySelectorAll('tbody tr')].filter(row => !row.hidden).length"
    everything = browser.run(visible, field)
    field.send_keys("no row has this")
    assert (browser.run(visible, field), everything > 0) == (0, True)
    field.clear()
    field.send_keys(" ")
    assert browser.run(visible, field) == everything


def test_the_values_of_a_point_are_shown_under_the_pointer(browser: Any, report: Path) -> None:
    from selenium.webdriver import ActionChains

    browser.open(report.as_uri())
    point = browser.one(".canvas circle")
    browser.run("arguments[0].scrollIntoView({block: 'center'})", point)
    assert not browser.one(".tip").is_displayed()
    ActionChains(browser.driver).move_to_element(point).perform()
    assert "ε = " in browser.wait("values", lambda: browser.text(".tip"))
    assert "of the runs" in browser.text(".tip")


def test_figures_are_dark_on_a_dark_page_and_tables_reach_its_edge(browser: Any, report: Path) -> None:
    browser.driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    )
    try:
        browser.open(report.as_uri())
        assert "invert" in browser.run("return getComputedStyle(document.querySelector('.canvas img')).filter")
        width = "return document.querySelector('.board').offsetWidth / document.documentElement.clientWidth"
        assert browser.run(width) > 0.7
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
