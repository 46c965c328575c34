"""Answers that were sent a moment ago, for whoever asks the same: pages that many people keep open.

An answer is given again for a few seconds at most (`fresh_s`), so no answer is older than that; whoever wants
the very latest sends `Cache-Control: no-cache`. It is kept as it was sent, for the request's path, query
and what it accepts: `now-1h` of five seconds ago is within the same promise. Whoever reads another content coding
gets it packed anew, once for all who read that one: the database is asked once for all of them. What was asked lately
more than once, the home page and views that people keep open, is asked again before it is too old (`warming`), as
the one who asked last did; not if making it takes so long that it would be too old when it is there. The home page
counts as asked when the process begins (`begin`). Source: DIGEST G13.
"""

import gzip
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from types import MappingProxyType

import anyio
from fastapi import Request, Response
from starlette.types import ASGIApp, Message, Scope

from services.api.formats.accept import Coding, accept_encoding, best_coding
from services.api.parcel import Parcel
from services.api.replies import SMALLEST_ZIPPED
from services.api.timing import HEADER
from storage.query.cache_size import CacheSize

WARMED = "fleetprof.warmed"
"""In the scope of a request that nobody waits for."""
_NOT_MODIFIED = 304
_DATABASE_AWAY = {f"urn:fleetprof:problem:{kind}" for kind in ("database", "busy", "not-migrated")}
"""Types of problems that pass without another question being asked."""
_OVERHEAD = 4000
"""Bytes of an entry besides its texts."""
_COPIES = 4
"""Of the texts of a request: in the key, and as its scope has them, raw and read."""
_WATCHED_S = 300.0
"""A page that is open asks more often than that."""
_MOST_WARMED = 8
_FIRST_REST_S = 1.0
"""Until what the database was not there for at the beginning is asked again; each further time that doubles."""
_LONGEST_REST_S = 60.0


@dataclass(frozen=True, slots=True)
class Key:
    """What makes two requests the same, whatever codings they read."""

    path: str
    query: str
    accept: str

    @classmethod
    def of(cls, request: Request) -> "Key":
        """That of a request."""
        accept = ", ".join(request.headers.getlist("accept"))
        return cls(request.url.path, request.url.query, accept)


_NOTHING: Mapping[Coding | None, Parcel] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Kept:
    """An answer, as it was sent to whoever reads which coding."""

    sent: Mapping[Coding | None, Parcel]
    """By the best coding that they read; empty where only the request is remembered."""
    alike: bool
    """It goes to everybody as it is: too small to be packed, or packed by its own form."""
    made_at: float
    scope: Scope
    """Of the request, to ask again."""
    asked: tuple[float, ...]
    """When somebody asked, the last two times; answers made for nobody do not count."""
    took_s: float
    """From the question to the answer."""

    @property
    def size(self) -> int:
        """Bytes, about."""
        request = len(self.scope["path"]) + len(self.scope["query_string"])
        request += sum(len(name) + len(value) for name, value in self.scope["headers"])
        return sum(sent.size for sent in self.sent.values()) + _COPIES * request + _OVERHEAD

    def for_coding(self, coding: Coding | None) -> Parcel | None:
        """As it goes to whoever reads this; None: it has to be packed anew."""
        return next(iter(self.sent.values()), None) if self.alike else self.sent.get(coding)


