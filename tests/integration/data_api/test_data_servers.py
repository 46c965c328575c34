"""GIVEN a running API WHEN data is streamed by gRPC or HTTP THEN both bring the same, to those who may."""

import gzip
import http.client
import json
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlencode

import grpc
import pytest
import zstandard
from sqlalchemy import Engine, text

from fleetpb import data_pb2, data_pb2_grpc
from services.data_api.stream_slots import FOLLOWING, STREAMS_OF_ONE
from tests.integration.data_api.conftest import HOUR, OPERATOR, OTHERS, VIEWER, Served, Store
from tests.polling import until

pytestmark = pytest.mark.integration

SELECTION = data_pb2.Selection(from_time=HOUR["from"], to_time=HOUR["to"])


def bearer(token: str):
    return (("authorization", f"Bearer {token}"),)


def test_both_ways_bring_the_same(served: Served, visit_ids):
    with grpc.insecure_channel(served.grpc) as channel:
        api = data_pb2_grpc.DataApiStub(channel)
        by_grpc = list(api.Profiles(data_pb2.ProfileQuery(selection=SELECTION), metadata=bearer(VIEWER)))
        raw = list(api.Captures(data_pb2.CaptureQuery(selection=SELECTION), metadata=bearer(OPERATOR)))
    assert [r.visit.visit.visit_id for r in by_grpc if r.HasField("visit")] == [str(id_) for id_ in visit_ids]

    request = urllib.request.Request(
        f"{served.http}/api/v1/data/profiles?{urlencode(HOUR)}", headers={"Authorization": f"Bearer {VIEWER}"}
    )
    with urllib.request.urlopen(request) as response:
        lines = [json.loads(line) for line in response]
    assert [line.get("visit", {}).get("visit", {}).get("visitId") for line in lines] == [
        r.visit.visit.visit_id or None for r in by_grpc
    ]
    assert len([r for r in raw if r.capture.capture]) == len(visit_ids)


def call(served: Served, query: data_pb2.ProfileQuery, token: str = VIEWER):
    channel = grpc.insecure_channel(served.grpc)
    return channel, data_pb2_grpc.DataApiStub(channel).Profiles(query, metadata=bearer(token))


def working(engine: Engine) -> int:
    """Connections of the data API that are in a transaction."""
    with engine.connect() as connection:
        return connection.scalar(
            text(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'fleetprof-data' "
                "AND datname = current_database() AND state <> 'idle'"
            )
        )


def test_who_proves_nothing_and_who_may_not(served: Served):
    def refused(token: str, of: str = "Profiles"):
        with grpc.insecure_channel(served.grpc) as channel:
            api = data_pb2_grpc.DataApiStub(channel)
            query = data_pb2.ProfileQuery() if of == "Profiles" else data_pb2.CaptureQuery()
            with pytest.raises(grpc.RpcError) as error:
                list(getattr(api, of)(query, metadata=bearer(token)))
        return error.value

    assert refused("").code() is grpc.StatusCode.UNAUTHENTICATED
    assert refused("w" * 24).code() is grpc.StatusCode.UNAUTHENTICATED
    denied = refused(VIEWER, "Captures")
    assert denied.code() is grpc.StatusCode.PERMISSION_DENIED
    assert dict(denied.trailing_metadata())["fleetprof-kind"] == "role"
    for path, status in (("profiles", 401), ("captures", 401)):
        assert get(served, path, "").code == status
    assert get(served, "captures", VIEWER).code == 403


def get(served: Served, path: str, token: str, headers: dict[str, str] | None = None, **parameters: str):
    request = urllib.request.Request(
        f"{served.http}/api/v1/data/{path}?{urlencode({**HOUR, **parameters})}",
        headers={"Authorization": f"Bearer {token}", **(headers or {})},
    )
    try:
        return urllib.request.urlopen(request, timeout=30)
    except urllib.error.HTTPError as error:
        return error


def test_what_is_wrong_is_said_alike(served: Served):
    with grpc.insecure_channel(served.grpc) as channel:
        query = data_pb2.ProfileQuery(selection=data_pb2.Selection(select='{a="x"'))
        with pytest.raises(grpc.RpcError) as error:
            list(data_pb2_grpc.DataApiStub(channel).Profiles(query, metadata=bearer(VIEWER)))
    document = json.load(get(served, "profiles", VIEWER, select='{a="x"'))
    said = dict(error.value.trailing_metadata())
    assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert error.value.details() == document["detail"]
    assert (document["at"], said["fleetprof-at"]) == (6, "6")
    assert get(served, "profiles", VIEWER, {"Accept": "text/csv"}).code == 406
    assert get(served, "profiles", VIEWER, cursor="broken").code == 400
    assert get(served, "profiles", VIEWER, max_record_bytes="1").code == 422
    assert get(served, "captures", OPERATOR, focus="x").code == 400


