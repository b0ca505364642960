"""MLflow's pages after a sweep, in a real browser: the table, the charts, the note with its figure, the artifacts."""

from __future__ import annotations

import math
from typing import Any
from urllib.parse import unquote

import pytest

from dpbench.report.decision_texts import choice_sentences
from dpbench.report.summary import SweepSummary

pytestmark = pytest.mark.browser

SHOWN = ("utility/rmse_median", "privacy/epsilon_accounted", "reference/no_privacy/rmse_median")


def test_an_error_in_a_page_or_in_a_frame_of_it_is_noticed(browser: Any, recorded: Any) -> None:
    """Else the other tests would find no error whatever happened."""
    browser.open(f"{recorded.host}/version")
    frame = "const page = new Blob([`<script>console.error('in the frame')</script>`], {type: 'text/html'});"
    frame += "document.body.innerHTML = `<iframe sandbox='allow-scripts' src='${URL.createObjectURL(page)}'></iframe>`;"
    browser.run(f"{frame} console.error('in the page'); setTimeout(() => undefined.member)")
    said: list[str] = []
    for text in ("in the page", "TypeError", "in the frame"):
        browser.wait(text, lambda text=text: said.extend(browser.errors()) or any(text in one for one in said))


def test_the_printed_link_opens_the_cells_flat_with_our_columns_and_the_recorded_numbers(browser: Any, recorded: Any) -> None:
    browser.open(recorded.pages.runs(recorded.host))
    row = "[row-id='{}'] [col-id='{}']".format
    for cell in recorded.cells:
        for name in ("mechanism", "model", "dataset", "epsilon"):
            assert browser.one(row(cell.info.run_id, f"params.`{name}`")).text == cell.data.params[name]
        for name in SHOWN:
            shown = float(browser.one(row(cell.info.run_id, f"metrics.`{name}`")).text)
            assert math.isclose(shown, cell.data.metrics[name], rel_tol=1e-12)
        assert browser.one(row(cell.info.run_id, "tags.`dpbench.guarantee`")).text == "sound"
    assert not browser.find(f"[row-id='{recorded.parent}']"), "the sweep's own row has none of these numbers"
    assert "6 matching runs" in browser.text()
    assert browser.text("[data-testid='saved-views-trigger']") == "dpbench: all cells"
    assert "utility/rmse_median" in browser.text("[data-testid='sort-select-dropdown']")
    browser.shot("runs")
    assert browser.errors() == []


def test_the_charts_of_the_view_are_drawn(browser: Any, recorded: Any) -> None:
    browser.open(f"{recorded.pages.runs(recorded.host)}&compareRunsMode=CHART")
    browser.wait("scatter of the cells", lambda: len(browser.find(".js-plotly-plot .scatterlayer .point")) == 6)
    axes = browser.wait("parallel coordinates", lambda: browser.find(".parcoords .dimension"))
    assert [axis.text.splitlines()[-1] for axis in axes][:2] == ["mechanism", "epsilon"]
    nowhere = ".parcoords [transform*=NaN], .parcoords [d*=NaN], .parcoords [height*=NaN]"
    browser.wait("place for every axis", lambda: not browser.find(nowhere))
    browser.says("log10 ε vs. linear on wine (rmse)")
    browser.shot("charts")
    assert browser.errors() == []


def test_the_page_of_the_sweep_shows_the_answer_the_figure_and_the_children(browser: Any, recorded: Any) -> None:
    host, line = recorded.host, recorded.pages.lines(recorded.host).splitlines()[-1]
    assert line.startswith("Last sweep:")
    browser.open(line.split()[-1])
    note = "[data-testid='note-view-outer-container']"
    browser.says(choice_sentences(SweepSummary(recorded.sweep))[0], note)
    browser.shot("sweep")
    children = "[data-testid='key-value-Child runs'] a"
    browser.wait("children", lambda: len(browser.find(children)) == len(recorded.cells))
    linked = {link.get_attribute("href").partition("/runs/")[2].partition("?")[0] for link in browser.find(children)}
    assert linked == {cell.info.run_id for cell in recorded.cells}
    assert min(browser.drawn(f"{note} img")) >= 100
    view, report = recorded.pages.runs(host).partition("#")[2], recorded.artifact("report/report.html").partition("#")[2]
    links = {unquote(link.get_attribute("href").partition("#")[2]) for link in browser.find(f"{note} a")}
    assert {view, report} <= links
    (more,) = [button for button in browser.find("button") if button.text == "Show more"]
    more.click()
    browser.wait("whole note", lambda: browser.find(f"{note} table td"))
    browser.shot("note")
    assert browser.errors() == []
    browser.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 1400, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    )
    try:  # a picture wider than its column pushes all that is next to the note out of the window
        fits = "return [...document.querySelectorAll(arguments[0])].every(one => one.getBoundingClientRect().right <= innerWidth)"
        browser.wait("note within the window", lambda: browser.run(fits, f"{note} img, {note} table, {children}"))
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_figure_opens_among_the_artifacts(browser: Any, recorded: Any) -> None:
    browser.open(recorded.artifact("report/error_vs_epsilon.png"))
    assert min(browser.drawn("img[src^='blob:']")) > 300
    browser.shot("figure")
    assert browser.errors() == []


def test_the_report_opens_among_the_artifacts(browser: Any, recorded: Any, first_words: str) -> None:
    browser.open(recorded.artifact("report/report.html"))
    browser.driver.switch_to.frame(browser.one("iframe[sandbox]"))
    browser.says(first_words)
    assert min(browser.drawn("img")) > 300
    browser.driver.switch_to.default_content()
    browser.shot("report_artifact")
    assert browser.errors() == []
