"""How many messages wait in the broker, by the kind of work."""

from collections import Counter
from collections.abc import Mapping

from redis import Redis

from symbolizer.worker import routing

KINDS = ("names", "new", "builds", "reprocess")
"""Names somebody waits for, captures never ingested, debug files to build, captures with better symbols."""
_TIMEOUT_S = 3.0


def open_broker(url: str) -> Redis:
    """A client of the broker's own, for one question; close it. Raises redis' errors when it is used."""
    # The broker's form for a Unix socket, as kombu has it, is not that of the client library.
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
