"""Assigns tasks to queues, and orders the queues of a worker.

Captures are queued by *partition*, the hash of what their machine ran most (`storage.work_partitions`): a worker
that prefers a partition has its binaries cached. A worker takes the first message of

    names · fresh captures of its own partitions, and builds · fresh captures of the others · captures again
    of its own · those of the others

and rotates within each of these (`symbolizer.worker.queue_rotation`). Nothing waits while a worker is idle, because
a worker without captures of its own takes those of others. Fresh captures precede those that are reprocessed for
better symbols. Naming precedes everything: it takes milliseconds, and a person waits for it. The order is BRPOP's:
Redis returns the first element of the first non-empty list, and kombu passes the lists in `QueueRotation`'s order.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from storage.work_partitions import PARTITIONS
from symbolizer.errors import BadPartitions

NAMES: Final = "symbolizer.names"
BUILDS: Final = "symbolizer.builds"


def new_queue(partition: int) -> str:
    """The queue of captures that are not ingested yet."""
    return f"symbolizer.new.{partition % PARTITIONS}"


def reprocess_queue(partition: int) -> str:
    """The queue of captures to be reprocessed for better symbols."""
    return f"symbolizer.reprocess.{partition % PARTITIONS}"


@dataclass(frozen=True, slots=True)
class WorkerPartitions:
    """The partitions that a worker prefers: those p with p mod `of` = `number` − 1."""

    number: int = 1
    """Counts from 1."""
    of: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.of <= PARTITIONS:
            raise BadPartitions(
                f"Invalid partition {self.number}/{self.of}: expected N/M, e.g. 2/3 for the second of three workers; "
                f"M is at most {PARTITIONS}."
            )

    @classmethod
    def parse(cls, spelled: str) -> "WorkerPartitions":
        """The share written as `2/3`. Raises `BadPartitions`."""
        number, slash, of = spelled.partition("/")
        if not (slash and number.strip().isdecimal() and of.strip().isdecimal()):
            raise BadPartitions(
                f"Invalid partition {spelled!r}: expected N/M, e.g. 2/3 for the second of three workers."
            )
        return cls(int(number), int(of))

    @property
    def own(self) -> tuple[int, ...]:
        """The partitions that this worker prefers."""
        return tuple(range(self.number - 1, PARTITIONS, self.of))


ALL_PARTITIONS: Final = WorkerPartitions()
"""All partitions, without preference."""


def queues(share: WorkerPartitions, name: str) -> list[str]:
    """All queues, in the order in which the worker with this name polls them at first.

    Workers with the same share begin at different partitions, by the hash of their names.
    """
    own = _from(share.own, name)
    others = _from((p for p in range(PARTITIONS) if p not in share.own), name)
    return [
        NAMES,
        *map(new_queue, own),
        BUILDS,
        *map(new_queue, others),
        *map(reprocess_queue, (*own, *others)),
    ]


def ranks(order: Sequence[str]) -> dict[str, int]:
    """Urgency of each of a worker's queues, from 0; equal ones take turns. `order` is that of `queues`.

    Builds rank with the worker's own fresh captures. Behind them, a worker that is always behind would never build;
    before them, many new binaries would delay everything.
    """
    until_builds = order[: order.index(BUILDS) + 1] if BUILDS in order else order
    own = set(until_builds) - {NAMES}
    own_reprocess = {reprocess_queue(p) for p in range(PARTITIONS) if new_queue(p) in own}
    new_queues = {new_queue(p) for p in range(PARTITIONS)}

    def rank(queue: str) -> int:
        if queue == NAMES:
            return 0
        if queue in own:
            return 1
        if queue in new_queues:
            return 2
        return 3 if queue in own_reprocess else 4

    return {queue: rank(queue) for queue in order}


def _from(partitions: Iterable[int], name: str) -> list[int]:
    """The partitions, beginning with one that depends on the name."""
    some = list(partitions)
    if not some:
        return []
    start = int.from_bytes(blake2b(name.encode(), digest_size=8).digest()) % len(some)
    return [*some[start:], *some[:start]]
