"""Request rates from a file or from Prometheus, averaged over the steps of a report."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path

import numpy as np
import typer

from services.commands.reports.csv_fields import is_heading, mistake
from services.commands.reports.prometheus_rates import request_rates
from services.configuration.settings import read_settings
from storage.errors import BadSelection
from storage.query.selections.selection import Selection
from storage.query.shapes.steps import Steps

_MOST_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class RateSource:
    """Source of request rates: a file, or a query of a Prometheus server."""

    file: Path | None
    query: str
    server: str

    def means(self, selection: Selection, over: Steps) -> tuple[float | None, ...]:
        """Mean rate of each step; None without a rate. Raises `BadSelection`, `NoRates`."""
        if self.file is not None:
            return read_rates(self.file, over)
        times = selection.start.timestamp(), selection.end.timestamp()
        return means_of(request_rates(self.server, self.query, *times, over.step_s), over)


def rate_source(file: Path | None, query: str, options: tuple[str, str]) -> RateSource:
    """The source given by one of two options. Raises typer.BadParameter unless exactly one is given."""
    if (file is None) is (not query):
        raise typer.BadParameter(f"Give either {options[0]} or {options[1]}.", param_hint=", ".join(options))
    server = read_settings().prometheus_url
    if query and server is None:
        raise typer.BadParameter("Set FLEETPROF_PROMETHEUS_URL to query Prometheus.", param_hint=options[1])
    return RateSource(file, query, server or "")


def read_rates(path: Path, over: Steps) -> tuple[float | None, ...]:
    """Mean rate of each step; None without a rate in the file. Raises `BadSelection` for an invalid file."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise BadSelection(f"{path} is larger than {_MOST_BYTES >> 20} MiB: split it.", parameter="rates")
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadSelection(f"Cannot read {path}: {error}.", parameter="rates") from error
    return means(lines, over)


def means(lines: Iterable[str], over: Steps) -> tuple[float | None, ...]:
    """Mean rates from lines `time,rate`: RFC 3339 with a zone or seconds since 1970, and requests per second.

    A first line without a number is a heading. Raises `BadSelection` with the line and the column of an error.
    """
    points = []
    for number, fields in enumerate(csv.reader(lines), 1):
        if not fields:
            continue
        found = _point(fields)
        if found is None and is_heading(number, fields):
            continue
        if found is None:
            raise BadSelection(
                mistake(number, fields, "time and request rate", _wrong(fields)),
                hint="2026-11-21T10:00:00Z,812.5",
                parameter="rates",
            )
        points.append(found)
    return means_of(points, over)


def means_of(points: Iterable[tuple[float, float]], over: Steps) -> tuple[float | None, ...]:
    """Mean rates from times, seconds since 1970, and rates; only rates of at least 0 count."""
    sums, counts = np.zeros(over.count), np.zeros(over.count, np.int64)
    for time, rate in points:
        step = int((time - over.first_s) // over.step_s)
        if 0 <= step < over.count and isfinite(rate) and rate >= 0:
            sums[step] += rate
            counts[step] += 1
    return tuple(
        float(total / count) if count else None
        for total, count in zip(sums.tolist(), counts.tolist(), strict=True)
    )


def _point(fields: list[str]) -> tuple[float, float] | None:
    if len(fields) != 2:
        return None
    time, rate = _seconds(fields[0].strip()), _number(fields[1])
    return None if time is None or rate is None or rate < 0 else (time, rate)


def _wrong(fields: list[str]) -> int | None:
    """The first invalid of two fields, from 1; None unless there are two."""
    if len(fields) != 2:
        return None
    return 1 if _seconds(fields[0].strip()) is None else 2


def _seconds(text: str) -> float | None:
    number = _number(text)
    if number is not None:
        return number
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if time.tzinfo is None else time.astimezone(UTC).timestamp()


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None
