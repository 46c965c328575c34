"""GIVEN a stream that breaks off anywhere WHEN it is gone on with THEN every record has come once."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from services.data_api.errors import BadCursor
from storage.archive import Archive
from storage.data import visit_page, visit_stream
from storage.data.cancellation import Stop
from tests.integration.data_api.conftest import NOON, bring
from tests.integration.test_query_estimates import a_visit, ingest
from tests.stream_records import captures, kinds, profiles, query, streams

pytestmark = pytest.mark.integration

START, END = "2026-11-18T22:00:00Z", "2026-11-19T02:00:00Z"
DAY = "2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z"


def without_cursor(record):
    """What a record says besides where it stands; the end says when, too."""
    copy = type(record)()
    copy.CopyFrom(record)
    copy.ClearField("cursor")
    copy.progress.ClearField("follow_cursor") if copy.HasField("progress") else None
    return copy.SerializeToString(deterministic=True)


@settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.generate],
)
@given(
    drawn=st.lists(a_visit, min_size=1, max_size=12),
    cuts=st.lists(st.integers(1, 5), max_size=8),
    pages=st.tuples(st.integers(1, 4), st.sampled_from([1, 5, 1000])),
)
def test_whatever_is_cut_off_comes_once(engine: Engine, monkeypatch, drawn, cuts, pages):
    """Each part begins behind the last record of the one before; pages are of a few visits."""
    campaign = uuid4().hex
    ingest(engine, drawn, campaign)
    whole = profiles(streams(engine), START, END, campaign=campaign)
    monkeypatch.setattr(visit_stream, "PAGE_VISITS", pages[0])
    monkeypatch.setattr(visit_page, "MOST_FACTS", pages[1])
    found, cursor = [], ""
    for cut in [*cuts, 10_000]:
        part = iter(
            streams(engine).profiles(query("profiles", START, END, cursor=cursor, campaign=campaign), Stop())
        )
        for record, _ in zip(part, range(cut), strict=False):
            found.append(record)
            cursor = record.cursor
        if found[-1].progress.done:
            break
    assert list(map(without_cursor, found)) == list(map(without_cursor, whole))


def test_behind_every_record_the_rest_follows(engine: Engine, archive: Archive):
    bring(engine, archive, [1, 1, 2, 700])
    made = streams(engine, archive.url)
    for ask in (profiles, captures):
        whole = ask(made, *DAY)
        for n, record in enumerate(whole):
            rest = ask(made, *DAY, cursor=record.cursor)
            expected = whole[n + 1 :] or whole[-1:]  # the end comes again: nothing else does
            assert list(map(without_cursor, rest)) == list(map(without_cursor, expected))


def test_the_times_are_those_of_the_beginning(engine: Engine, archive: Archive):
    recent = datetime.now(UTC) - timedelta(minutes=30)
    ingest_at(engine, archive, recent)
    first = profiles(streams(engine), "now-31m", "now")
    assert kinds(first) == ["visit", "design", "progress"]
    profiles(streams(engine), "now-31m", "now", cursor=first[0].cursor)
    with pytest.raises(BadCursor, match="to another query"):
        profiles(streams(engine), "now-32m", "now", cursor=first[0].cursor)
    with pytest.raises(BadCursor, match="to another query"):
        profiles(streams(engine), "now-31m", "now", cursor=first[0].cursor, select='{application="x"}')
    with pytest.raises(BadCursor, match="of profiles"):
        captures(streams(engine), "now-31m", "now", cursor=first[0].cursor)


def ingest_at(engine: Engine, archive: Archive, moment: datetime) -> None:
    minutes = (moment - NOON).total_seconds() / 60
    bring(engine, archive, [minutes])
