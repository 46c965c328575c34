"""Answers that were sent a moment ago, for whoever asks the same: pages that many people keep open.

An answer is given again for a few seconds at most (`fresh_s`), so no answer is older than that; whoever wants
the very latest sends `Cache-Control: no-cache`. It is kept as it was sent, for the request's path, query
and what it accepts: `now-1h` of five seconds ago is within the same promise. Whoever reads another content coding
gets it packed anew, once for all who read that one: the database is asked once for all of them. What was asked lately
more than once, the home page and views that people keep open, is asked again before it is too old (`warming`), as
the one who asked last did; not if making it takes so long that it would be too old when it is there. The home page and
views an operator names count as asked when the process begins (`begin`), and while nobody watches them they are asked
once a minute: what they read stays decoded. Source: DIGEST G13.
"""

import gzip
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from http import HTTPStatus
from operator import itemgetter
from types import MappingProxyType
from urllib.parse import parse_qsl, urlencode

import anyio
import structlog
from fastapi import Request, Response
from starlette.types import ASGIApp, Message, Scope

from services.api.formats.accept import Coding, accept_encoding, best_coding
from services.api.parcel import Parcel
from services.api.replies import SMALLEST_ZIPPED
from services.api.timing import HEADER
from storage.query.cache_size import CacheSize

_log = structlog.get_logger()

WARMED = "fleetprof.warmed"
"""In the scope of a request that nobody waits for."""
_NOT_MODIFIED = 304
_DATABASE_AWAY = {f"urn:fleetprof:problem:{kind}" for kind in ("database", "busy", "not-migrated")}
"""Types of problems that pass without another question being asked."""
_TOO_SLOW = "urn:fleetprof:problem:too-slow"
"""What was cold may take no longer than it may once the server has read it."""
_SLOW_TRIES = 5
"""Questions at the beginning for what is too slow each time."""
_OVERHEAD = 4000
"""Bytes of an entry besides its texts."""
_COPIES = 4
"""Of the texts of a request: in the key, and as its scope has them, raw and read."""
_WATCHED_S = 300.0
"""A page that is open asks more often than that."""
_MOST_WARMED = 8
_UNWATCHED_S = 60.0
"""After so long what nobody watches is asked again, if it is one of those that always are."""
_REST = 20
"""Times as long as it took, at least: one that takes ten seconds is asked less often."""
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
        # As Starlette decodes it for the routes: two that are read differently must never be the same here.
        return cls(request.scope["path"], _as_read(request.scope["query_string"].decode("latin-1")), accept)


@lru_cache(maxsize=1024)
def _as_read(query: str) -> str:
    """The same text for all that are read as the same parameters: a browser writes `%7B` where a person writes `{`."""
    return urlencode(sorted(parse_qsl(query, keep_blank_values=True), key=itemgetter(0)))


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


