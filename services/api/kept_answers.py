"""Answers that were sent a moment ago, for whoever asks the same: pages that many people keep open.

An answer is given again for a few seconds at most (`fresh_s`), so no answer is older than that; whoever wants
the very latest sends `Cache-Control: no-cache`. It is kept as it was sent, for the request's path, query
and what it accepts: `now-1h` of five seconds ago is within the same promise. Whoever reads another content coding
gets it packed anew, once for all who read that one: the database is asked once for all of them. Who asked, and
when, is kept longer: what people keep open is asked again before it is too old (services/api/warming.py).
Source: DIGEST G13.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from fastapi import Request, Response
from starlette.types import Scope

from services.api.formats.accept import Coding, accept_encoding, best_coding
from services.api.kept_answer import Kept, Key
from services.api.parcel import Parcel
from services.api.replies import SMALLEST_ZIPPED
from services.api.timing import HEADER
from storage.query.cache_size import CacheSize

WARMED = "fleetprof.warmed"
"""In the scope of a request that nobody waits for."""
_NOT_MODIFIED = 304
_WATCHED_S = 300.0
"""A page that is open asks more often than that."""
_NOTHING: Mapping[Coding | None, Parcel] = MappingProxyType({})


class KeptAnswers:
    """The answers of one process. Safe to share between threads."""

    def __init__(
        self, most_bytes: int, *, fresh_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """At most so many bytes, none of them given again after `fresh_s`; 0 of either: nothing is kept."""
        self._most = most_bytes
        self.fresh_s = fresh_s
        """How old an answer may be."""
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
        return self._most > 0 and self.fresh_s > 0

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
            if kept is None or self._clock() - kept.made_at > self.fresh_s:
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

    def watched(self) -> list[tuple[Key, Scope]]:
        """What is to be asked again, those asked last first: it was asked twice, lately, and is half as old as may be.

        Not what takes so long that it would be too old when it is there.
        """
        now = self._clock()
        with self._lock:
            watched = [
                (key, kept)
                for key, kept in self._kept.items()
                if len(kept.asked) > 1
                and now - kept.asked[0] < _WATCHED_S
                and now - kept.made_at > self.fresh_s / 2
                and kept.took_s <= self.fresh_s / 2
            ]
        watched.sort(key=lambda pair: -pair[1].asked[-1])
        return [(key, kept.scope) for key, kept in watched]

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

    def now(self) -> float:
        """Seconds by the clock that ages are counted by."""
        return self._clock()

    def has(self, scope: Scope) -> bool:
        """Whether there is an answer to such a request, or its request is remembered."""
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
        if now - self._sorted_out_at < self.fresh_s:
            return
        self._sorted_out_at = now
        for key, kept in list(self._kept.items()):
            if now - kept.made_at <= self.fresh_s:
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
