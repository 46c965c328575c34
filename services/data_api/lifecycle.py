"""The data API's connections and threads in the API process, and their shutdown."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import structlog
import uvicorn

from services.api.auth import Access
from services.certificates.served_pair import ServedPair
from services.data_api.grpc_server import DataListen, DataServer
from services.data_api.stream_service import StreamService
from services.data_api.streams import Streams
from storage.archive import Archive
from storage.data.snapshots import AT_ONCE
from storage.database import open_engine

_LOOK_S = 10.0
_TICKS_A_SECOND = 10
"""Ticks of uvicorn's loop."""

log = structlog.get_logger("fleetprof.data")


def open_stream_service(database_url: str, archive: Archive) -> StreamService:
    """A stream service over this database; it connects on first use. The caller closes it."""
    engine = open_engine(database_url, application="data", pool_size=AT_ONCE)
    return StreamService(Streams(engine, archive), close=engine.dispose)


@contextmanager
def serve_streams(service: StreamService, listen: DataListen | None, access: Access) -> Iterator[None]:
    """Serve by gRPC, if there is an address, and end unread and old streams. On exit all streams end."""
    server = None if listen is None else DataServer(listen, service, access)
    ending = threading.Event()

    def keep_watch() -> None:
        while not ending.wait(_LOOK_S):
            if unread := service.slots.end_unread():
                log.warning("streams cut because the client did not read", streams=len(unread))
            service.slots.end_old(service.longest_s)

    watch = threading.Thread(target=keep_watch, name="data-watch", daemon=True)
    watch.start()
    if server is not None:
        server.start()
    try:
        yield
    finally:
        ending.set()
        service.slots.end_all()
        if server is not None:
            server.stop()
        watch.join()


class EndingStreams(uvicorn.Server):
    """A server that ends streams before it waits for requests to finish: some streams never end by themselves.

    It presents the current content of the TLS files to new connections.
    """

    def __init__(
        self, config: uvicorn.Config, service: StreamService, pair: ServedPair | None = None
    ) -> None:
        """`pair`: the TLS certificate and key; None: no TLS."""
        super().__init__(config)
        self._service = service
        self._pair = pair

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Handle a signal to stop."""
        # In a thread: ending takes locks that this one may hold.
        threading.Thread(target=self._service.slots.end_all).start()
        super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        """Runs ten times a second; True: the server shall stop."""
        if counter % _TICKS_A_SECOND == 0:
            self.reload()
        return await super().on_tick(counter)

    def reload(self) -> None:
        """Load the TLS files if they have changed and are a pair."""
        if self._pair is None or self.config.ssl is None:
            return
        try:
            if self._pair.show_changed(self.config.ssl):
                log.info("certificates reloaded")
        except (OSError, ValueError) as error:
            log.warning("certificates not reloaded", why=str(error))
