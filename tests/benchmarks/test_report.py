"""How fast a report of a year of nights is: 365 runs of 40 verdicts, read, judged and written; and
how fast its page opens. Both are promised on docs/reports.md: 10 s and 2 s."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from harness.report.folder import write_report
from harness.report.history import History
from harness.report.nights import nights_of
from harness.report.ratchet import accept
from harness.report.report import Report, make_report
from tests.harness.report.made import year


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The history of a year."""
    path = tmp_path_factory.mktemp("year") / "history.sqlite"
    with History.open(path) as opened:
        opened.add(year())
    return path


def made(path: Path) -> Report:
    with History.open(path) as opened:
        nights = nights_of(opened.runs())
        return make_report(nights, list(opened.whole(nights[-1].label)), accept(nights[-2], {}))


def test_build(benchmark: Any, history: Path, tmp_path: Path) -> None:
    """From the history to the last file on disk."""
    written = benchmark(lambda: write_report(made(history), tmp_path))
    assert written.page.exists()


def test_open(benchmark: Any, history: Path, tmp_path: Path) -> None:
    """From the address to the end of the page's loading, laid out."""
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("needs chromium and chromium-driver")
    page = write_report(made(history), tmp_path).page
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-background-networking"):
        options.add_argument(argument)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))

    def opened() -> int:
        browser.get(page.as_uri())
        return int(browser.execute_script("return document.documentElement.scrollHeight"))

    try:
        assert benchmark(opened) > 1000
    finally:
        browser.quit()
