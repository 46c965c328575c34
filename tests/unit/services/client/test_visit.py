"""GIVEN a record WHEN a program reads it THEN its columns are what the record says."""

import numpy as np
import pytest

from fleetpb import data_pb2
from services.client import ClientError, Visit, connect
from services.client.record_streams import ProfileStream
from services.client.resumable_stream import ResumableStream


def record(visit_id="v1", *, weight=2.0, design=1, generation=1) -> data_pb2.VisitProfiles:
    made = data_pb2.VisitProfiles(
        status=data_pb2.RECORD_OK,
        generation=generation,
        event="cpu",
        weight=weight,
        design=design,
        utilisation_class=2,
        strings=["", "main", "m.c", "prog", "memcpy", "libc.so", "application", "web"],
    )
    made.visit.visit_id, made.visit.machine, made.visit.day, made.visit.stratum = (
        visit_id,
        "m1",
        "2026-11-20",
        7,
    )
    made.visit.drawn_at.FromJsonString("2026-11-20T12:00:00.5Z")
    made.functions.name.extend([1, 4])
    made.functions.file.extend([2, 0])
    made.functions.binary.extend([3, 5])
    made.functions.kind.extend([data_pb2.VisitProfiles.USER] * 2)
    made.functions.symbols.extend([data_pb2.VisitProfiles.FULL, data_pb2.VisitProfiles.SYMTAB])
    made.stacks.functions.extend([1, 0, 0])
    made.stacks.length.extend([2, 1])
    made.profiles.add(segment=1, period=10, labels=[6, 7], stack=[0, 1], samples=[3, 4])
    made.profiles.add(segment=2, period=1, stack=[1], samples=[5])
    return made


def test_stacks_and_functions():
    visit = Visit(record())
    assert visit.stacks == ((1, 0), (0,))
    assert [(f.name, f.file, f.binary, f.symbols) for f in visit.functions] == [
        ("main", "m.c", "prog", "full"),
        ("memcpy", "", "libc.so", "symtab"),
    ]
    assert [profile.units for profile in visit.profiles] == [70, 5]
    assert (visit.units, visit.status, visit.day.isoformat()) == (75, "ok", "2026-11-20")


def test_columns():
    columns = Visit(record()).to_numpy()
    assert columns["function"].tolist() == ["memcpy", "main", "main"]
    assert columns["file"].tolist() == ["", "m.c", "m.c"]
    assert columns["stack"].tolist() == [("memcpy", "main"), ("main",), ("main",)]
    assert columns["units"].tolist() == [30, 40, 5]
    assert columns["estimate"].tolist() == [60.0, 80.0, 10.0]
    assert columns["label.application"].tolist() == ["web", "web", ""]
    assert columns["drawn_at"].tolist() == [np.datetime64("2026-11-20T12:00:00.5", "us").item()] * 3
    assert {len(column) for column in columns.values()} == {3}


def test_nothing_has_columns_too():
    empty = Visit(data_pb2.VisitProfiles(visit=data_pb2.VisitInfo(day="2026-11-20")))
    for columns in (empty.to_numpy(), ProfileStream(ResumableStream(lambda _: iter([end()]))).to_numpy()):
        assert {len(column) for column in columns.values()} == {0}
        assert columns["units"].dtype == np.int64
        assert columns["drawn_at"].dtype == np.dtype("datetime64[us]")


def test_frames_and_tables_are_the_same_columns():
    visit = Visit(record())
    columns, frame, table = visit.to_numpy(), visit.to_pandas(), visit.to_arrow()
    assert list(frame.columns) == table.column_names == list(columns)
    assert frame["estimate"].tolist() == table["estimate"].to_pylist() == columns["estimate"].tolist()
    assert table["stack"].to_pylist() == [list(stack) for stack in columns["stack"]]
    assert table["function"].to_pylist() == columns["function"].tolist()


def end() -> data_pb2.ProfileRecord:
    return data_pb2.ProfileRecord(progress=data_pb2.StreamProgress(done=True))


def test_visits_are_weighed_by_the_design_that_closed_their_day():
    design = data_pb2.DayDesign(day="2026-11-20", design=2, covered_seconds=100, visits=2)
    design.cells.add(stratum=7, utilisation_class=2, weight=5.0)
    gauge = record("v3")
    gauge.gauge, gauge.watched_seconds = True, 10.0
    records = [
        data_pb2.ProfileRecord(visit=record("v1", weight=2.0, design=1)),
        data_pb2.ProfileRecord(visit=record("v2", weight=5.0, design=2)),
        data_pb2.ProfileRecord(visit=record("hand", weight=0.0, design=1)),
        data_pb2.ProfileRecord(visit=gauge),
        data_pb2.ProfileRecord(design=design),
        data_pb2.ProfileRecord(design=data_pb2.DayDesign(day="2026-11-21", design=3, covered_seconds=900)),
        end(),
    ]
    stream = ProfileStream(ResumableStream(lambda _: iter(records)))
    columns = stream.to_numpy()
    weights = dict(zip(columns["visit_id"].tolist(), columns["weight"].tolist(), strict=True))
    assert weights == {"v1": 5.0, "v2": 5.0, "hand": 0.0, "v3": 0.5}


@pytest.mark.parametrize("url", ["", "localhost:7070", "ftp://x", "grpc:", "file:///x"])
def test_other_urls_are_refused(url: str):
    with pytest.raises(ClientError, match="Invalid URL"):
        connect(url)


def test_a_part_that_no_selection_has_is_a_mistake():
    with (
        connect("http://127.0.0.1:1") as client,
        pytest.raises(TypeError, match="Unknown parts of a selection: since"),
    ):
        list(client.profiles(since="now-1h"))