@pytest.mark.parametrize("coding", ["identity", "gzip", "zstd"])
def test_codings_are_those_that_are_accepted(served: Served, visit_ids, coding: str):
    response = get(served, "profiles", VIEWER, {"Accept-Encoding": coding})
    assert response.headers["Content-Encoding"] == coding
    body = response.read()
    if coding == "gzip":
        body = gzip.decompress(body)
    if coding == "zstd":
        body = zstandard.ZstdDecompressor().decompressobj().decompress(body)
    assert len(body.splitlines()) == len(visit_ids) + 2
    assert response.headers["Content-Type"].startswith("application/x-ndjson")


def test_a_caller_who_goes_frees_the_database_at_once(served: Served, store: Store, visit_ids):
    """A page waits for a lock that nobody gives back: only the cancelled statement ends that."""
    for way in ("grpc", "http"):
        with store.engine.connect() as holder, holder.begin():
            holder.execute(text("LOCK TABLE capture IN ACCESS EXCLUSIVE MODE"))
            if way == "grpc":
                channel, stream = call(served, data_pb2.ProfileQuery(selection=SELECTION))
                until(lambda: working(store.engine) == 1, "the page is read")
                stream.cancel()
                channel.close()
            else:
                caller = http.client.HTTPConnection(served.http.removeprefix("http://"), timeout=30)
                headers = {"Authorization": f"Bearer {VIEWER}"}
                caller.request("GET", f"/api/v1/data/profiles?{urlencode(HOUR)}", headers=headers)
                until(lambda: working(store.engine) == 1, "the page is read")
                caller.close()
            until(lambda: working(store.engine) == 0, "the statement is cancelled")


FOLLOWED = data_pb2.ProfileQuery(selection=data_pb2.Selection(from_time=HOUR["from"]), follow=True)


def refusal(served: Served, query: data_pb2.ProfileQuery, token: str) -> tuple[grpc.StatusCode, str]:
    """The status and the hint of a stream that gets no place."""
    channel, stream = call(served, query, token)
    with channel, pytest.raises(grpc.RpcError) as error:
        next(stream)
    said = dict(error.value.trailing_metadata())
    assert said["fleetprof-retry-after"] == "5"
    return error.value.code(), said["fleetprof-hint"]


@contextmanager
def followed(served: Served, tokens: list[str]) -> Iterator[list[grpc.Call]]:
    """A stream that follows for each, begun."""
    open_ = [call(served, FOLLOWED, token) for token in tokens]
    for _, stream in open_:
        assert next(stream).HasField("progress")
    try:
        yield [stream for _, stream in open_]
    finally:
        for channel, _ in open_:
            channel.close()


def test_one_caller_has_a_quarter_of_the_places_however_it_comes(served: Served, store: Store, visit_ids):
    with followed(served, [VIEWER] * (STREAMS_OF_ONE - 1)) as streams:
        by_http = get(served, "profiles", VIEWER, follow="true", to="now")
        assert by_http.code == 200
        until(lambda: working(store.engine) == 0, "nobody is in a transaction")
        code, hint = refusal(served, data_pb2.ProfileQuery(selection=SELECTION), VIEWER)
        assert (code, hint) == (
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            "End one of them, or retry when one has ended.",
        )
        refused = get(served, "profiles", VIEWER)
        document = json.load(refused)
        assert (refused.code, refused.headers["Retry-After"]) == (429, "5")
        assert document["detail"] == f"You have {STREAMS_OF_ONE} open streams, the limit for one caller."
        assert (document["type"].rpartition(":")[2], document["hint"]) == ("too-many-streams", hint)
        assert get(served, "profiles", OTHERS[0]).read()
        streams[0].cancel()
        until(lambda: get(served, "profiles", VIEWER).code == 200, "a place is free")
        by_http.close()


def test_streams_that_follow_leave_places_to_those_that_end(served: Served, visit_ids):
    callers = [VIEWER, *OTHERS]
    tokens = [callers[number % len(callers)] for number in range(FOLLOWING)]
    with followed(served, tokens):
        code, hint = refusal(served, FOLLOWED, OPERATOR)
        assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "without follow" in hint
        assert get(served, "profiles", OPERATOR, follow="true", to="now").code == 429
        asked = urllib.request.Request(
            f"{served.http}/metrics", headers={"Authorization": f"Bearer {VIEWER}"}
        )
        with urllib.request.urlopen(asked) as metrics:
            assert f"fleetprof_data_streams_open {FOLLOWING:.1f}" in metrics.read().decode()
        assert get(served, "profiles", OPERATOR).read()
        assert get(served, "profiles", VIEWER).read()


@pytest.mark.slow
def test_a_stream_that_is_followed_ends_with_the_server_and_says_so(own_served: Served):
    response = get(own_served, "profiles", VIEWER, follow="true", to="now")
    first = json.loads(response.readline())
    assert list(first["progress"]) == []
    own_served.process.send_signal(signal.SIGTERM)
    last = json.loads(response.read().splitlines()[-1])
    assert last["failure"]["kind"] == "ended"
    assert last["failure"]["passing"] is True
