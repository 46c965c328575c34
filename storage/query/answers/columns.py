"""Columns of answers that JSON has as columns: estimates with their intervals, and texts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from storage.query.answers.answer import Answer
from storage.query.answers.figures import Interval


@dataclass(frozen=True, slots=True)
class IntervalColumns(Answer):
    """Estimates for the fleet with their 95 % intervals, to nine digits; null: there is none."""

    value: tuple[float | None, ...]
    lo: tuple[float | None, ...]
    hi: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class TextColumn(Answer):
    """A column of texts, each distinct text once."""

    texts: tuple[str, ...]
    index: Annotated[tuple[int, ...], Field(description="Places in `texts`.")]


def interval_columns(intervals: Sequence[Interval | None]) -> IntervalColumns:
    """The intervals as columns."""
    return IntervalColumns(
        value=rounded(None if each is None else each.value for each in intervals),
        lo=rounded(None if each is None else each.lo for each in intervals),
        hi=rounded(None if each is None else each.hi for each in intervals),
    )


def rounded(values: Iterable[float | None]) -> tuple[float | None, ...]:
    """To nine significant digits, half as many bytes as seventeen. The interval is a million times wider."""
    return tuple(None if value is None else float(f"{value:.9g}") for value in values)


def text_column(texts: Iterable[str]) -> TextColumn:
    """The texts as a column."""
    places: dict[str, int] = {}
    index = tuple(places.setdefault(text, len(places)) for text in texts)
    return TextColumn(tuple(places), index)