class KeptAnswers:
    """The answers of one process. Safe to share between threads."""

    def __init__(
        self, most_bytes: int, *, fresh_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """At most so many bytes, none of them given again after `fresh_s`; 0 of either: nothing is kept."""
        self._most = most_bytes
        self._fresh_s = fresh_s
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[Key, Kept] = OrderedDict()
        self._bytes = 0
        self._sorted_out_at = clock()
        self.hits = 0
        """Requests answered from here."""
        self.misses = 0

    @property
    def on(self) -> bool:
        """Whether anything is kept."""
        return self._most > 0 and self._fresh_s > 0

    @property
    def size(self) -> CacheSize:
        """What is kept now."""
        with self._lock:
            return CacheSize(len(self._kept), self._bytes)

    def at_once(self, request: Request) -> bool:
        """Whether `answer` has nothing to pack: that takes milliseconds of a CPU, and is not for an event loop."""
        with self._lock:
            kept = self._kept.get(Key.of(request))
            return kept is None or not kept.sent or kept.for_coding(_coding(request)) is not None

    def answer(self, request: Request) -> Response | None:
        """The answer to the same request of a moment ago; None: there is none."""
        if not self.on or request.scope.get(WARMED) or "no-cache" in request.headers.get("cache-control", ""):
            return None
        key, coding = Key.of(request), _coding(request)
        with self._lock:
            kept = self._kept.get(key)
            if kept is None or self._clock() - kept.made_at > self._fresh_s:
                self.misses += 1
                return None
            self.hits += 1
            asked = (*kept.asked[-1:], self._clock())
            self._put(key, replace(kept, scope=_lasting(request.scope), asked=asked))
        sent = kept.for_coding(coding)
        if sent is None:
            sent = next(iter(kept.sent.values())).packed_anew(coding)
            self._add(key, kept, coding, sent)
        given = _response(sent, request)
        given.headers[HEADER] = f'kept;desc="{self._clock() - kept.made_at:.1f} s old"'
        return given

    def warming(self) -> list[Scope]:
        """Requests to ask again now, those asked last first: they were asked twice, lately, and are half as old as may be."""
        now = self._clock()
        with self._lock:
            watched = [
                kept
                for kept in self._kept.values()
                if len(kept.asked) > 1
                and now - kept.asked[0] < _WATCHED_S
                and now - kept.made_at > self._fresh_s / 2
                and kept.took_s <= self._fresh_s / 2
            ]
        watched.sort(key=lambda kept: -kept.asked[-1])
        return [kept.scope for kept in watched[:_MOST_WARMED]]

    def keep(
        self, request: Request, response: Response, *, asked_at: float, packed: bool = False
    ) -> Response:
        """The answer with its tag, kept if it may be; 304 if the client has it already.

        `asked_at` by the clock: what landed since then may not be in it. `packed`: its form is compressed as such.
        """
        sent, coding = Parcel.of(bytes(response.body), response.headers), _coding(request)
        alike = packed or (sent.coding is None and len(sent.content) < SMALLEST_ZIPPED)
        again = request.scope.get(WARMED, False)
        scope = _lasting(request.scope)
        took_s = self._clock() - asked_at
        kept = Kept({coding: sent}, alike, asked_at, scope, (asked_at,), took_s)
        if self.on and kept.size <= self._most:
            with self._lock:
                before = self._drop(Key.of(request))
                asked = before.asked if before is not None else ()
                if again and before is not None:
                    kept = replace(kept, scope=before.scope)  # somebody else may have asked meanwhile
                self._put(Key.of(request), replace(kept, asked=asked if again else (*asked[-1:], asked_at)))
        return _response(sent, request)

    async def begin(self, app: ASGIApp, scopes: Sequence[Scope]) -> None:
        """Ask the app for what somebody will ask soon, as if they had asked already; again only while the database is away.

        The requests say `Cache-Control: no-cache`. Each that is kept is asked twice: that is what makes it watched, and
        the first question of a process takes longest, with its code, its connections and its stacks. An answer that
        cannot be kept, or another problem than that of the database, ends it: it would come again.
        """
        left, rest_s = list(scopes), _FIRST_REST_S
        while self.on and left:
            away = []
            for scope in left:
                heard = _Heard()
                await app({**scope, "state": {}}, _never, heard.take)
                if heard.database_away:
                    away.append(scope)
                elif heard.status == HTTPStatus.OK and self._has(scope):
                    await app({**scope, "state": {}}, _never, _nowhere)
            left = away
            if left:  # the database may begin later than this process
                await anyio.sleep(rest_s)
                rest_s = min(2 * rest_s, _LONGEST_REST_S)

    async def keep_warm(self, app: ASGIApp) -> None:
        """Ask the app again and again for what is watched; until cancelled."""
        while self.on:
            await self.warm(app)
            await anyio.sleep(self._fresh_s / 4)

    async def warm(self, app: ASGIApp) -> None:
        """Ask the app once for what is watched, one after the other."""
        for scope in self.warming():
            # Whoever it was asked for has their answer: nobody goes away, and nobody reads this one.
            await app({**scope, WARMED: True, "state": {}}, _never, _nowhere)

    def now(self) -> float:
        """By the clock."""
        return self._clock()

    def _has(self, scope: Scope) -> bool:
        with self._lock:
            return Key.of(Request(scope)) in self._kept

    def _add(self, key: Key, kept: Kept, coding: Coding | None, sent: Parcel) -> None:
        """Keep what was packed anew beside the rest of the same answer, if that is still there and may be as large."""
        with self._lock:
            now = self._kept.get(key)
            if now is None or now.made_at != kept.made_at or not now.sent:
                return
            more = replace(now, sent={**now.sent, coding: sent})
            if more.size <= self._most:
                self._put(key, more)

    def _put(self, key: Key, kept: Kept) -> None:
        """Instead of what there is; others go where there is no room for all. The newest answers stay longest, asked for or not."""
        before = self._kept.get(key)
        self._bytes += kept.size - (0 if before is None else before.size)
        self._kept[key] = kept
        self._sort_out()
        while self._bytes > self._most:
            self._drop(next(iter(self._kept)))

    def _sort_out(self) -> None:
        """Of answers that are too old keep only who asked, for as long as that may come to be watched."""
        now = self._clock()
        if now - self._sorted_out_at < self._fresh_s:
            return
        self._sorted_out_at = now
        for key, kept in list(self._kept.items()):
            if now - kept.made_at <= self._fresh_s:
                continue
            self._bytes -= kept.size
            if kept.asked and now - kept.asked[-1] < _WATCHED_S:
                self._kept[key] = old = replace(kept, sent=_NOTHING)
                self._bytes += old.size
            else:
                del self._kept[key]

    def _drop(self, key: Key) -> Kept | None:
        gone = self._kept.pop(key, None)
        if gone is not None:
            self._bytes -= gone.size
        return gone


@dataclass(slots=True)
class _Heard:
    """What the app says to a request of this process's own, as far as that matters."""

    status: int = 0
    zipped: bool = False
    problem: bytearray = field(default_factory=bytearray)
    """The document, of a service that is unavailable."""

    async def take(self, message: Message) -> None:
        """What the app sends, part by part."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.zipped = (b"content-encoding", b"gzip") in [(k.lower(), v) for k, v in message["headers"]]
        elif self.status == HTTPStatus.SERVICE_UNAVAILABLE:
            self.problem += message.get("body", b"")

    @property
    def database_away(self) -> bool:
        """The same may be answered when the database is there."""
        if self.status != HTTPStatus.SERVICE_UNAVAILABLE:
            return False
        try:
            document = json.loads(gzip.decompress(self.problem) if self.zipped else self.problem)
        except ValueError:
            return False
        return isinstance(document, dict) and document.get("type") in _DATABASE_AWAY


async def _never() -> Message:
    await anyio.sleep_forever()
    return {"type": "http.disconnect"}


async def _nowhere(message: Message) -> None:
    del message


def _lasting(scope: Scope) -> Scope:
    """A request's scope as it may be kept: its state has its connection."""
    return {**scope, "state": {}}


def _coding(request: Request) -> Coding | None:
    """What an answer to it is packed by."""
    return best_coding(accept_encoding(request.headers))


def _response(sent: Parcel, request: Request) -> Response:
    headers = dict(sent.headers)
    tags = [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]
    if headers["etag"] in tags:
        del headers["content-type"]
        headers.pop("content-encoding", None)
        return Response(status_code=_NOT_MODIFIED, headers=headers)
    return Response(sent.content, headers=headers)
