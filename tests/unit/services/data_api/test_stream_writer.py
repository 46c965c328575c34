"""GIVEN a stream's records WHEN they are sent by batches THEN rare ones do not wait for a batch to fill."""

import json
from collections.abc import Iterator

import pytest

from fleetpb import data_pb2
from services.data_api.content_coding import Plain
from services.data_api.framing import Framing
from services.data_api.stream_writer import LINGER_S, StreamWriter
from storage.data.cancellation import Stop

Record = data_pb2.ProfileRecord


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def batches(records: Iterator[Record], clock: Clock) -> Iterator[list[str]]:
    """The cursors of each batch behind the first record."""
    writer = StreamWriter(records, Record, Stop(), alone=False, clock=clock)
    writer.first(Framing.NDJSON, Plain())
    while (batch := writer.batch(Framing.NDJSON, Plain())) is not None:
        yield [json.loads(line)["cursor"] for line in batch.splitlines()]


@pytest.mark.parametrize(("every_s", "sizes"), [(0.0, [7]), (LINGER_S / 2, [2, 2, 2, 1]), (10.0, [1] * 7)])
def test_none_waits_long_for_others(every_s: float, sizes: list[int]):
    clock = Clock()

    def records() -> Iterator[Record]:
        for n in range(8):
            clock.now += every_s
            yield Record(cursor=str(n), visit=data_pb2.VisitProfiles())

    found = list(batches(records(), clock))
    assert [len(each) for each in found] == sizes
    assert [cursor for each in found for cursor in each] == [str(n) for n in range(1, 8)]


def test_progress_goes_at_once():
    def records() -> Iterator[Record]:
        yield Record(cursor="0")
        for n in range(1, 4):
            yield Record(cursor=f"{n}", visit=data_pb2.VisitProfiles())
            yield Record(cursor=f"{n}p", progress=data_pb2.StreamProgress())

    assert list(batches(records(), Clock())) == [[f"{n}", f"{n}p"] for n in range(1, 4)]
