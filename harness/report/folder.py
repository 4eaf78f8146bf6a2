"""The files of a report on disk: index.html, report.json, report.md, plots and long cases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from harness.errors import UsageError
from harness.outfile import OutFile
from harness.report.markdown import to_markdown
from harness.report.page import to_html
from harness.report.plots import svg_file
from harness.report.report import Report, to_json
from harness.report.sections import plots_of
from harness.report.words import LONGEST_CASE, case_file

PAGE: Final = "index.html"


class Written(NamedTuple):
    """Where a report lies."""

    folder: Path
    page: Path
    markdown: Path


def write_report(report: Report, reports: Path) -> Written:
    """Write a report into its folder in `reports`, each file in one step, the page last.

    Raises UsageError, in one line, if the disk refuses one.
    """
    folder = reports / report.night
    cases = folder / "cases"
    for name, content in _files(report, cases):
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"{path.parent} cannot be made ({error.strerror}); expected a writable place; "
                "change the permissions, or `reports` in the plan"
            ) from None
        OutFile("report", str(path)).write(content)
    return Written(folder, folder / PAGE, folder / "report.md")


def _files(report: Report, cases: Path) -> Iterator[tuple[str, bytes]]:
    for details in report.tonight.details:
        texts = [*(each.case for each in details.worst), *(law.case for law in details.laws)]
        for text in texts:
            if text is not None and len(text) > LONGEST_CASE:
                yield f"cases/{case_file(text)}", text.encode() + b"\n"
    for name, plot in plots_of(report):
        yield f"plots/{name}.svg", svg_file(plot).encode()
    yield "report.json", to_json(report)
    yield "report.md", to_markdown(report).encode()
    yield PAGE, to_html(report, cases).encode()
