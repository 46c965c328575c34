"""GIVEN a server that breaks off WHEN a stream is read THEN each record comes once, or the program is told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetpb import data_pb2
from services.client.errors import Broken, Refused
from services.client.resumable_stream import RETRIES, ResumableStream


class Server:
    """Has records 0…n−1; breaks off behind so many of them, each time it is asked."""

    def __init__(self, records: int, breaks: list[int], *, politely: bool = False) -> None:
        self.records, self.breaks, self.politely = records, breaks, politely
        self.asked: list[str] = []

    def __call__(self, cursor: str):
        self.asked.append(cursor)
        left = self.breaks.pop(0) if self.breaks else self.records
        for n in range(int(cursor or -1) + 1, self.records):
            if not left:
                if self.politely:
                    return
                raise Broken("gone")
            left -= 1
            yield data_pb2.ProfileRecord(cursor=str(n), visit=data_pb2.VisitProfiles(generation=n))
        yield data_pb2.ProfileRecord(
            cursor=str(self.records - 1), progress=data_pb2.StreamProgress(done=True, waiting=3)
        )


def read(server, **more):
    rests: list[float] = []
    stream = ResumableStream(server, sleep=rests.append, **more)
    return [record.visit.generation for record in stream], rests, stream


@given(st.integers(0, 12), st.lists(st.integers(1, 4), max_size=12), st.booleans())
def test_each_record_comes_once(records: int, breaks: list[int], politely: bool):
    found, _, stream = read(Server(records, breaks, politely=politely))
    assert found == list(range(records))
    assert stream.progress.waiting == 3


def test_it_waits_longer_each_time_and_gives_up():
    server = Server(3, [0] * 100)
    with pytest.raises(Broken, match="gone"):
        read(server)
    assert len(server.asked) == RETRIES + 1
    rests = []
    with pytest.raises(Broken):
        list(ResumableStream(Server(3, [0] * 100), sleep=rests.append))
    assert all(0.25 * 2**n <= rest <= 0.5 * 2**n for n, rest in enumerate(rests[:6]))
    assert max(rests) <= 30


def test_a_record_between_them_begins_the_count_anew():
    found, rests, _ = read(Server(20, [1] * 20))
    assert found == list(range(20))
    assert len(rests) > RETRIES
    assert max(rests) <= 0.5


def test_what_is_refused_is_not_tried_again():
    def refusing(cursor: str):
        raise Refused("no", hint="change it")
        yield

    with pytest.raises(Refused, match="no change it"):
        read(refusing)


def test_the_cursor_is_behind_what_was_given_out():
    stream = ResumableStream(Server(5, []))
    records = iter(stream)
    assert [next(records).cursor, stream.cursor] == ["0", "0"]
    rest, _, _ = read(Server(5, []), cursor=stream.cursor)
    assert rest == [1, 2, 3, 4]


def test_progress_that_gets_nowhere_is_no_success():
    def begin(cursor: str):
        yield data_pb2.CaptureRecord(cursor="c", progress=data_pb2.StreamProgress())
        raise Broken("archive")

    rests: list[float] = []
    with pytest.raises(Broken, match="archive"):
        list(ResumableStream(begin, "c", sleep=rests.append))
    assert len(rests) == RETRIES


def test_progress_that_gets_on_is():
    at = 0

    def begin(cursor: str):
        nonlocal at
        at += 1
        yield data_pb2.CaptureRecord(cursor=str(at), progress=data_pb2.StreamProgress(done=at == 3 * RETRIES))
        raise Broken("cut")

    assert list(ResumableStream(begin, sleep=lambda _: None)) == []


def test_it_waits_as_long_as_the_server_wants():
    def begin(cursor: str):
        raise Broken("full", hint="Come again.", after_s=45.0)
        yield

    rests: list[float] = []
    with pytest.raises(Broken, match="full Come again"):
        list(ResumableStream(begin, retries=2, sleep=rests.append))
    assert rests == [45.0, 45.0]
