"""Streams as programs read them: visits with their profiles, and captures."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy.typing as npt

from fleetpb import data_pb2
from services.client.capture import Capture
from services.client.fact_columns import Facts
from services.client.resumable_stream import ResumableStream
from services.client.visit import Visit


class ProfileStream:
    """The visits of a selection, in the order of their draws; go through it once.

    Memory is that of one visit. `to_numpy`, `to_pandas` and `to_arrow` read all that is left and hold it.
    """

    def __init__(self, records: ResumableStream[data_pb2.ProfileRecord]) -> None:
        self._records = records
        self.designs: dict[str, data_pb2.DayDesign] = {}
        """By UTC day that is over: what its weights were made of."""

    def __iter__(self) -> Iterator[Visit]:
        """Raises `Refused`, `Broken`."""
        for record in self._records:
            if record.HasField("design"):
                self.designs[record.design.day] = record.design
            elif record.HasField("visit"):
                yield Visit(record.visit)

    @property
    def cursor(self) -> str:
        """Goes on behind the visit that was given out last."""
        return self._records.cursor

    @property
    def complete_until(self) -> datetime | None:
        """What was drawn before is all there; None: the stream is not over."""
        return complete_until(self._records.progress)

    @property
    def follow_cursor(self) -> str:
        """For `follow=True`: brings what ingested since this stream began. Empty: it is not over."""
        return "" if self._records.progress is None else self._records.progress.follow_cursor

    def weight_of(self, visit: Visit) -> float:
        """The visit's weight by the design that closed its day, if another one than it came with.

        That happens where a stream broke off, and something ingested before it went on.
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


class CaptureStream:
    """The raw captures of a selection; go through it once."""

    def __init__(self, records: ResumableStream[data_pb2.CaptureRecord]) -> None:
        self._records = records

    def __iter__(self) -> Iterator[Capture]:
        """Raises `Refused`, `Broken`."""
        for record in self._records:
            if record.HasField("capture"):
                yield Capture(record.capture)

    @property
    def cursor(self) -> str:
        """Goes on behind the capture that was given out last."""
        return self._records.cursor

    @property
    def complete_until(self) -> datetime | None:
        """What was drawn before is all there; None: the stream is not over."""
        return complete_until(self._records.progress)

    @property
    def follow_cursor(self) -> str:
        """For `follow=True`: brings what was archived since this stream began. Empty: it is not over."""
        return "" if self._records.progress is None else self._records.progress.follow_cursor

    def save(self, folder: Path) -> int:
        """Write every capture that is left as FOLDER/VISIT_ID.cap.zst; the number of them."""
        folder.mkdir(parents=True, exist_ok=True)
        saved = 0
        for capture in self:
            if capture.is_there:
                (folder / f"{capture.id}.cap.zst").write_bytes(capture.blob)
                saved += 1
        return saved


def complete_until(progress: data_pb2.StreamProgress | None) -> datetime | None:
    """What a stream's end says of its completeness."""
    if progress is None or not progress.done:
        return None
    return progress.complete_until.ToDatetime(UTC)
