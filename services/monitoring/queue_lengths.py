"""Number of messages waiting in the broker, by kind of work."""

from collections import Counter
from collections.abc import Mapping

from redis import Redis

from symbolizer.worker import routing

KINDS = ("names", "new", "builds", "reprocess")
"""Names for waiting users, captures never ingested, debug files to build, captures to reprocess for better symbols."""
_TIMEOUT_S = 3.0


def open_broker(url: str) -> Redis:
    """A client of the broker for one request; close it after. Raises redis' errors when it is used."""
    # kombu's URL of a Unix socket differs from the client library's.
    known = url.replace("redis+socket://", "unix://", 1).replace("virtual_host=", "db=")
    return Redis.from_url(known, socket_timeout=_TIMEOUT_S, socket_connect_timeout=_TIMEOUT_S)


def lengths(url: str) -> Mapping[str, int]:
    """Messages that no worker has taken, by kind. Raises redis' errors."""
    names = routing.queues(routing.ALL_PARTITIONS, "")
    with open_broker(url) as client, client.pipeline(transaction=False) as pipeline:
        for name in names:
            pipeline.llen(name)
        lengths = pipeline.execute()
    found = Counter(dict.fromkeys(KINDS, 0))
    for name, length in zip(names, lengths, strict=True):
        found[name.split(".")[1]] += int(length)
    return found
