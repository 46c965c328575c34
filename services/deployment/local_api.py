"""Client of a `fleetprof up`'s API, used by `up` itself."""

import json
import urllib.error
import urllib.parse
import urllib.request
from datetime import datetime
from typing import Any, TypeVar

from pydantic import ValidationError

from services.errors import NotRunning
from storage.query.answers.answer import Answer, adapter
from storage.query.answers.status import StatusAnswer
from storage.query.answers.table import TableAnswer

_A = TypeVar("_A", bound=Answer)


class LocalApi:
    """This run's API, called over loopback like by any client."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url
        self._token = token

    def get(self, route: str, *, uncached: bool = False, **query: str) -> dict[str, Any]:
        """Response of a route of /api/v1; `uncached` bypasses the response cache. Raises NotRunning without one."""
        cache_headers = {"Cache-Control": "no-cache"} if uncached else {}
        request = urllib.request.Request(  # noqa: S310 - always http to loopback
            f"{self._url}/api/v1/{route}?{urllib.parse.urlencode(query)}",
            headers={
                "Authorization": f"Bearer {self._token}",
                "Accept": "application/json",
                **cache_headers,
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310
                answer: dict[str, Any] = json.load(response)
                return answer
        except urllib.error.HTTPError as error:
            with error:
                raise NotRunning(
                    f"The API returned {error.code}: {error.read(500).decode(errors='replace')}"
                ) from error
        except (OSError, ValueError) as error:
            raise NotRunning(f"The API does not respond at {self._url}: {error}") from error

    def waiting(self) -> int | None:
        """Number of captures waiting to be ingested; None if the API does not respond."""
        try:
            return self.status(uncached=True).captures.waiting
        except NotRunning:
            return None

    def status(self, *, uncached: bool = False) -> StatusAnswer:
        """The fleet's coverage and problems."""
        return _typed(StatusAnswer, self.get("status", uncached=uncached))

    def table(self, since: datetime, rows: int, *, uncached: bool = False) -> TableAnswer:
        """The hottest functions since a time."""
        query = {"from": since.isoformat(), "to": "now", "by": "function", "limit": str(rows)}
        return _typed(TableAnswer, self.get("table", uncached=uncached, **query))


def _typed(kind: type[_A], document: dict[str, Any]) -> _A:
    """The answer in a document. Raises NotRunning if it is not one: another version of the API responds."""
    try:
        answer: _A = adapter(kind).validate_python(document)
    except ValidationError as error:
        raise NotRunning(f"The API's response is not a {kind.__name__}: {error}") from error
    return answer
