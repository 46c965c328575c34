"""Caches whole responses for seconds, by request, and computes the entity tags of conditional requests.

A cached response has the bytes of the computed one, entity tag included. `Age` is the number of seconds since its
query. It may lack captures ingested since then, so responses without samples are not cached: "no samples yet" must end
with the first sample. Every caller who may read profiles gets the same response, so callers are not part of the key.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from http import HTTPStatus

from fastapi import Request, Response

from services.api.formats.accept import Coding, accept_encoding, best_coding
from storage.snapshots.decoded_cache import CacheSize

_ENTRY_BYTES = 1000
"""Python objects of an entry, besides its texts and body."""


@dataclass(frozen=True, slots=True)
class Key:
    """Requests with equal keys have equal responses, except for what is ingested between them."""

    path: str
    query: bytes
    form: str
    coding: Coding | None

    @classmethod
    def of(cls, request: Request, form: str) -> "Key":
        """The key of a request whose answer is encoded in the form of this name."""
        coding = best_coding(accept_encoding(request.headers))
        return cls(request.scope["path"], request.scope["query_string"], form, coding)


@dataclass(frozen=True, slots=True)
class _Entry:
    body: bytes
    headers: dict[str, str]
    queried_at: float
    size: int
    """Bytes, the key included."""


class ResponseCache:
    """The cache of one process. Safe to share between threads."""

    def __init__(self, max_bytes: int, *, ttl_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Holds at most `max_bytes`, each response until `ttl_s` after its query. 0 of either disables the cache."""
        self._max_bytes = max_bytes if ttl_s > 0 else 0
        self._ttl_s = ttl_s
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: dict[Key, _Entry] = {}
        """The oldest first."""
        self._bytes = 0
        self.hits = 0
        """Requests answered from the cache."""
        self.misses = 0
        """Requests that were looked up and not found."""

    @property
    def size(self) -> CacheSize:
        """Entries and bytes at present, expired ones included."""
        with self._lock:
            return CacheSize(len(self._entries), self._bytes)

    def now(self) -> float:
        """Seconds by the clock of the ages."""
        return self._clock()

    def get(self, key: Key, request: Request) -> Response | None:
        """The cached response, or 304 if the client has it; None: not cached, or the request has `no-cache`."""
        if not self._max_bytes or "no-cache" in request.headers.get("cache-control", ""):
            return None
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or self._expired(entry):
                self.misses += 1
                return None
            self.hits += 1
        headers = {**entry.headers, "age": str(int(self._clock() - entry.queried_at))}
        return if_changed(request, Response(entry.body, headers=headers))

    def put(self, key: Key, response: Response, *, queried_at: float) -> None:
        """Cache a whole, successful response; `queried_at` is `now()` before its query."""
        body, headers = bytes(response.body), dict(response.headers)
        texts = (key.path, key.query, *headers, *headers.values())
        entry = _Entry(body, headers, queried_at, len(body) + sum(map(len, texts)) + _ENTRY_BYTES)
        if entry.size > self._max_bytes or self._expired(entry):
            return
        with self._lock:
            self._drop(key)
            self._entries[key] = entry
            self._bytes += entry.size
            # The loop ends at the new entry at the latest, which is fresh and fits.
            while self._bytes > self._max_bytes or self._expired(next(iter(self._entries.values()))):
                self._drop(next(iter(self._entries)))

    def _expired(self, entry: _Entry) -> bool:
        return self._clock() - entry.queried_at > self._ttl_s

    def _drop(self, key: Key) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._bytes -= entry.size


def add_tag(response: Response) -> None:
    """Add the entity tag of the response's bytes."""
    response.headers["etag"] = f'"{blake2b(response.body, digest_size=16).hexdigest()}"'


def if_changed(request: Request, response: Response) -> Response:
    """The tagged response, or 304 without a body if `If-None-Match` contains its tag."""
    tags = [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]
    if response.headers["etag"] not in tags:
        return response
    of_body = {"content-type", "content-length", "content-encoding"}
    headers = {name: value for name, value in response.headers.items() if name not in of_body}
    return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
