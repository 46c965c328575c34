"""Request rates from a Prometheus server: one series of a range query, from the configured server.

Source: Prometheus' HTTP API, https://prometheus.io/docs/prometheus/latest/querying/api/#range-queries.
"""

import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Final

from services.errors import NoRates

_PATIENCE_S: Final = 20.0
_MOST_BYTES: Final = 16 << 20
_MOST_POINTS: Final = 10_000
"""Prometheus itself rejects more than 11,000 points per series."""
_LEAST_S: Final = 15


class _NotElsewhere(urllib.request.HTTPRedirectHandler):
    """Rejects redirections, because their targets are not configured."""

    def redirect_request(self, *_: object, **__: object) -> None:
        """None: the redirection itself is the response, an error."""
        return


def request_rates(
    server: str, query: str, start_s: float, end_s: float, step_s: int
) -> list[tuple[float, float]]:
    """Times in seconds since 1970 and values of the query in [`start_s`, `end_s`), about twenty per step.

    Raises `NoRates` unless the server responds with exactly one series of numbers.
    """
    every = max(_LEAST_S, step_s // 20, int((end_s - start_s) // _MOST_POINTS) + 1)
    wanted = urllib.parse.urlencode(
        {"query": query, "start": start_s, "end": max(start_s, end_s - every), "step": every}
    )
    answer = _fetched(f"{server.rstrip('/')}/api/v1/query_range?{wanted}")
    try:
        if answer["status"] != "success":
            raise NoRates(f"Prometheus at {server} returned an error: {str(answer.get('error'))[:300]}")
        series = answer["data"]["result"]
        if answer["data"]["resultType"] != "matrix" or len(series) > 1:
            raise NoRates(
                f"The query returns {len(series):,} series instead of one. Add them up: sum(rate(http_requests_total[5m]))."
            )
        points = [(float(time), float(value)) for one in series for time, value in one["values"]]
    except (KeyError, TypeError, ValueError) as error:
        raise NoRates(f"The response of {server} does not have Prometheus' format: {error!r}.") from error
    if not points:
        raise NoRates("The query has no value in this time range.")
    return points


def _fetched(url: str) -> Any:
    opener = urllib.request.build_opener(_NotElsewhere())
    server = urllib.parse.urlsplit(url).netloc
    try:
        with opener.open(url, timeout=_PATIENCE_S) as reply:
            body = reply.read(_MOST_BYTES + 1)
    except urllib.error.HTTPError as error:
        with error:
            said = error.read(2000).decode("utf-8", "replace")
        raise NoRates(f"Prometheus at {server} returned {error.code}: {said[:300]}") from error
    except (OSError, ValueError) as error:
        raise NoRates(f"Cannot query Prometheus at {server}: {getattr(error, 'reason', error)}.") from error
    if len(body) > _MOST_BYTES:
        raise NoRates(
            f"The response of Prometheus at {server} is larger than {_MOST_BYTES >> 20} MiB: query fewer points."
        )
    try:
        return json.loads(body)
    except ValueError as error:
        raise NoRates(f"The response of {server} is not JSON.") from error
