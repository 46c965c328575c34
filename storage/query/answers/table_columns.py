"""A table as columns over its rows: for thousands of rows less than half as many bytes as a list of rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from storage.query.answers.answer import Answer
from storage.query.answers.columns import (
    IntervalColumns,
    TextColumn,
    interval_columns,
    rounded,
    text_column,
)
from storage.query.answers.figures import Interval
from storage.query.answers.selection_echo import SelectionEcho
from storage.query.answers.table import Remainder, TableAnswer, TableRow
from storage.query.answers.totals import Totals


@dataclass(frozen=True, slots=True)
class TableColumns(Answer):
    """Columns over the rows, in their order; `TableRow` describes the members."""

    key: Annotated[dict[str, TextColumn], Field(description="By member of the rows' keys.")]
    function_id: Annotated[
        tuple[int, ...] | None, Field(description="Null unless `by` contains function, and without rows.")
    ]
    self: Annotated[tuple[int, ...], Field(description="Units.")]
    total: Annotated[tuple[int, ...], Field(description="Units.")]
    self_samples: tuple[int | None, ...]
    total_samples: tuple[int | None, ...]
    self_share: Annotated[
        IntervalColumns, Field(description="The ends are null without a random design, as in total_share.")
    ]
    total_share: IntervalColumns
    self_core_seconds: Annotated[
        IntervalColumns | None,
        Field(description="Null for events not counted in time, without a random design and without rows."),
    ]
    total_core_seconds: IntervalColumns | None
    low_confidence: Annotated[
        tuple[int, ...], Field(description="Numbers of the rows, from 0, with low confidence.")
    ]
    visits: tuple[int | None, ...]
    machines: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class TableColumnsAnswer(Answer):
    """The samples of a selection, grouped; `TableAnswer` describes the members besides `columns`."""

    selection: SelectionEcho
    totals: Totals
    by: tuple[str, ...]
    columns: TableColumns
    rows_total: int
    remainder: Remainder


def table_columns(found: TableAnswer) -> TableColumnsAnswer:
    """The answer of a table with its rows as columns."""
    return TableColumnsAnswer(
        selection=found.selection,
        totals=found.totals,
        by=found.by,
        columns=_columns(found.rows),
        rows_total=found.rows_total,
        remainder=found.remainder,
    )


def _columns(rows: Sequence[TableRow]) -> TableColumns:
    names = dict.fromkeys(name for row in rows for name in row.key)
    ids = [row.function_id for row in rows if row.function_id is not None]
    return TableColumns(
        key={name: text_column(row.key.get(name, "") for row in rows) for name in names},
        function_id=tuple(ids) if ids else None,
        self=tuple(row.self for row in rows),
        total=tuple(row.total for row in rows),
        self_samples=tuple(row.self_samples for row in rows),
        total_samples=tuple(row.total_samples for row in rows),
        self_share=IntervalColumns(
            rounded(row.self_share for row in rows),
            rounded(row.self_lo for row in rows),
            rounded(row.self_hi for row in rows),
        ),
        total_share=IntervalColumns(
            rounded(row.total_share for row in rows),
            rounded(row.total_lo for row in rows),
            rounded(row.total_hi for row in rows),
        ),
        self_core_seconds=_intervals([row.self_core_seconds for row in rows]),
        total_core_seconds=_intervals([row.total_core_seconds for row in rows]),
        low_confidence=tuple(place for place, row in enumerate(rows) if row.low_confidence),
        visits=tuple(row.visits for row in rows),
        machines=tuple(row.machines for row in rows),
    )


def _intervals(intervals: Sequence[Interval | None]) -> IntervalColumns | None:
    """None if there is no interval."""
    return interval_columns(intervals) if any(each is not None for each in intervals) else None
