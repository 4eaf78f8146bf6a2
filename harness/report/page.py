"""The page: one file that needs nothing else, and runs nothing but its own few lines of script."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from harness.inert import inert
from harness.report.report import Report
from harness.report.sections import (
    COLUMNS,
    LIMITS,
    Limits,
    look_views,
    not_covered,
    short_hex,
    speed_views,
    target_views,
    trend_views,
)
from harness.report.words import duration, number, share

#: A page is shortened until it has no more bytes than this.
MOST_BYTES: Final = 2_000_000

_environment: Final = Environment(
    loader=PackageLoader("harness.report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_environment.filters |= {
    "inert": inert,
    "number": number,
    "share": share,
    "duration": duration,
    "short_hex": short_hex,
}


def to_html(report: Report, cases: Path) -> str:
    """The page of a report, not above `MOST_BYTES`. `cases` is the folder of its long cases, as
    its commands name it."""
    page = ""
    for limits in LIMITS:
        page = _render(report, cases, limits)
        if len(page.encode()) <= MOST_BYTES:
            break
    return page


def _render(report: Report, cases: Path, limits: Limits) -> str:
    style, script = (_source(name) for name in ("page.css", "page.js"))
    return _environment.get_template("page.html.j2").render(
        report=report,
        night=report.tonight,
        columns=COLUMNS,
        looks=look_views(report),
        targets=target_views(report, cases, limits),
        trends=trend_views(report, limits),
        speeds=speed_views(report),
        not_covered=not_covered(report),
        style=Markup(style),
        script=Markup(script),
        policy=_policy(style, script),
    )


def _source(name: str) -> str:
    """A file of this package, which is trusted."""
    loader: Any = _environment.loader
    source: str = loader.get_source(_environment, name)[0]
    return source


def _policy(style: str, script: str) -> str:
    """What a browser may load and run: the style and the script of this page, and nothing else."""
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
