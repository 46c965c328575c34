"""Group-by any k of the dimensions of a selection's samples: the query view (DIGEST G14, G15).

A key is made of labels, and of at most one kind of frame key: function, file or binary. A sample
counts once in a row's total however often the row's function (file, binary) stands in its stack,
so totals of rows are not additive, while self is: the rows and the remainder add up to the whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from storage.errors import BadSelection
from storage.query.arrays import Int64
from storage.query.cells.evidence import Merged
from storage.query.facts.scan import SampleType
from storage.query.reader import Reading
from storage.query.samples import Samples
from storage.query.selections.label_names import FRAME_KEYS
from storage.query.selections.selection import Selection
from storage.query.shapes.table_rows import APPLICATION, ApplicationRows, FrameRows, Grouping, LabelRows, Rows
from storage.query.shapes.totals import Totals, totals
from storage.query.weighing.estimates import Estimate, estimates

MOST_KEYS = 6
MOST_ROWS = 10_000
_MOST_GROUPS = 20_000
"""Combinations of labels of one table that also goes by frames."""
_NOT_NAMES = frozenset({"status", "kind"})
"""Members of a key that `find` does not look at."""


class Sort(StrEnum):
    """Order of the rows; ties stand by labels, then in an order that stays."""

    SELF = "self"
    SELF_DESC = "-self"
    TOTAL = "total"
    TOTAL_DESC = "-total"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Row:
    """One row; `self` and `total` in units of the sample type."""

    key: dict[str, str]
    function_id: int | None
    self: int
    total: int
    self_share: float
    """Estimate of its share of the whole selection, 0…1; without a random design the share observed."""
    total_share: float
    self_samples: int | None
    """None like the two below where merged cells do not know."""
    total_samples: int | None
    visits: int | None
    """Visits with a sample in the row's total."""
    machines: int | None
    """Distinct machines with a sample in the row's total."""
    own_estimate: Estimate | None
    """None like the one below: visits were not drawn at random."""
    total_estimate: Estimate | None


@dataclass(frozen=True, slots=True)
class Table:
    """The rows asked for, and what is not among them."""

    by: tuple[str, ...]
    rows: tuple[Row, ...]
    rows_total: int
    """Rows that match `find`."""
    remainder_rows: int
    """Rows of the whole selection that are not shown."""
    remainder_self: int
    remainder_share: float
    """Of the whole selection's estimate, like the rows' shares."""


@dataclass(frozen=True, slots=True)
class Page:
    """Which rows to show."""

    sort: Sort = Sort.SELF_DESC
    limit: int = 100
    offset: int = 0
    find: str = ""
    """Only rows with this in one of their names, whatever the case."""


@dataclass(frozen=True, slots=True)
class TableAnswer:
    """A table and what it was made of."""

    kind: SampleType
    totals: Totals
    table: Table


