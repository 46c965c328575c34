"""One answer that is kept, and what makes two requests the same."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from urllib.parse import parse_qsl, urlencode

from fastapi import Request
from starlette.types import Scope

from services.api.formats.accept import Coding
from services.api.parcel import Parcel

_OVERHEAD = 4000
"""Bytes of an entry besides its texts."""
_COPIES = 4
"""Of the texts of a request: in the key, and as its scope has them, raw and read."""


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
