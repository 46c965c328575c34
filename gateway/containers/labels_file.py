"""The operator's labels file: names for containers, control groups and systemd units, one line each.

    # what      which                     labels
    container   3f2a9c11d0b4              application=search version=r7
    unit        nginx.service             team=web
    unit        "postgresql@*.service"    team=data
    cgroup      /slurm/uid_*/job_*        application=batch

A container is its id or at least its first 12 digits. Units and control groups may be patterns (fnmatch: * ? [seq]), in
which * also matches slashes; a control group's line applies to the groups below it too. All matching lines apply, later
ones override earlier ones. Words are quoted as in a shell. An invalid line is skipped with a warning.
"""

from __future__ import annotations

import fnmatch
import os
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gateway.containers.errors import BadLabelsFile
from gateway.containers.label_settings import LABEL_NAME
from gateway.errors import FileRefused
from gateway.process.untrusted_file import open_untrusted, read_opened

if TYPE_CHECKING:
    from pathlib import Path

    from gateway.containers.placement import Placement

MAX_BYTES: Final = 4 << 20
MAX_LINES: Final = 20_000
MAX_PATTERNS: Final = 1000
"""Lines with a pattern: each is matched with every control group."""
_MAX_DEPTH: Final = 64
MAX_LABELS: Final = 32
"""Limit for one line."""
MAX_VALUE: Final = 255
_ID: Final = re.compile(r"[0-9a-f]{12,64}(-[0-9]+)?")
_MAGIC: Final = re.compile(r"[*?\[]")
_SHORT: Final = 12
_MAX_WARNINGS: Final = 5

Labels = dict[str, str]
_Line = tuple[int, str, Labels]


@dataclass(frozen=True, slots=True)
class LabelsFile:
    """A parsed file. Each entry has its line number: later lines override earlier ones."""

    containers: dict[str, list[_Line]]
    """By the first 12 digits of the id."""
    exact: dict[tuple[str, str], list[_Line]]
    """By kind and name."""
    patterns: list[tuple[int, str, re.Pattern[str], Labels]]
    warnings: tuple[str, ...] = ()
    """Skipped lines as sentences; at most a few."""

    def labels(self, placement: Placement, path: str) -> Labels:
        """All labels for a control group's path and its placement."""
        fitting: list[tuple[int, Labels]] = []
        if placement.container:
            for number, start, labels in self.containers.get(placement.container[:_SHORT], ()):
                if placement.container.startswith(start):
                    fitting.append((number, labels))
        # A container chooses the names of its own units, possibly equal to the machine's.
        own = placement.unit and not (placement.container or placement.name)
        names = [("unit", placement.unit)] if own else []
        names += [("cgroup", above) for above in _itself_and_above(path)]
        for name in names:
            fitting += [(number, labels) for number, _, labels in self.exact.get(name, ())]
        for number, kind, pattern, labels in self.patterns:
            if any(kind == each and pattern.match(name) for each, name in names):
                fitting.append((number, labels))
        found: Labels = {}
        for _, labels in sorted(fitting, key=lambda line: line[0]):
            found |= labels
        return found


def parse_labels_file(text: str) -> LabelsFile:
    """Parse all lines; never raises."""
    containers: dict[str, list[_Line]] = {}
    exact: dict[tuple[str, str], list[_Line]] = {}
    patterns: list[tuple[int, str, re.Pattern[str], Labels]] = []
    warnings: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        if number > MAX_LINES:
            warnings.append(f"there are more than {MAX_LINES} lines; the rest was left out")
            break
        try:
            words = shlex.split(line, comments=True)
            if not words:
                continue
            kind, which, labels = _parse(words)
        except ValueError as error:
            warnings.append(f"line {number}: {error}")
            continue
        if kind == "container":
            containers.setdefault(which[:_SHORT], []).append((number, which, labels))
        elif _MAGIC.search(which):
            if len(patterns) == MAX_PATTERNS:
                warnings.append(f"line {number}: the limit of {MAX_PATTERNS} patterns is reached before it")
                continue
            patterns.append((number, kind, re.compile(fnmatch.translate(which)), labels))
        else:
            exact.setdefault((kind, which), []).append((number, which, labels))
    more = len(warnings) - _MAX_WARNINGS
    if more > 0:
        warnings = [*warnings[:_MAX_WARNINGS], f"and {more} more lines were left out"]
    return LabelsFile(containers, exact, patterns, tuple(warnings))


class LabelsFileReader:
    """Reads the labels file again when its inode, size or time of change differs."""

    def __init__(self, path: Path) -> None:
        """Nothing is read yet."""
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._file = parse_labels_file("")

    def current(self) -> LabelsFile:
        """The current file; raises BadLabelsFile if it is unreadable or too large."""
        try:
            descriptor = open_untrusted(self._path)
            try:
                status = os.fstat(descriptor)
                seen = (status.st_ino, status.st_size, status.st_mtime_ns)
                if seen != self._seen:
                    text = read_opened(descriptor, MAX_BYTES).decode("utf-8", "replace")
                    self._file = parse_labels_file(text)
                    self._seen = seen
            finally:
                os.close(descriptor)
        except (OSError, FileRefused) as error:
            self._seen = None
            why = error.strerror if isinstance(error, OSError) else error
            raise BadLabelsFile(f"cannot read {self._path}: {why}") from error
        return self._file


def _parse(words: list[str]) -> tuple[str, str, Labels]:
    """Kind, name, labels; raises ValueError with the reason."""
    kind, *rest = words
    if kind not in {"container", "unit", "cgroup"}:
        raise ValueError(f"unknown kind {kind[:40]!r}; kinds: container, unit, cgroup")
    if len(rest) < 2:
        raise ValueError(f"a {kind} and at least one KEY=VALUE must follow")
    which, *pairs = rest
    if kind == "container" and not _ID.fullmatch(which):
        raise ValueError("a container needs at least 12 hexadecimal digits of its id")
    if kind == "cgroup" and not which.startswith("/"):
        raise ValueError("a control group must begin with a slash")
    if len(pairs) > MAX_LABELS:
        raise ValueError(f"it has more than {MAX_LABELS} labels")
    labels = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not LABEL_NAME.fullmatch(key):
            raise ValueError(f"{pair[:40]!r} is not KEY=VALUE")
        if len(value) > MAX_VALUE or not value.isprintable():
            raise ValueError(f"the value of {key} is longer than {MAX_VALUE} characters or not printable")
        labels[key] = value
    return kind, which.rstrip("/") or "/", labels


def _itself_and_above(path: str) -> list[str]:
    """The path and all control groups above it, except the root."""
    parts = path.strip("/").split("/") if path.strip("/") else []
    return ["/" + "/".join(parts[:end]) for end in range(1, min(len(parts), _MAX_DEPTH) + 1)]
