"""Findings of a check: one line per subject, with the consequence of a problem and its fix."""

from __future__ import annotations

import json
import textwrap
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_WIDTH = 100


class Grade(Enum):
    """Severity."""

    FINE = "fine"
    NOTE = "note"
    """Something is unavailable here, which is acceptable."""
    BAD = "bad"
    """Captures lack data that they could have, or nothing works; the remedy fixes it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One subject: its state, the consequence ("" if none), and a command or setting that changes it."""

    subject: str
    grade: Grade
    says: str
    costs: str = ""
    remedy: str = ""


def exit_status(findings: Iterable[Finding]) -> int:
    """1 if anything is bad."""
    return int(any(finding.grade is Grade.BAD for finding in findings))


def as_json(findings: Sequence[Finding]) -> str:
    """A list of objects with the fields of `Finding`."""
    rows = [
        {
            "subject": finding.subject,
            "grade": finding.grade.value,
            "says": finding.says,
            "costs": finding.costs,
            "remedy": finding.remedy,
        }
        for finding in findings
    ]
    return json.dumps(rows, indent=2, ensure_ascii=False)


def as_text(findings: Sequence[Finding]) -> str:
    """Text for a terminal: one line each, and below a problem its consequence and fix."""
    width = max((len(finding.subject) for finding in findings), default=0)
    lines = []
    for finding in findings:
        lines.append(f"{finding.grade.value:4}  {finding.subject:{width}}  {finding.says}")
        for label, text in (("costs", finding.costs), ("fix", finding.remedy)):
            if text:
                lines += textwrap.wrap(
                    text,
                    _WIDTH,
                    initial_indent=f"{'':{width + 8}}{label}: ",
                    subsequent_indent=f"{'':{width + 10}}",
                    break_long_words=False,
                    break_on_hyphens=False,
                )
    bad = sum(finding.grade is Grade.BAD for finding in findings)
    notes = sum(finding.grade is Grade.NOTE for finding in findings)
    lines.append(f"{bad} bad, {notes} to note, {len(findings) - bad - notes} fine")
    return "\n".join(lines)
