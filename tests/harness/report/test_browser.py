"""The page in a browser: it renders in silence, on any width, by keyboard, for any reader."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness.examine.close import look_closely
from harness.report.documents import swept
from harness.report.folder import write_report
from harness.report.night_run import CloseLook
from harness.report.record import Details, WorstInput
from harness.report.sections import short_hex
from harness.subjects import load
from harness.sweep.engine import environment
from harness.sweep.record import to_json
from tests.harness.command import invoke
from tests.harness.report.made import details, row, run, with_ulps, year
from tests.harness.report.test_documents import LOOKED, verified
from tests.harness.report.test_page import hostile, report_of
from tests.harness.sweep.subjects_under_sweep import swept as sweep_of

pytestmark = pytest.mark.browser
#: For a process in a container: no sandbox of its own, and nothing that calls home.
ARGUMENTS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
DARK = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
LIGHT = {"features": [{"name": "prefers-color-scheme", "value": "light"}]}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, driven; skipped where either it, its driver or selenium is missing."""
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("needs chromium and chromium-driver: apt-get install chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ARGUMENTS:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    found = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield found
    found.quit()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with something in every section, one look of which is worse than accepted."""
    rows = [row(), with_ulps(row(subject="textbook"), 1.75), row(look="sweep", exhaustive=True)]
    before = run([row(), row(subject="textbook")], night="n1")
    tonight = run(
        rows, night="n2", started=1.0, details=[details(), details("textbook", "float32")]
    )
    report = report_of(before, tonight, accepted=before)
    return write_report(report, tmp_path_factory.mktemp("page")).page


def shown(browser: Any, page: Path, width: int = 1200, media: dict[str, Any] = LIGHT) -> list[str]:
    """Open a page; the addresses that it asked for."""
    browser.get("about:blank")
    browser.get_log("performance")
    browser.get_log("browser")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(page.as_uri())
    log = [entry["message"] for entry in browser.get_log("performance")]
    messages = [json.loads(entry)["message"] for entry in log]
    return [
        each["params"]["request"]["url"]
        for each in messages
        if each["method"] == "Network.requestWillBeSent"
    ]


def unfold(browser: Any) -> None:
    browser.execute_script("document.querySelectorAll('details').forEach(each => each.open = true)")


@pytest.mark.parametrize("media", [LIGHT, DARK], ids=["light", "dark"])
def test_the_page_renders_in_silence(browser: Any, page: Path, media: dict[str, Any]) -> None:
    """No request but for itself, nothing on the console."""
    assert [page.as_uri()] == shown(browser, page, media=media)
    unfold(browser)
    assert [] == browser.get_log("browser")
    assert "RED" in browser.find_element("css selector", ".banner").text


def test_hostile_text_does_nothing(browser: Any, tmp_path: Path) -> None:
    """No dialog, no request, nothing refused by the policy: there is nothing to refuse."""
    written = write_report(hostile(), tmp_path).page
    assert [written.as_uri()] == shown(browser, written)
    unfold(browser)
    assert [] == browser.get_log("browser")
    assert "<script>alert(1)</script>" in browser.find_element("css selector", "main").text


@pytest.mark.parametrize("width", [375, 768, 1200])
def test_nothing_has_to_be_scrolled_sideways(browser: Any, page: Path, width: int) -> None:
    """With everything unfolded; tables scroll within their frames."""
    shown(browser, page, width)
    unfold(browser)
    assert width >= browser.execute_script("return document.documentElement.scrollWidth")


def test_hostile_text_does_not_widen_the_page(browser: Any, tmp_path: Path) -> None:
    """Not on a phone either."""
    shown(browser, write_report(hostile(), tmp_path).page, 375)
    unfold(browser)
    assert 375 >= browser.execute_script("return document.documentElement.scrollWidth")


@pytest.mark.parametrize(
    "media",
    [pytest.param(LIGHT, id="light"), pytest.param(DARK, id="dark", marks=pytest.mark.slow)],
)
def test_the_page_passes_axe(browser: Any, page: Path, media: dict[str, Any]) -> None:
    """Contrast, names, roles, headings, keyboard access: no violation of WCAG 2 A and AA, nor of
    what axe holds for good practice."""
    axe = pytest.importorskip("axe_core_python.base")
    shown(browser, page, media=media)
    unfold(browser)
    script = Path(axe.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
    browser.execute_script(script)
    found = browser.execute_async_script("axe.run().then(arguments[0])")
    assert [] == [
        (each["id"], [node["html"][:120] for node in each["nodes"]]) for each in found["violations"]
    ]
    assert "color-contrast" in {each["id"] for each in found["passes"]}


def test_tables_are_sorted_by_keyboard(browser: Any, page: Path) -> None:
    """The head of a column is a button; it sorts up, then down, numbers by their value, and says
    so."""
    shown(browser, page)
    button = browser.find_element("xpath", "//section[@aria-labelledby='looks']//th[9]/button")

    def column() -> list[str]:
        cells = browser.find_elements("css selector", "section[aria-labelledby=looks] tbody tr")
        return [each.find_elements("css selector", "th,td")[8].text.split()[0] for each in cells]

    head = button.find_element("xpath", "..")
    for expected, order in (("ascending", False), ("descending", True)):
        button.send_keys("\ue007")
        assert expected == head.get_attribute("aria-sort")
        assert sorted(["0.750", "0.750", "1.750"], reverse=order) == column()


def test_a_link_into_what_is_folded_up_unfolds_it(browser: Any, page: Path) -> None:
    """As from a message about one subject."""
    shown(browser, page)
    browser.execute_script("location.hash = 'f-t1'")
    unfolded = "return document.getElementById('f-t1').open"
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, 10).until(lambda b: b.execute_script(unfolded))


def real_details() -> Details:
    """A subject looked at for real: its sweep, its drawn cases, and a close look at the worst."""
    sweep = sweep_of(load("torch-tanh"), dtype="float16")
    findings = [swept(to_json([sweep], environment()), LOOKED, 1), verified("torch-tanh")[1]]
    by_quantity: dict[tuple[str, str], list[WorstInput]] = {}
    for each in (each for part in findings for each in part.worst):
        by_quantity.setdefault((each.look, each.quantity), []).append(each)
    request = {
        "subject": "torch-tanh",
        "kind": "activation",
        "dtype": "float16",
        "device": "cpu",
        "seed": 1,
        "worst": [each for found in by_quantity.values() for each in found[:3]],
    }
    close = msgspec.json.decode(look_closely(msgspec.json.encode(request)), type=CloseLook)
    return details(worst=close.worst)


@pytest.mark.slow
def test_every_command_on_the_page_shows_the_figures_beside_it(
    browser: Any, tmp_path: Path
) -> None:
    """It is run as it stands there: the same computed value, error and grade."""
    written = write_report(report_of(run(details=[real_details()])), tmp_path)
    shown(browser, written.page)
    unfold(browser)
    rows = browser.find_elements("css selector", "section[aria-labelledby=worst] tbody tr")
    looks = set()
    for each in rows:
        cells = [cell.text for cell in each.find_elements("css selector", "th,td")]
        quantity, look, _, ulps, computed, exact, _, grade, command = cells
        words = shlex.split(command)
        assert "neuron-harness" == words[0]
        found = invoke(*words[1:])
        assert 0 == found.status, found.err
        lines = [line for line in found.out.splitlines() if line.split()[:1] == [quantity]]
        # The first is that of the table; what follows explains it.
        assert computed in map(short_hex, lines[0].split())
        assert {ulps, exact, grade} <= set(lines[0].split())
        looks.add(look)
    assert {"sweep", "verify", "second order"} == looks


@pytest.mark.slow
def test_a_year_of_nights_opens(browser: Any, tmp_path: Path) -> None:
    """With its table of trends; how fast is a benchmark's to say."""
    written = write_report(report_of(*year()), tmp_path)
    shown(browser, written.page)
    assert [] == browser.get_log("browser")
    trends = browser.find_elements("css selector", "section[aria-labelledby=trend] tbody tr")
    assert 160 == len(trends)
