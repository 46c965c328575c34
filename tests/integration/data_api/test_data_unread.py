"""GIVEN callers that keep their streams open and read nothing WHEN their time is over THEN their slots are for others."""

import http.client
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest
from fastapi import FastAPI

from fleetpb import data_pb2, data_pb2_grpc
from services.data_api.grpc_server import DataListen, DataServer
from services.data_api.http_routes import data_router
from services.data_api.stream_service import StreamService
from services.data_api.stream_slots import STREAMS, StreamSlots
from services.data_api.streams import Streams
from storage.data.cancellation import Stop
from tests.access_records import access_of
from tests.polling import until
from tests.threaded_server import listening

pytestmark = pytest.mark.integration
TOKEN = "v" * 24


class Endless(Streams):
    """Records that no buffer of a connection has room for, without a store."""

    def __init__(self) -> None:
        """Nothing is asked."""

    def profiles(self, query: object, stop: Stop) -> Iterator[data_pb2.ProfileRecord]:
        while True:  # sees no stop, like every stream while its record waits to be taken
            yield data_pb2.ProfileRecord(cursor=os.urandom(500_000).hex())


@contextmanager
def by_grpc(service: StreamService, folder: Path) -> Iterator[Callable[[], Callable[[], object]]]:
    server = DataServer(DataListen(f"unix:{folder}/s"), service, access_of(folder))
    server.start()
    channels = []

    def begin() -> Callable[[], object]:
        # Streams of one connection would share its window.
        channels.append(grpc.insecure_channel(f"unix:{folder}/s", (("grpc.use_local_subchannel_pool", 1),)))
        stream = data_pb2_grpc.DataApiStub(channels[-1]).Profiles(data_pb2.ProfileQuery())
        return lambda: next(stream)

    try:
        yield begin
    finally:
        for channel in channels:
            channel.close()
        server.stop()


@contextmanager
def by_http(service: StreamService, folder: Path) -> Iterator[Callable[[], Callable[[], object]]]:
    app = FastAPI()
    app.include_router(data_router(service, access_of(folder, [f"viewer:{TOKEN}"])))
    connections = []

    def begin() -> Callable[[], object]:
        connections.append(http.client.HTTPConnection("127.0.0.1", port, timeout=60))
        connections[-1].request("GET", "/api/v1/data/profiles", headers={"Authorization": f"Bearer {TOKEN}"})
        response = connections[-1].getresponse()
        if response.status != 200:
            raise OSError(response.read())
        return lambda: response.read(1)

    with listening(app) as port:
        try:
            yield begin
        finally:
            for connection in connections:
                connection.close()
            service.slots.end_all()


@pytest.mark.slow
@pytest.mark.parametrize("serving", [by_grpc, by_http])
@pytest.mark.parametrize("bound", ["unread", "old"])
def test_paused_readers_do_not_lock_others_out(serving, bound: str, tmp_path: Path):
    service = StreamService(Endless(), StreamSlots(of_one=STREAMS + 1))
    with serving(service, tmp_path) as begin:
        paused = [begin() for _ in range(STREAMS)]
        for read in paused:
            read()
        with pytest.raises((grpc.RpcError, OSError)) as refused:
            begin()()
        assert "16 streams are open" in str(refused.value)

        def all_ended() -> bool:
            # Paused before, so what is offered from now on is never taken.
            if bound == "unread":
                service.slots.end_unread(unread_s=0.2)
            else:
                service.slots.end_old(0.0, overtime_s=0.2)
            return service.slots.open == 0

        until(all_ended, "the slots are free", seconds=30)
        assert begin()(), "there is a place again"