@dataclass(frozen=True, slots=True)
class TableQuestion:
    """The selection's samples, grouped by these keys."""

    selection: Selection
    by: tuple[str, ...] = ("function",)
    page: Page = Page()

    def answer(self, reading: Reading) -> TableAnswer:
        """The table. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        labels, frame = split_keys(self.by)
        samples = reading.samples(self.selection, labels, frame)
        found = tabulate(reading, samples, self.by, self.page)
        return TableAnswer(samples.kind, totals(reading.functions, samples), found)


def split_keys(by: Sequence[str]) -> tuple[tuple[str, ...], str | None]:
    """The labels among the keys, and the finest frame key. Raises `BadSelection`.

    A function has a file and a binary, so naming these beside it changes nothing.
    """
    if not by or len(by) > MOST_KEYS or len(set(by)) < len(by):
        raise BadSelection(
            f"`by` needs one to {MOST_KEYS} different keys.",
            hint="For example by=function or by=application,version.",
        )
    frames = [key for key in by if key in FRAME_KEYS]
    if set(frames) == {"file", "binary"}:
        raise BadSelection(
            "A table goes by file or by binary, not by both.", hint="Use by=function: it shows both."
        )
    labels = tuple(key for key in by if key not in FRAME_KEYS)
    return labels, min(frames, key=FRAME_KEYS.index, default=None)


def tabulate(reading: Reading, samples: Samples, by: Sequence[str], page: Page) -> Table:
    """The table of these samples, which were read with the labels among `by`."""
    rows = all_rows(reading, samples, by)
    order = _ordered(rows, page)
    shown = order[page.offset : page.offset + page.limit]
    whole = samples.whole
    return Table(
        by=tuple(by),
        rows=_rows(samples, rows, shown),
        rows_total=len(order),
        remainder_rows=len(rows.own) - len(shown),
        remainder_self=int(rows.own.sum()) - int(rows.own[shown].sum()),
        remainder_share=_share(float(rows.own_weight.sum()) - float(rows.own_weight[shown].sum()), whole),
    )


def all_rows(reading: Reading, samples: Samples, by: Sequence[str]) -> Rows:
    """All rows of the samples, which were read with the labels among `by`; not sorted, not cut."""
    labels, frame = split_keys(by)
    if isinstance(samples.evidence, Merged) and frame is None:
        applications = samples.evidence.rows.application
        return ApplicationRows(
            reading.label_values(APPLICATION, applications), samples.evidence, samples.seen
        )
    if isinstance(samples.evidence, Merged):
        grouping = Grouping(np.zeros(1, np.int64), ({},))
    else:
        grouping = _grouping(reading, samples, labels)
    if frame is None:
        return LabelRows(samples, grouping)
    if len(grouping.labels) > _MOST_GROUPS:
        raise BadSelection(
            f"The table would have {len(grouping.labels):,} groups of functions.",
            hint="Group by fewer labels, or add a matcher.",
        )
    return FrameRows(reading.functions, samples, grouping, frame)


def _rows(samples: Samples, rows: Rows, shown: Int64) -> tuple[Row, ...]:
    details = rows.details(shown)
    whole = samples.whole
    columns = zip(
        shown.tolist(),
        details.self_samples,
        details.total_samples,
        details.visits,
        details.machines,
        estimates(details.own, len(shown)),
        estimates(details.total, len(shown)),
        strict=True,
    )
    return tuple(
        Row(
            key=rows.key(place),
            function_id=rows.function_id(place),
            self=int(rows.own[place]),
            total=int(rows.total[place]),
            self_share=_share(float(rows.own_weight[place]), whole),
            total_share=_share(float(rows.total_weight[place]), whole),
            self_samples=self_samples,
            total_samples=total_samples,
            visits=visits,
            machines=machines,
            own_estimate=own,
            total_estimate=total,
        )
        for place, self_samples, total_samples, visits, machines, own, total in columns
    )


def _share(part: float, whole: float) -> float:
    return min(max(part / whole, 0.0), 1.0) if whole > 0 else 0.0


def _grouping(reading: Reading, samples: Samples, labels: tuple[str, ...]) -> Grouping:
    """The profiles by the values of labels; equal values are one group whatever their stored ids."""
    profiles = samples.profiles
    if not labels:
        return Grouping(np.zeros(len(profiles), np.int64), ({},))
    columns = [reading.label_values(label, profiles.label(label)) for label in labels]
    values = list(zip(*columns, strict=True))
    numbers = {combination: number for number, combination in enumerate(sorted(set(values)))}
    of = np.fromiter((numbers[combination] for combination in values), np.int64, len(values))
    return Grouping(of, tuple(dict(zip(labels, combination, strict=True)) for combination in numbers))


def _ordered(rows: Rows, page: Page) -> Int64:
    """Places of the rows that match `find`, in the page's order."""
    places = np.arange(len(rows.own))
    if page.find or page.sort is Sort.NAME:
        names = [
            tuple(text for name, text in rows.key(place).items() if name not in _NOT_NAMES)
            for place in places.tolist()
        ]
        sought = page.find.casefold()
        if page.sort is Sort.NAME:
            places = np.array(sorted(places.tolist(), key=names.__getitem__), np.int64)
        found = [any(sought in text.casefold() for text in names[place]) for place in places.tolist()]
        places = places[np.array(found, np.bool_)]
    if page.sort is Sort.NAME:
        return places
    measure = rows.own_weight if page.sort in {Sort.SELF, Sort.SELF_DESC} else rows.total_weight
    sign = -1 if page.sort in {Sort.SELF_DESC, Sort.TOTAL_DESC} else 1
    # Rounded: sums of equal units in another order differ in their last digits, and would not tie.
    rounded = np.round(measure[places] / max(float(measure.max(initial=0.0)), 1e-300), 12)
    return places[np.argsort(sign * rounded, kind="stable")]
