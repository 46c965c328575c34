"""The answer of a selection over time, with its steps and points as rows.

CSV, Arrow and terminals have rows; JSON has columns (`series_columns`).
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from storage.query.answers.answer import Answer
from storage.query.answers.figures import Interval
from storage.query.answers.selection_echo import SelectionEcho
from storage.query.answers.totals import Totals

Role: TypeAlias = Literal["whole", "row", "remainder"]


@dataclass(frozen=True, slots=True)
class SeriesStep(Answer):
    """One interval of time; `SeriesSteps` describes the members."""

    start: str
    end: str
    partial: bool
    covered_seconds: float
    estimated_seconds: float
    visits_drawn: int
    visits_waiting: int
    too_few_ingested: bool


@dataclass(frozen=True, slots=True)
class PointRow(Answer):
    """The value of a line in one step; `SeriesPoints` describes the members.

    Where no visit of the step observed the selection, the estimates are 0 with an upper bound, and `share` is None. The
    estimates are None if the bound is not known, too few visits are ingested, or visits were not drawn at random.
    """

    start: str
    units: int
    seconds: float | None
    share: float | None
    lo: float | None
    hi: float | None
    core_seconds: Interval | None
    cores: Interval | None
    low_confidence: bool
    visits: int | None


@dataclass(frozen=True, slots=True)
class LineRows(Answer):
    """A line with its points as rows, one for each step."""

    role: Role
    key: dict[str, str]
    function_id: int | None
    points: tuple[PointRow, ...]


@dataclass(frozen=True, slots=True)
class SeriesRows(Answer):
    """A selection over time; `SeriesAnswer` describes the members."""

    selection: SelectionEcho
    totals: Totals
    by: tuple[str, ...]
    step_seconds: int
    seconds_per_unit: float | None
    steps: tuple[SeriesStep, ...]
    lines: tuple[LineRows, ...]
    lines_total: int

    @property
    def whole(self) -> tuple[PointRow, ...]:
        """The points of all of the selection after its filters."""
        return next(line.points for line in self.lines if line.role == "whole")

    @property
    def rows(self) -> tuple[LineRows, ...]:
        """The heaviest rows of the whole range, heaviest first."""
        return tuple(line for line in self.lines if line.role == "row")

    @property
    def remainder(self) -> tuple[PointRow, ...] | None:
        """The points of the whole minus the rows, exactly; None if a sample can be in several rows."""
        return next((line.points for line in self.lines if line.role == "remainder"), None)
