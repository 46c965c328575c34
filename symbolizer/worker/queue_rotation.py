"""The order in which a worker polls its queues after each message: by urgency, round-robin within one urgency.

With kombu's own priority order a worker that is always behind would take from the first of sixteen equal
queues for ever: one capture in the last queue waited for 26 minutes while 4,235 others were ingested.
"""

from collections.abc import Iterable

from symbolizer.worker import routing


class QueueRotation:
    """The queue order for kombu (`queue_order_strategy`): a queue that gave a message moves behind its equals.

    Equal are: a worker's own fresh captures together with builds, others' fresh captures, its own captures
    again, others' again. They are distinguished by the order of subscription, which is that of `routing.queues`.
    """

    def __init__(self) -> None:
        self._queues: list[str] = []
        self._rank: dict[str, int] = {}

    def update(self, queues: Iterable[str]) -> None:
        """Start again with these queues, in order of urgency."""
        self._queues = list(queues)
        self._rank = routing.ranks(self._queues)

    def consume(self, count: int) -> list[str]:
        """The first `count` queues."""
        return self._queues[:count]

    def rotate(self, last_used: str) -> None:
        """Move the queue that just gave a message behind its equals."""
        if last_used not in self._rank:
            return
        rank = self._rank[last_used]
        self._queues.remove(last_used)
        behind = [place for place, queue in enumerate(self._queues) if self._rank[queue] <= rank]
        self._queues.insert(behind[-1] + 1 if behind else 0, last_used)
