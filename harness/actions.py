"""Verdicts for GitHub Actions: an annotation for each failure, and a table in the job's summary.

Both are on by themselves where the environment says so (`GITHUB_ACTIONS`, `GITHUB_STEP_SUMMARY`).
Formats: GitHub, "Workflow commands for GitHub Actions".
"""

from __future__ import annotations

import html
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from harness.failure import describe
from harness.inert import inert
from harness.terminal import short
from harness.verdict import Verdict, Verification

#: GitHub shows ten annotations of a step and drops the rest.
_ANNOTATIONS: Final = 10
#: GitHub takes a summary of at most a mebibyte.
_CHARACTERS: Final = 900_000


def annotation_lines(verification: Verification) -> list[str]:
    """A workflow command for each verdict that failed, the tenth standing for all that are left."""
    failed = [verdict for verdict in verification.verdicts if not verdict.passed]
    shown = failed if len(failed) <= _ANNOTATIONS else failed[: _ANNOTATIONS - 1]
    lines = [
        _command(f"{_name(verdict)}: {verdict.failure}", describe(verdict)) for verdict in shown
    ]
    if len(shown) < len(failed):
        left = failed[len(shown) :]
        names = ", ".join(map(_name, left))
        lines.append(_command(f"{len(left)} more verdicts are not as required", names))
    return lines


def summary(verification: Verification) -> str:
    """The verdicts as a Markdown table, the failed ones first, each with its smallest case."""
    verdicts = sorted(verification.verdicts, key=lambda verdict: verdict.passed)
    failed = sum(not verdict.passed for verdict in verdicts)
    head = "all as required" if not failed else f"{failed} of {len(verdicts)} not as required"
    if not verdicts:
        head = "nothing was verified"
    elif verification.interrupted:
        head += ", interrupted"
    lines = [
        f"### neuron-harness: {head}",
        "",
        "| | subject | dtype | device | grade | required | worst ulps | cases |",
        "|---|---|---|---|---|---|---|---|",
        *map(_row, verdicts),
        "",
    ]
    for verdict in verdicts[:failed]:
        lines += [
            f"<details><summary>{_text(_name(verdict))}</summary>",
            "",
            f"<pre>{_block(describe(verdict))}</pre>",
            "</details>",
            "",
        ]
    text = "\n".join(lines)
    if len(text) > _CHARACTERS:
        text = (
            f"{text[:_CHARACTERS].rpartition('</details>')[0]}</details>\n\nThe rest is cut off.\n"
        )
    return text


def report(verification: Verification, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Add to the job's summary, and return the lines to print; none outside GitHub Actions.

    A summary that cannot be written is left out, with a warning among the lines.
    """
    if environment.get("GITHUB_ACTIONS") != "true":
        return []
    lines = annotation_lines(verification)
    place = environment.get("GITHUB_STEP_SUMMARY")
    if place:
        try:
            with Path(place).open("a", encoding="utf-8") as file:
                file.write(summary(verification))
        except OSError as error:
            lines.append(f"::warning::the step summary cannot be written ({error.strerror})")
    return lines


def _command(title: str, message: str) -> str:
    return f"::error title={_property(inert(title, 200))}::{_data(message)}"


def _data(text: str) -> str:
    """What a command says. Line ends are kept, as GitHub writes them; other controls are not."""
    return "%0A".join(_indented(line).replace("%", "%25") for line in text.splitlines())


def _property(text: str) -> str:
    return text.replace("%", "%25").replace(":", "%3A").replace(",", "%2C")


def _name(verdict: Verdict) -> str:
    return f"{inert(verdict.subject, 100)} {verdict.dtype} {verdict.device}"


def _row(verdict: Verdict) -> str:
    worst = max((quantity.max_ulp for quantity in verdict.quantities.values()), default=None)
    cells = (
        ":white_check_mark:" if verdict.passed else ":x:",
        _text(verdict.subject),
        verdict.dtype,
        verdict.device,
        str(verdict.grade or "none"),
        str(verdict.required),
        "-" if worst is None else short(worst),
        str(verdict.examples),
    )
    return f"| {' | '.join(cells)} |"


def _text(text: str) -> str:
    """Text in a cell: no HTML, no Markdown, no column of its own."""
    shown = html.escape(inert(text, 200))
    return "".join(f"&#{ord(each)};" if each in r"\`*_{}[]()#+!|~@$" else each for each in shown)


def _block(text: str) -> str:
    """Text in a block that keeps its lines; an empty line would end the block."""
    lines = [html.escape(_indented(line)) or "&nbsp;" for line in text.splitlines()]
    return "\n".join(lines)


def _indented(line: str) -> str:
    text = line.lstrip(" ")
    return " " * (len(line) - len(text)) + inert(text)
