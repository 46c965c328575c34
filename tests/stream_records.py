"""Records of the data API, and what plain Python makes of them."""

from collections import Counter
from collections.abc import Iterable
from itertools import islice

from sqlalchemy import Engine

from fleetpb import data_pb2
from services.data_api.query_parameters import make_query
from services.data_api.streams import Streams
from storage.archive import Archive
from storage.data.cancellation import Stop
from storage.query.selections.selection import parse_selection

Record = data_pb2.ProfileRecord | data_pb2.CaptureRecord


def streams(engine: Engine, archive: str = "/nonexistent", **more) -> Streams:
    return Streams(engine, Archive(archive), **more)


def query(
    of: str, start: str, end: str, *, cursor: str = "", follow=False, only_matching=False, size=0, **selection
):
    parsed = parse_selection(start=start, end=end, **selection)
    return make_query(
        of, parsed, (start, end), cursor=cursor, follow=follow, only_matching=only_matching, record_bytes=size
    )


def profiles(
    found: Streams, start: str, end: str, stop: Stop | None = None, **more
) -> list[data_pb2.ProfileRecord]:
    return list(found.profiles(query("profiles", start, end, **more), stop or Stop()))


def captures(
    found: Streams, start: str, end: str, stop: Stop | None = None, **more
) -> list[data_pb2.CaptureRecord]:
    return list(found.captures(query("captures", start, end, **more), stop or Stop()))


def kinds(records: Iterable[Record]) -> list[str | None]:
    return [record.WhichOneof("content") for record in records]


def visits(records: Iterable[data_pb2.ProfileRecord]) -> list[data_pb2.VisitProfiles]:
    return [record.visit for record in records if record.HasField("visit")]


def stacks_of(visit: data_pb2.VisitProfiles) -> list[tuple[str, ...]]:
    """The functions of each stack, outermost first."""
    names = [visit.strings[i] for i in visit.functions.name]
    each = iter(visit.stacks.functions)
    return [tuple(names[i] for i in islice(each, length))[::-1] for length in visit.stacks.length]


def facts(visit: data_pb2.VisitProfiles) -> Counter[tuple[str, ...]]:
    """Units by stack, outermost first."""
    stacks, units = stacks_of(visit), Counter()
    for profile in visit.profiles:
        for stack, samples in zip(profile.stack, profile.samples, strict=True):
            units[stacks[stack]] += samples * profile.period
    return units


def labels(visit: data_pb2.VisitProfiles) -> list[dict[str, str]]:
    return [
        {visit.strings[k]: visit.strings[v] for k, v in zip(p.labels[::2], p.labels[1::2], strict=True)}
        for p in visit.profiles
    ]
