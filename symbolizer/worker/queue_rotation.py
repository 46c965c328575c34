"""In which order a worker looks through its queues after each message: urgent ones first, equals by turns.

With kombu's own order by priority a worker that is always behind would take from the first of sixteen equal
queues for ever: a capture of the last one was seen to wait for 26 minutes while 4,235 others were ingested.
"""

from collections.abc import Iterable

from symbolizer.worker import routing


class QueueRotation:
    """The order kombu asks for (`queue_order_strategy`): a queue that gave a message goes behind its equals.

    Equals are a worker's own fresh captures together with builds, others' fresh captures, its own captures
    again, others' again. They are told apart by the order of subscription, which is `routing.queues`'.
    """

    def __init__(self) -> None:
        self._queues: list[str] = []
        self._rank: dict[str, int] = {}

    def update(self, queues: Iterable[str]) -> None:
        """Begin anew with these queues, in order of urgency."""
        self._queues = list(queues)
        self._rank = routing.ranks(self._queues)

    def consume(self, count: int) -> list[str]:
        """The first `count` queues."""
        return self._queues[:count]

    def rotate(self, last_used: str) -> None:
        """Put the queue that just gave a message behind its equals."""
        if last_used not in self._rank:
            return
        rank = self._rank[last_used]
        self._queues.remove(last_used)
        behind = [place for place, queue in enumerate(self._queues) if self._rank[queue] <= rank]
        self._queues.insert(behind[-1] + 1 if behind else 0, last_used)
