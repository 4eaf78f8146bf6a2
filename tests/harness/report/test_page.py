"""The page, the summary and the JSON: all that was found is in them, and what others wrote is
nothing but text."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from harness.report.folder import write_report
from harness.report.markdown import to_markdown
from harness.report.nights import nights_of
from harness.report.page import MOST_BYTES, to_html
from harness.report.ratchet import accept
from harness.report.record import LeftOut, Row, Run
from harness.report.report import Report, json_schema, make_report, to_json
from harness.report.sections import condensed, short_hex
from harness.report.words import case_file, replay, share
from tests.harness.report.made import (
    CASE,
    details,
    figure,
    night,
    row,
    run,
    segment,
    with_ulps,
    year,
)

ROOT = Path(__file__).parents[3]
CASES = Path("reports/night/cases")
HOSTILE = "<script>alert(1)</script>\"'>&{{ 7*7 }}|`*[x](javascript:alert(1))\x1b[31m\x07\n# head"
SECTIONS = (
    *("method", "changes", "looks", "segments", "errors", "curves", "worst", "special"),
    *("trend", "laws", "speed", "environment", "left"),
)


def report_of(*runs: Run, accepted: Run | None = None) -> Report:
    nights = nights_of(runs)
    entries = {} if accepted is None else accept(nights_of([accepted])[0], {})
    return make_report(nights, nights[-1].runs, entries)


def hostile() -> Report:
    """A report in which every text that a subject, a case or a machine may bring is hostile."""
    made = details(HOSTILE)
    worst = msgspec.structs.replace(made.worst[0], message=HOSTILE + "x" * 1_000_000)
    law = msgspec.structs.replace(made.laws[0], message=HOSTILE)
    return report_of(
        run(
            [row([figure(HOSTILE)], subject=HOSTILE, passed=False, failure=HOSTILE + "x" * 10**6)],
            environment={"torch": HOSTILE},
            machine=HOSTILE,
            left_out=(LeftOut(HOSTILE, HOSTILE),),
            details=(msgspec.structs.replace(made, worst=(worst,), laws=(law,)),),
        )
    )


class Elements(HTMLParser):
    """The elements and attributes of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_the_page_has_its_sections_in_order_method_first() -> None:
    """Each under a heading that the navigation leads to."""
    page = to_html(report_of(run(details=[details()])), CASES)
    found = Elements(page).found
    heads = [attributes.get("id") for tag, attributes in found if tag == "h2"]
    assert list(SECTIONS) == heads
    links = {attributes.get("href") for tag, attributes in found if tag == "a"}
    assert {f"#{name}" for name in SECTIONS} <= links
    ids = [attributes["id"] for _, attributes in found if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_the_page_loads_nothing_and_runs_its_own_script_alone() -> None:
    """No address, no inline handler or style, and a policy that names the hashes of both blocks."""
    page = to_html(report_of(run(details=[details()])), CASES)
    assert not re.search(r"""(?:src|srcset|action)=|url\(|@import|https?://""", page)
    for tag, attributes in Elements(page).found:
        assert tag not in ("img", "iframe", "object", "embed", "link", "form", "base")
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
        assert (attributes.get("href") or "#").startswith("#")
    policy = next(a["content"] for t, a in Elements(page).found if a.get("http-equiv"))
    assert policy is not None and policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


def test_hostile_text_is_inert_in_the_page() -> None:
    """It opens no element, runs nothing, and a megabyte of it is cut short."""
    page = to_html(hostile(), CASES)
    tags = [tag for tag, _ in Elements(page).found]
    assert 1 == tags.count("script")
    assert "49" not in re.findall(r"\{\{.*?\}\}", page)
    assert "{{ 7*7 }}" in page
    assert page.isascii() or not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", page)
    assert len(page) < 200_000


def test_hostile_text_is_inert_in_the_summary() -> None:
    """No element, link, heading, table cell or escape comes of it."""
    found = to_markdown(hostile())
    assert "<script" not in found and "\x1b" not in found and "\x07" not in found
    assert 1 == sum(line.startswith("# ") for line in found.splitlines())
    assert not re.search(r"(?<!\\)\]\(", found)
    rows = [line for line in found.splitlines() if line.startswith("| ")]
    assert {8} == {len(re.findall(r"(?<!\\)\|", line)) - 1 for line in rows}
    assert len(found) < 50_000


def test_hostile_text_is_inert_in_the_json() -> None:
    """On a terminal too: no control character is in it, and it is read as it was."""
    content = to_json(hostile()).decode()
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", content)
    assert HOSTILE == json.loads(content)["runs"][0]["rows"][0]["subject"]


def test_the_json_keeps_to_its_published_schema() -> None:
    """The file in reports/ is that of this code, and a report is valid by it."""
    jsonschema = pytest.importorskip("jsonschema")
    published = json.loads((ROOT / "reports" / "report.schema.json").read_text())
    assert json_schema() == published
    validator = jsonschema.Draft202012Validator(published)
    validator.check_schema(published)
    for report in (report_of(run(details=[details()])), hostile(), report_of(*year(5, 4))):
        validator.validate(json.loads(to_json(report)))
    spoilt = json.loads(to_json(report_of(run())))
    spoilt["runs"][0]["rows"][0]["points"] = "many"
    assert not validator.is_valid(spoilt)


@pytest.mark.parametrize(
    ("tonight", "colour", "words"),
    [
        pytest.param(row(), "green", "all 1 looks as required", id="as accepted"),
        pytest.param(with_ulps(row(), 1.75), "red", "0.750 -&gt; 1.750", id="an ulp worse"),
        pytest.param(row(machine="other"), "amber", "no baseline", id="another kind of machine"),
        pytest.param(row(passed=False, failure="it broke"), "red", "it broke", id="failed"),
    ],
)
def test_the_page_and_the_summary_say_the_colour_and_why(
    tonight: Row, colour: str, words: str
) -> None:
    """In words, not by colour alone."""
    report = report_of(run([tonight]), accepted=run())
    page = to_html(report, CASES)
    assert f">{colour.upper()}</strong>" in page
    assert words in page
    assert f": {colour}\n" in to_markdown(report)


def test_every_figure_is_marked_as_of_all_inputs_or_sampled() -> None:
    """So that no sample is taken for a proof."""
    rows = [row(), row(look="sweep", exhaustive=True, sample="every input")]
    page = to_html(report_of(run(rows)), CASES)
    assert 1 == len(re.findall(r"0\.750 <small>sampled</small>", page))
    assert 1 == len(re.findall(r"0\.750 <small>all</small>", page))


def test_a_change_and_what_came_with_it_stand_in_the_trend() -> None:
    """The night, from what to what, and the release."""
    before = run(night="n1")
    after = run([with_ulps(row(), 1.75)], night="n2", started=1.0, environment={"torch": "3"})
    page = to_html(report_of(before, after), CASES)
    assert "n2: worse: worst error in ulps 0.750 -&gt; 1.750 (with torch 2.13.0 -&gt; 3" in page


def test_what_is_left_out_is_listed() -> None:
    """With the reason; what is sampled only, too."""
    page = to_html(report_of(run(left_out=(LeftOut("sweep x", "no time"),))), CASES)
    assert "<li>sweep x: no time</li>" in page
    assert "torch-tanh float16 cpu: sampled: no sweep over every number" in page


def test_a_replay_command_of_a_long_case_reads_it_from_a_file(tmp_path: Path) -> None:
    """The file is written beside the page, and holds the case."""
    case = json.loads(CASE)
    case["inputs"] = case["weights"] = case["inputs"] * 100
    text = json.dumps(case)
    made = details()
    long = msgspec.structs.replace(made.worst[0], case=text)
    report = report_of(run(details=[msgspec.structs.replace(made, worst=(long,))]))
    written = write_report(report, tmp_path)
    file = written.folder / "cases" / case_file(text)
    assert case == json.loads(file.read_text())
    command = replay("torch-tanh", "activation", "cpu", text, written.folder / "cases")
    assert f"neuron-harness explain torch-tanh {file} --as activation" == command
    assert str(file) in written.page.read_text()


def test_a_report_is_a_folder_of_its_files(tmp_path: Path) -> None:
    """The page, its data, the summary, a file for each plot."""
    written = write_report(report_of(run(details=[details()])), tmp_path)
    names = {str(path.relative_to(written.folder)) for path in written.folder.rglob("*.*")}
    assert {"index.html", "report.json", "report.md"} <= names
    assert 3 == sum(name.startswith("plots/") and name.endswith(".svg") for name in names)


@pytest.mark.slow
def test_a_year_of_nights_fits_on_the_page() -> None:
    """365 nights of 40 verdicts, one of which changes every night: below two megabytes."""
    page = to_html(report_of(*year()), CASES)
    assert len(page.encode()) < MOST_BYTES
    assert "363 earlier" in page or "358 earlier" in page


def test_segments_without_an_error_to_tell_are_joined() -> None:
    """Counts add up, the worst is kept with its input, and no more rows than are asked for."""
    found = [segment(k) for k in range(-120, 8)]
    joined = list(condensed(found, 40))
    assert sum(each.points for each in found) == sum(each.points for each in joined)
    assert max(each.max_ulp for each in found) == max(each.max_ulp for each in joined)
    assert 8 == len(joined)
    assert ("0x1p-120", "0x1.ffcp+0") == (joined[0].start, joined[0].stop)
    for most in (1, 3):
        few = list(condensed(found, most))
        assert most == len(few)
        assert "0x1.8p+7" == few[-1].worst_x


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0x1.8000000000000p+1", "0x1.8p+1"),
        ("0x0.0p+0", "0x0p+0"),
        ("-0x1.0000000000000p-10", "-0x1p-10"),
        ("0x1.0010000000000p+0", "0x1.001p+0"),
        ("nan", "nan"),
        ("-inf", "-inf"),
    ],
)
def test_hexadecimal_text_is_shortened_without_a_loss(text: str, expected: str) -> None:
    """It spells the same float."""
    assert expected == short_hex(text)
    if text not in ("nan",):
        assert float.fromhex(text) == float.fromhex(expected)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1.0, "100%"), (0.0, "0%"), (0.5, "50.00%"), (0.999999, "> 99.99%"), (1e-9, "< 0.01%")],
)
def test_a_share_is_said_to_be_all_or_nothing_only_where_it_is(value: float, expected: str) -> None:
    """Rounding must not turn a flaw in a billion into none."""
    assert expected == share(value)


def test_machines_of_one_night_stand_side_by_side() -> None:
    """Of two runs of one machine the later one counts."""
    runs = [
        run([row(machine="a")], machine="a"),
        run([row(machine="b")], machine="b", started=1.0),
        run([with_ulps(row(machine="a"), 3.0)], machine="a", started=2.0),
    ]
    (found,) = nights_of(runs)
    assert [3.0, 0.75] == [each.figures[0].max_ulp for each in found.rows.values()]
    page = to_html(report_of(*runs), CASES)
    assert page.count("<dl>") == 3
    assert night(row()).label == "2026-01-01"
