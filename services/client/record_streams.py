"""Streams for programs: visits with their profiles, and captures."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy.typing as npt

from fleetpb import data_pb2
from services.client.capture import Capture
from services.client.fact_columns import Facts
from services.client.resumable_stream import ResumableStream
from services.client.visit import Visit

_Record = TypeVar("_Record", data_pb2.ProfileRecord, data_pb2.CaptureRecord)


class _Stream(Generic[_Record]):
    """A stream of records that can be iterated once."""

    def __init__(self, records: ResumableStream[_Record]) -> None:
        self._records: ResumableStream[_Record] = records

    @property
    def cursor(self) -> str:
        """Position after the last visit or capture returned."""
        return self._records.cursor

    @property
    def complete_until(self) -> datetime | None:
        """All visits or captures drawn before this time were streamed; None: the stream has not ended."""
        return complete_until(self._records.progress)

    @property
    def follow_cursor(self) -> str:
        """For `follow=True`: streams the visits ingested, or captures archived, since this stream began.

        Empty: the stream has not ended.
        """
        return "" if self._records.progress is None else self._records.progress.follow_cursor


class ProfileStream(_Stream[data_pb2.ProfileRecord]):
    """The visits of a selection, in the order of their draws. It can be iterated once.

    Iteration holds one visit in memory. `to_numpy`, `to_pandas` and `to_arrow` read and hold all remaining visits.
    """

    def __init__(self, records: ResumableStream[data_pb2.ProfileRecord]) -> None:
        super().__init__(records)
        self.designs: dict[str, data_pb2.DayDesign] = {}
        """The design behind a day's weights, by UTC day; only of days that the stream has completed."""

    def __iter__(self) -> Iterator[Visit]:
        """The remaining visits. Raises `Refused`, `Broken`."""
        for record in self._records:
            if record.HasField("design"):
                self.designs[record.design.day] = record.design
            elif record.HasField("visit"):
                yield Visit(record.visit)

    def weight_of(self, visit: Visit) -> float:
        """The visit's weight by the design that closed its day, which may differ from the design that it came with.

        They differ if the stream broke and captures were ingested before it resumed.
        """
        design = self.designs.get(visit.message.visit.day)
        if design is None or visit.message.design in {0, design.design} or visit.message.weight == 0:
            return visit.weight
        key = (visit.message.visit.stratum, visit.message.utilisation_class)
        weights = {(cell.stratum, cell.utilisation_class): cell.weight for cell in design.cells}
        weight = weights.get(key, 0.0)
        if visit.message.gauge:
            weighed = sum(each.covered_seconds for each in self.designs.values() if each.visits)
            weight *= visit.message.watched_seconds / weighed if weighed else 0.0
        return weight

    def to_numpy(self) -> dict[str, npt.NDArray[Any]]:
        """All facts as columns; see `services.client.fact_columns.Facts`."""
        return self._facts().to_numpy()

    def to_pandas(self) -> Any:
        """All facts as a pandas.DataFrame; see `Facts`. Raises `NeedsPackage`."""
        return self._facts().to_pandas()

    def to_arrow(self) -> Any:
        """All facts as a pyarrow.Table; see `Facts`. Raises `NeedsPackage`."""
        return self._facts().to_arrow()

    def _facts(self) -> Facts:
        visits = list(self)
        facts = Facts()
        for visit in visits:
            facts.add(visit, self.weight_of(visit))
        return facts


class CaptureStream(_Stream[data_pb2.CaptureRecord]):
    """The raw captures of a selection. It can be iterated once."""

    def __iter__(self) -> Iterator[Capture]:
        """The remaining captures. Raises `Refused`, `Broken`."""
        for record in self._records:
            if record.HasField("capture"):
                yield Capture(record.capture)

    def save(self, folder: Path) -> int:
        """Write every remaining capture to FOLDER/VISIT_ID.cap.zst; returns their number."""
        folder.mkdir(parents=True, exist_ok=True)
        saved = 0
        for capture in self:
            if capture.is_there:
                (folder / f"{capture.id}.cap.zst").write_bytes(capture.blob)
                saved += 1
        return saved


def complete_until(progress: data_pb2.StreamProgress | None) -> datetime | None:
    """The time up to which an ended stream is complete; None: it has not ended."""
    if progress is None or not progress.done:
        return None
    return progress.complete_until.ToDatetime(UTC)