@dataclass(frozen=True, slots=True)
class _Turn:
    """When something that is always warmed was asked last, and how long that took."""

    at: float
    took_s: float

    @property
    def rest_s(self) -> float:
        """Until it is asked again, though nobody watches."""
        return max(_UNWATCHED_S, _REST * self.took_s)

    def is_over(self, now: float) -> bool:
        """Whether it is to be asked again, though nobody watches."""
        return now - self.at >= self.rest_s


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
        self._always: Callable[[], Sequence[Scope]] = tuple
        self._turns: dict[Key, _Turn] = {}
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
        """Requests to ask again now, those asked last first: they were asked twice, lately, and are half as old as may be.

        Behind them those of `begin` that nobody watches, about once a minute.
        """
        now = self._clock()
        with self._lock:
            watched = [
                (key, kept)
                for key, kept in self._kept.items()
                if len(kept.asked) > 1
                and now - kept.asked[0] < _WATCHED_S
                and now - kept.made_at > self._fresh_s / 2
                and kept.took_s <= self._fresh_s / 2
            ]
            unwatched = {key for key, turn in self._turns.items() if turn.is_over(now)}
        watched.sort(key=lambda pair: -pair[1].asked[-1])
        del watched[_MOST_WARMED:]
        unwatched -= {key for key, _ in watched}
        # Made anew each time: the session that they are asked by ends one day.
        always = (
            [scope for scope in self._always() if Key.of(Request(scope)) in unwatched] if unwatched else []
        )
        return [kept.scope for _, kept in watched] + always

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

    async def begin(self, app: ASGIApp, always: Callable[[], Sequence[Scope]]) -> None:
        """Ask the app for what somebody will ask soon, as if they had asked already; again while the database is away.

        From then on `warming` has it, watched or not; `always` makes the requests, each time anew.

        The requests say `Cache-Control: no-cache`. Each that is kept is asked twice: that is what makes it watched, and
        the first question of a process takes longest, with its code, its connections and its stacks. What is too slow,
        maybe for being cold, is asked again after a long rest, a few times. An answer that cannot be kept, or another
        problem, ends it, and the log says so: it would come again.
        """
        self._always = always
        left = {Key.of(Request(scope)) for scope in always()}
        slow: dict[Key, _Turn] = {}
        tries, rest_s = dict.fromkeys(left, _SLOW_TRIES), _FIRST_REST_S
        while self.on and left:
            away = set()
            for scope in always():
                key, heard, begun = Key.of(Request(scope)), _Heard(), self._clock()
                if key not in left:
                    continue
                await app({**scope, "state": {}}, _never, heard.take)
                if heard.problem in _DATABASE_AWAY:
                    away.add(key)
                elif heard.problem == _TOO_SLOW and tries[key] > 1:
                    tries[key] -= 1
                    slow[key] = _Turn(begun, self._clock() - begun)
                elif heard.status == HTTPStatus.OK and self._has(scope):
                    await self._take_turn(app, scope)
                else:
                    _log.warning(
                        "not-kept-warm",
                        path=scope["path"],
                        query=scope["query_string"].decode(),
                        status=heard.status,
                    )
            if away:  # the database may begin later than this process
                left = away
                await anyio.sleep(rest_s)
                rest_s = min(2 * rest_s, _LONGEST_REST_S)
            else:
                left = set(slow)
                if slow:
                    await anyio.sleep(max(turn.rest_s for turn in slow.values()))
                slow = {}

    async def keep_warm(self, app: ASGIApp) -> None:
        """Ask the app again and again for what is watched; until cancelled."""
        while self.on:
            await self.warm(app)
            await anyio.sleep(self._fresh_s / 4)

    async def warm(self, app: ASGIApp) -> None:
        """Ask the app once for what is watched, one after the other."""
        for scope in self.warming():
            # Whoever it was asked for has their answer: nobody goes away, and nobody reads this one.
            await self._take_turn(app, {**scope, WARMED: True}, only_again=True)

    async def _take_turn(self, app: ASGIApp, scope: Scope, *, only_again: bool = False) -> None:
        """Ask, and note when if it is something that always is, as it is from its first turn on."""
        key, begun = Key.of(Request(scope)), self._clock()
        await app({**scope, "state": {}}, _never, _nowhere)
        with self._lock:
            if key in self._turns or not only_again:
                self._turns[key] = _Turn(begun, self._clock() - begun)

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
    document: bytearray = field(default_factory=bytearray)
    """Of a service that is unavailable."""

    async def take(self, message: Message) -> None:
        """What the app sends, part by part."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.zipped = (b"content-encoding", b"gzip") in [(k.lower(), v) for k, v in message["headers"]]
        elif self.status == HTTPStatus.SERVICE_UNAVAILABLE:
            self.document += message.get("body", b"")

    @property
    def problem(self) -> str | None:
        """Type of the problem for which the same may be answered later; None: there is none, or it is not said."""
        if self.status != HTTPStatus.SERVICE_UNAVAILABLE:
            return None
        try:
            document = json.loads(gzip.decompress(self.document) if self.zipped else self.document)
        except ValueError:
            return None
        kind = document.get("type") if isinstance(document, dict) else None
        return kind if isinstance(kind, str) else None


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
