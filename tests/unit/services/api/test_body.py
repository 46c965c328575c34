"""GIVEN senders and servers that stall WHEN others ask THEN they are answered all the same."""

import threading
from http import HTTPStatus
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import pytest
from fastapi import FastAPI
from starlette.requests import Request
from starlette.types import Message, Receive

from services.api import body, problems
from services.api.body import body_as_file
from services.api.problems import Problem
from services.api.symbols import symbols_router
from services.symbols.errors import NoSuchSymbols, UnusableFile
from tests.access_records import access_of

TOKEN = "o" * 24
PIECE: Message = {"type": "http.request", "body": b"x", "more_body": True}
QUERIES = {"sources": "key=aa", "source": "binary=aa&path=a.c"}
WHOLE: Message = {"type": "http.request", "body": b"x", "more_body": False}


def scope(method: str, path: str, query: str = "") -> dict[str, Any]:
    return {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(b"authorization", f"Bearer {TOKEN}".encode())],
        "state": {"request_id": "1"},
    }


async def stalling() -> Message:
    await anyio.sleep_forever()
    raise AssertionError


def test_a_body_that_stops_coming_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "_LONGEST_SILENCE_S", 0.01)
    pieces = [PIECE]

    async def receive() -> Message:
        return pieces.pop() if pieces else await stalling()

    async def ask() -> None:
        async with body_as_file(Request(scope("POST", "/"), receive), tmp_path, limit=10):
            raise AssertionError

    with pytest.raises(Problem) as caught:
        anyio.run(ask)
    assert caught.value.status == HTTPStatus.REQUEST_TIMEOUT


class Service:
    """Takes nothing; has no source, which it finds out when it is let go on."""

    largest_bytes = 10

    def __init__(self) -> None:
        self.searching = anyio.Event()
        self.go_on = threading.Event()

    def add(self, *_: object, **__: object) -> None:
        raise UnusableFile("It is none.")

    add_sources = add

    def show(self, key: str) -> None:
        raise NoSuchSymbols(key)

    def source(self, key: str, _: str) -> None:
        anyio.from_thread.run_sync(self.searching.set)
        self.go_on.wait(10)
        raise NoSuchSymbols(key)


class Api:
    """The routes over a service; one query at a time."""

    def __init__(self, folder: Path, service: Service | None = None, **options: int) -> None:
        self.service = service or Service()
        self._app = FastAPI()
        problems.install(self._app)
        access = access_of(folder, [f"operator:{TOKEN}"])
        self._app.include_router(
            symbols_router(self.service, access, anyio.CapacityLimiter(1), folder, **options)  # type: ignore[arg-type]  # by its shape
        )

    async def ask(self, method: str, path: str, receive: Receive) -> int:
        """The status of the answer."""
        statuses: list[int] = []

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        await self._app(scope(method, f"/api/v1/{path}", QUERIES.get(path, "")), receive, send)
        return statuses[0]


def whole() -> Receive:
    """A body that came; its sender waits for the answer."""
    messages = [WHOLE]

    async def receive() -> Message:
        return messages.pop() if messages else await stalling()

    return receive


def test_stalled_senders_hold_up_no_upload(tmp_path: Path) -> None:
    async def run() -> list[int]:
        api = Api(tmp_path)
        stalled = anyio.Semaphore(0)

        async def stall() -> Message:
            stalled.release()
            return await stalling()

        async with anyio.create_task_group() as tasks:
            for path in ("symbols", "sources") * 4:
                tasks.start_soon(api.ask, "POST", path, stall)
            with anyio.fail_after(10):
                for _ in range(8):
                    await stalled.acquire()
                statuses = [await api.ask("POST", path, whole()) for path in ("symbols", "sources")]
            tasks.cancel_scope.cancel()
        return statuses

    assert anyio.run(run) == [422, 422]


def test_a_source_that_is_waited_for_holds_up_no_query(tmp_path: Path) -> None:
    async def run() -> int:
        api = Api(tmp_path)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(api.ask, "GET", "source", whole())
            try:
                with anyio.fail_after(10):
                    await api.service.searching.wait()
                    return await api.ask("GET", "symbols/aa", whole())
            finally:
                api.service.go_on.set()

    assert anyio.run(run) == 404


def test_no_more_uploads_are_looked_into_than_there_is_memory_for(tmp_path: Path) -> None:
    class Slow(Service):
        """Looks into uploads until all that may be looked into are."""

        def __init__(self) -> None:
            super().__init__()
            self.lock = threading.Lock()
            self.now = self.most = 0
            self.both = threading.Event()

        def add(self, *_: object, **__: object) -> None:
            with self.lock:
                self.now += 1
                self.most = max(self.most, self.now)
                if self.now == 2:
                    self.both.set()
            self.both.wait(10)
            with self.lock:
                self.now -= 1
            raise UnusableFile("It is none.")

    service = Slow()

    async def run() -> None:
        api = Api(tmp_path, service, inspections=2)
        async with anyio.create_task_group() as tasks:
            for _ in range(6):
                tasks.start_soon(api.ask, "POST", "symbols", whole())

    anyio.run(run)
    assert service.both.is_set()
    assert service.most == 2
