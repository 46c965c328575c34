"""GIVEN queues that never run dry WHEN a worker takes from the first again and again THEN equals come by turns."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from storage.work_partitions import PARTITIONS
from symbolizer.worker import routing
from symbolizer.worker.queue_rotation import QueueRotation
from symbolizer.worker.routing import WorkerPartitions, queues

shares = st.integers(1, PARTITIONS).flatmap(
    lambda of: st.integers(1, of).map(lambda number: WorkerPartitions(number, of))
)


def turns(order: list[str]) -> QueueRotation:
    made = QueueRotation()
    for subscribed in range(1, len(order) + 1):  # as kombu tells them, one more each time
        made.update(order[:subscribed])
    return made


@given(shares)
def test_of_queues_that_never_run_dry_all_of_the_most_urgent_kind_are_taken_as_often(
    share: WorkerPartitions,
) -> None:
    order = queues(share, "w")
    made = turns(order)
    full = [queue for queue in order if queue != routing.NAMES]
    taken: Counter[str] = Counter()
    for _ in range(3 * (len(share.own) + 1)):
        first = next(queue for queue in made.consume(len(order)) if queue in full)
        taken[first] += 1
        made.rotate(first)
    assert taken == dict.fromkeys([*map(routing.new_queue, share.own), routing.BUILDS], 3)


@given(shares, st.lists(st.sampled_from(queues(routing.ALL_PARTITIONS, "w")), max_size=60))
def test_turns_change_nothing_between_kinds(share: WorkerPartitions, given_by: list[str]) -> None:
    order = queues(share, "w")
    made, rank = turns(order), routing.ranks(order)
    for queue in given_by:
        made.rotate(queue)
        now = made.consume(len(order))
        assert sorted(now) == sorted(order)
        assert [rank[one] for one in now] == sorted(rank.values())
        assert [one for one in now if rank[one] == rank[queue]][-1] == queue


def test_a_queue_that_nobody_subscribed_to_has_no_turn() -> None:
    made = turns(["a", "b"])
    made.rotate("c")
    assert made.consume(2) == ["a", "b"]
