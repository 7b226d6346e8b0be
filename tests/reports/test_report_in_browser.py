"""The page in a real browser with the network off: what is drawn, and that nothing else happens.

Needs Chromium, which the continuous integration installs; elsewhere these tests are skipped.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pytest
from playwright.sync_api import Browser, Dialog, Page, sync_playwright
from written_reports import HOSTILE, Written

from reports.comparison_page import write_comparison
from reports.history_page import write_history
from warehouse.database import open_warehouse
from warehouse.queries import resolve_run
from warehouse.runs_compared import compare_runs
from warehouse.runs_history import experiment_history

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
MARKS = ".mark-rect path, .mark-symbol path, .mark-line path, .mark-rule line, .mark-text text"

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium is installed here (on Debian: apt-get install chromium)"
)


@dataclass(slots=True)
class Seen:
    """What a page did besides showing itself."""

    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)


class OnDisk(Protocol):
    """A page that was written."""

    @property
    def path(self) -> Path: ...


@dataclass(frozen=True, slots=True)
class AboutRuns:
    """A page about several runs."""

    path: Path


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield started
        started.close()


@contextmanager
def opened(
    browser: Browser, written: OnDisk, *, width: int = 1280, dark: bool = False
) -> Iterator[tuple[Page, Seen]]:
    """The page, once every chart has been drawn or given up."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if dark else "light",
        offline=True,
    )
    page, seen = context.new_page(), Seen()
    page.on("console", lambda message: seen.messages.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: seen.messages.append(str(error)))
    page.on("request", lambda request: seen.requests.append(request.url))

    def dismiss(dialog: Dialog) -> None:
        seen.dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", dismiss)
    page.goto(written.path.as_uri())
    page.wait_for_function(
        "[...document.querySelectorAll('[data-chart]')].every(c => c.dataset.drawn || c.innerText)"
    )
    yield page, seen
    context.close()


@pytest.mark.parametrize("kind", ["complete", "unlimited", "with_failures", "with_gaps"])
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_every_chart_is_drawn_and_nothing_leaves(
    request: pytest.FixtureRequest, browser: Browser, kind: str, width: int, *, dark: bool
) -> None:
    written: Written = request.getfixturevalue(kind)
    with opened(browser, written, width=width, dark=dark) as (page, seen):
        marks = page.eval_on_selector_all(
            "[data-chart]",
            f"places => places.map(place => place.querySelectorAll('{MARKS}').length)",
        )
        assert len(marks) == len(written.page.charts)
        assert min(marks) >= 3
        assert page.locator("[data-drawn=yes]").count() == len(marks)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert seen == Seen(requests=[written.path.as_uri()])


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_pages_about_several_runs_are_drawn_and_nothing_leaves(
    browser: Browser, series_home: Path, tmp_path: Path, width: int, *, dark: bool
) -> None:
    with open_warehouse(series_home, read_only=True) as warehouse:
        ids = [resolve_run(warehouse, label) for label in ("m-0", HOSTILE, "slow")]
        pages = [
            AboutRuns(write_comparison(compare_runs(warehouse, ids), tmp_path)),
            AboutRuns(write_history(experiment_history(warehouse, "steady"), 30, tmp_path)),
        ]
    for written in pages:
        with opened(browser, written, width=width, dark=dark) as (page, seen):
            assert page.locator("[data-drawn=yes]").count() == page.locator("[data-chart]").count()
            assert page.locator(MARKS).count() >= 3
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert seen == Seen(requests=[written.path.as_uri()])


def test_hostile_texts_do_nothing(browser: Browser, hostile: Written) -> None:
    with opened(browser, hostile) as (page, seen):
        assert page.locator("h1").inner_text().startswith("</script><script>alert(1)</script>")
        assert page.locator("img").count() == 0
        assert page.locator(".panel h3").first.inner_text() == "datum.x-.y"
        assert seen == Seen(requests=[hostile.path.as_uri()])


def test_a_script_that_slipped_in_would_not_run(browser: Browser, complete: Written) -> None:
    with opened(browser, complete) as (page, seen):
        page.evaluate(
            "document.body.insertAdjacentHTML('beforeend', '<img src=\"data:,\" onerror=alert(1)>')"
        )
        page.wait_for_timeout(200)
        assert seen.dialogs == []
        assert any("Content Security Policy" in message for message in seen.messages)


def fill_of_first_bar(page: Page) -> str:
    bar = "#phases .mark-rect path"
    fill: str = page.eval_on_selector(bar, "path => getComputedStyle(path).fill")
    return fill


def test_charts_follow_light_dark_and_paper(browser: Browser, complete: Written) -> None:
    with opened(browser, complete) as (page, _):
        light = fill_of_first_bar(page)
        page.emulate_media(color_scheme="dark")
        dark = fill_of_first_bar(page)
        page.emulate_media(media="print", color_scheme="dark")
        paper = fill_of_first_bar(page)
    assert light.startswith("rgb(")
    assert dark.startswith("rgb(")
    assert light != dark
    assert paper == light


def test_charts_have_words_and_tables_can_be_reached_by_keyboard(
    browser: Browser, complete: Written
) -> None:
    with opened(browser, complete) as (page, _):
        labels = page.eval_on_selector_all(
            "[data-chart] svg", "all => all.map(svg => svg.closest('[aria-label]').ariaLabel)"
        )
        assert all(len(label) > 40 for label in labels)
        wide = page.locator(".scroll").count()
        assert page.locator(".scroll[tabindex='0']").count() == wide > 4


def test_a_tip_names_what_is_under_the_pointer(browser: Browser, complete: Written) -> None:
    with opened(browser, complete) as (page, _):
        page.locator("#phases .mark-rect path").nth(1).hover()
        tip = page.locator("#vg-tooltip-element")
        tip.wait_for(state="visible")
        assert "acquire wait" in tip.inner_text()
