"""Asking an app again for what is kept of its answers, so that whoever looks next need not wait.

What was asked lately more than once, the home page and views that people keep open, is asked again before it is too
old, as the one who asked last did; not if making it takes so long that it would be too old when it is there. The home
page and views an operator names count as asked when the process begins (`begin`), and while nobody watches them they
are asked once a minute: what they read stays decoded. Source: DIGEST G13.
"""

import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

import anyio
import structlog
from fastapi import Request
from starlette.types import ASGIApp, Message, Scope

from services.api.kept_answer import Key
from services.api.kept_answers import WARMED, KeptAnswers

_log = structlog.get_logger()

_DATABASE_AWAY = {f"urn:fleetprof:problem:{kind}" for kind in ("database", "busy", "not-migrated")}
"""Types of problems that pass without another question being asked."""
_TOO_SLOW = "urn:fleetprof:problem:too-slow"
"""What was cold may take no longer than it may once the server has read it."""
_SLOW_TRIES = 5
"""Questions at the beginning for what is too slow each time."""
_MOST_WARMED = 8
_UNWATCHED_S = 60.0
"""After so long what nobody watches is asked again, if it is one of those that always are."""
_REST = 20
"""Times as long as it took, at least: one that takes ten seconds is asked less often."""
_FIRST_REST_S = 1.0
"""Until what the database was not there for at the beginning is asked again; each further time that doubles."""
_LONGEST_REST_S = 60.0


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


class Warming:
    """Keeps warm what one process has of its answers; for one event loop."""

    def __init__(self, kept: KeptAnswers) -> None:
        """Nothing is asked where nothing is kept."""
        self._kept = kept
        self._always: Callable[[], Sequence[Scope]] = tuple
        self._turns: dict[Key, _Turn] = {}

    def due(self) -> list[Scope]:
        """Requests to ask again now: those that are watched, and behind them those of `begin` that nobody watches, about once a minute."""
        watched = self._kept.watched()[:_MOST_WARMED]
        now = self._kept.now()
        unwatched = {key for key, turn in self._turns.items() if turn.is_over(now)}
        unwatched -= {key for key, _ in watched}
        # Made anew each time: the session that they are asked by ends one day.
        always = (
            [scope for scope in self._always() if Key.of(Request(scope)) in unwatched] if unwatched else []
        )
        return [scope for _, scope in watched] + always

    async def begin(self, app: ASGIApp, always: Callable[[], Sequence[Scope]]) -> None:
        """Ask the app for what somebody will ask soon, as if they had asked already; again while the database is away.

        From then on `due` has it, watched or not; `always` makes the requests, each time anew.

        The requests say `Cache-Control: no-cache`. Each that is kept is asked twice: that is what makes it watched, and
        the first question of a process takes longest, with its code, its connections and its stacks. What is too slow,
        maybe for being cold, is asked again after a long rest, a few times. An answer that cannot be kept, or another
        problem, ends it, and the log says so: it would come again.
        """
        self._always = always
        left = {Key.of(Request(scope)) for scope in always()}
        slow: dict[Key, _Turn] = {}
        tries, rest_s = dict.fromkeys(left, _SLOW_TRIES), _FIRST_REST_S
        while self._kept.on and left:
            away = set()
            for scope in always():
                key, heard, begun = Key.of(Request(scope)), _Heard(), self._kept.now()
                if key not in left:
                    continue
                await app({**scope, "state": {}}, _never, heard.take)
                if heard.problem in _DATABASE_AWAY:
                    away.add(key)
                elif heard.problem == _TOO_SLOW and tries[key] > 1:
                    tries[key] -= 1
                    slow[key] = _Turn(begun, self._kept.now() - begun)
                elif heard.status == HTTPStatus.OK and self._kept.has(scope):
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
        while self._kept.on:
            await self.warm(app)
            await anyio.sleep(self._kept.fresh_s / 4)

    async def warm(self, app: ASGIApp) -> None:
        """Ask the app once for what is watched, one after the other."""
        for scope in self.due():
            # Whoever it was asked for has their answer: nobody goes away, and nobody reads this one.
            await self._take_turn(app, {**scope, WARMED: True}, only_again=True)

    async def _take_turn(self, app: ASGIApp, scope: Scope, *, only_again: bool = False) -> None:
        """Ask, and note when if it is something that always is, as it is from its first turn on."""
        key, begun = Key.of(Request(scope)), self._kept.now()
        await app({**scope, "state": {}}, _never, _nowhere)
        if key in self._turns or not only_again:
            self._turns[key] = _Turn(begun, self._kept.now() - begun)


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
