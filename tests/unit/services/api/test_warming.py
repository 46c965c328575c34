"""GIVEN answers that are kept WHEN somebody watches them, or will THEN they are asked for again before they are too old."""

from http import HTTPStatus
from typing import Any

import anyio
import pytest
import structlog
from fastapi import Request, Response
from starlette.middleware.gzip import GZipMiddleware

from services.api import warming as warming_module
from services.api.kept_answers import WARMED, KeptAnswers
from services.api.problems import of_storage
from services.api.warming import Warming
from storage.errors import DatabaseBusy, NotMigrated
from tests.asked_again import Clock, answer, problem, request


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def kept(clock: Clock) -> KeptAnswers:
    return KeptAnswers(100_000, fresh_s=10.0, clock=clock)


@pytest.fixture
def warming(kept: KeptAnswers) -> Warming:
    return Warming(kept)


@pytest.fixture
def rests(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that were waited between questions, none of which pass; more than ten are too many."""
    seconds: list[float] = []

    async def rest(of: float) -> None:
        seconds.append(of)
        assert len(seconds) < 10

    monkeypatch.setattr(warming_module.anyio, "sleep", rest)
    return seconds


def test_what_is_watched_is_asked_again_and_not_for_its_own_sake(
    kept: KeptAnswers, warming: Warming, clock: Clock
):
    kept.keep(request("seen once"), answer(), asked_at=100.0)
    kept.keep(request("watched"), answer(), asked_at=100.0)
    assert kept.answer(request("watched")) is not None
    assert warming.due() == [], "it is fresh"
    asked: list[bytes] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        asked.append(scope["query_string"])
        again = Request(scope)
        assert kept.answer(again) is None, "it is to be made anew"
        kept.keep(again, answer(b"new"), asked_at=clock.now)

    clock.now = 106.0
    anyio.run(warming.warm, app)
    anyio.run(warming.warm, app)
    assert asked == [b"watched"]
    again = kept.answer(request("watched"))
    assert again is not None
    assert again.body == b"new"
    clock.now = 900.0
    assert warming.due() == [], "nobody has asked for long"
    assert WARMED not in request().scope


def test_what_takes_longer_than_it_is_fresh_is_not_warmed(kept: KeptAnswers, warming: Warming, clock: Clock):
    for query, took_s in (("quick", 5.0), ("slow", 5.1)):
        clock.now = 100.0
        for _ in range(2):
            clock.now += took_s
            kept.keep(request(query), answer(), asked_at=clock.now - took_s)
    clock.now += 6.0
    assert [scope["query_string"] for scope in warming.due()] == [b"quick"]


def test_what_somebody_will_ask_soon_is_there_before_they_do(
    kept: KeptAnswers, warming: Warming, clock: Clock, rests: list[float]
):
    asked: list[bytes] = []
    aways = [
        problem("database"),
        of_storage(DatabaseBusy("A lock." * 1_000)).response("id"),
        of_storage(NotMigrated("Too old.")).response("id"),
    ]

    async def app(scope: Any, receive: Any, send: Any) -> None:
        asked.append(scope["query_string"])
        if scope["query_string"] == b"table" and len(rests) < len(aways):
            response = aways[len(rests)]
        else:
            assert kept.answer(Request(scope)) is None, "the first may have been slow for being the first"
            response = kept.keep(Request(scope), answer(), asked_at=clock.now)
        await response(scope, receive, send)

    scopes = [
        dict(request(query, cache_control="no-cache", accept_encoding="gzip").scope)
        for query in ("flame", "table")
    ]
    anyio.run(warming.begin, GZipMiddleware(app, minimum_size=1400), lambda: scopes)
    assert asked == [b"flame"] * 2 + [b"table"] * 5, "only what the database was not there for is asked again"
    assert rests == [1.0, 2.0, 4.0]
    assert kept.answer(request("table", accept_encoding="gzip")) is not None
    clock.now += 6.0
    assert {scope["query_string"] for scope in warming.due()} == {b"flame", b"table"}


@pytest.mark.parametrize(
    "response",
    [
        problem("dropped"),
        problem("too-much", HTTPStatus.UNPROCESSABLE_ENTITY),
        problem("database", HTTPStatus.INTERNAL_SERVER_ERROR),
        Response("busy", status_code=503),
        Response("[]", status_code=503),
        answer(bytes(200_000)),
    ],
)
def test_what_can_never_be_kept_is_asked_once(
    kept: KeptAnswers, warming: Warming, clock: Clock, rests: list[float], response: Response
):
    asked: list[bytes] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        asked.append(scope["query_string"])
        if response.status_code == HTTPStatus.OK:
            kept.keep(Request(scope), response, asked_at=100.0)
        await response(scope, receive, send)

    anyio.run(warming.begin, app, lambda: [dict(request("table", cache_control="no-cache").scope)])
    assert (asked, rests) == ([b"table"], [])
    clock.now += 1_000
    assert warming.due() == [], "it would not be kept either"


def test_what_is_too_slow_when_it_is_cold_is_asked_again(
    kept: KeptAnswers, warming: Warming, clock: Clock, rests: list[float]
):
    asked: list[bytes] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        query = scope["query_string"]
        asked.append(query)
        if query == b"flame" and len(rests) < 2:
            clock.now += 7.0
            response = problem("too-slow")
        elif query == b"table" and not rests:
            response = problem("database")
        else:
            response = kept.keep(Request(scope), answer(), asked_at=clock.now)
        await response(scope, receive, send)

    scopes = [dict(request(query, cache_control="no-cache").scope) for query in ("flame", "table")]
    anyio.run(warming.begin, app, lambda: scopes)
    assert asked == [b"flame", b"table", b"table", b"table", b"flame", b"flame"]
    assert rests == [1.0, 140.0]
    clock.now += 1_000
    assert {scope["query_string"] for scope in warming.due()} == {b"flame", b"table"}


def test_what_is_too_slow_each_time_is_given_up(
    kept: KeptAnswers, warming: Warming, clock: Clock, rests: list[float]
):
    asked: list[bytes] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        asked.append(scope["query_string"])
        await problem("too-slow")(scope, receive, send)

    with structlog.testing.capture_logs() as logged:
        anyio.run(warming.begin, app, lambda: [dict(request("table", cache_control="no-cache").scope)])
    assert (len(asked), rests) == (5, [60.0] * 4)
    assert [(line["event"], line["status"]) for line in logged] == [("not-kept-warm", 503)]
    clock.now += 1_000
    assert warming.due() == []


class Asked:
    """An app that answers by what it keeps, and notes what it was asked; a question takes so long."""

    def __init__(self, kept: KeptAnswers, warming: Warming, clock: Clock, took_s: float = 0.0) -> None:
        self.queries: list[bytes] = []
        self._kept, self._warming, self._clock, self._took_s = kept, warming, clock, took_s

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.queries.append(scope["query_string"])
        asked_at = self._clock.now
        self._clock.now += self._took_s
        await self._kept.keep(Request(scope), answer(), asked_at=asked_at)(scope, receive, send)

    def within(self, seconds: float) -> list[bytes]:
        """What it is asked in these, by who warms every second."""
        self.queries.clear()
        end = self._clock.now + seconds
        while self._clock.now < end:
            self._clock.now += 1.0
            anyio.run(self._warming.warm, self)
        return self.queries


def test_what_is_always_warm_is_asked_once_a_minute_while_nobody_watches(
    kept: KeptAnswers, warming: Warming, clock: Clock
):
    """Seen: a page that nobody had opened for five minutes was as cold as on the first day."""
    app = Asked(kept, warming, clock)
    anyio.run(warming.begin, app, lambda: [dict(request("home", cache_control="no-cache").scope)])
    often = len(app.within(240))
    assert often > 30
    app.within(3600)
    assert app.within(3600) == [b"home"] * 60, "hours later, too"
    kept.keep(request("home"), answer(), asked_at=clock.now)
    assert kept.answer(request("home")) is not None, "it is open in a browser"
    assert len(app.within(240)) == often
    app.within(300)
    assert len(app.within(3600)) == 60


def test_what_takes_long_rests_longer(kept: KeptAnswers, warming: Warming, clock: Clock):
    app = Asked(kept, warming, clock, took_s=9.0)
    anyio.run(warming.begin, app, lambda: [dict(request("home", cache_control="no-cache").scope)])
    assert 15 <= len(app.within(3600)) <= 20


def test_each_time_it_is_asked_by_a_session_that_is_valid(kept: KeptAnswers, warming: Warming, clock: Clock):
    made: list[str] = []

    def always() -> list[Any]:
        made.append(f"session {len(made)}")
        return [dict(request("home", cache_control="no-cache", cookie=made[-1]).scope)]

    anyio.run(warming.begin, Asked(kept, warming, clock), always)
    clock.now += 1_000
    (scope,) = warming.due()
    assert Request(scope).headers["cookie"] == made[-1]


def test_what_is_not_to_be_had_is_tried_once_a_minute(kept: KeptAnswers, warming: Warming, clock: Clock):
    app = Asked(kept, warming, clock)
    anyio.run(warming.begin, app, lambda: [dict(request("home", cache_control="no-cache").scope)])
    tried: list[bytes] = []

    async def away(scope: Any, receive: Any, send: Any) -> None:
        tried.append(scope["query_string"])
        await problem("database")(scope, receive, send)

    clock.now += 1_000
    for _ in range(5):
        anyio.run(warming.warm, away)
    assert tried == [b"home"]


def test_nothing_is_asked_at_the_beginning_where_nothing_is_kept(clock: Clock):
    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError(scope)

    anyio.run(Warming(KeptAnswers(0, fresh_s=10.0, clock=clock)).begin, app, lambda: [dict(request().scope)])
