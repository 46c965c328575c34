"""GIVEN workers with shares of the partitions WHEN they look through queues THEN none is left out, own ones first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.work_partitions import PARTITIONS
from symbolizer.errors import BadPartitions
from symbolizer.worker import routing
from symbolizer.worker.routing import WorkerPartitions, queues

shares = st.integers(1, PARTITIONS).flatmap(
    lambda of: st.integers(1, of).map(lambda number: WorkerPartitions(number, of))
)
EVERY = {
    routing.NAMES,
    routing.BUILDS,
    *(
        kind(partition)
        for kind in (routing.new_queue, routing.reprocess_queue)
        for partition in range(PARTITIONS)
    ),
}


@given(shares, st.text(max_size=20))
def test_every_worker_takes_from_every_queue_in_order_of_urgency(share, name):
    order = queues(share, name)
    assert set(order) == EVERY
    assert len(order) == len(EVERY)
    place = order.index
    assert place(routing.NAMES) == 0
    own = [place(routing.new_queue(partition)) for partition in share.own]
    others = [place(routing.new_queue(p)) for p in range(PARTITIONS) if p not in share.own]
    again = [place(routing.reprocess_queue(p)) for p in range(PARTITIONS)]
    assert max(own) < place(routing.BUILDS) < min([*others, *again])
    assert max([*own, *others]) < min(again)
    assert max(place(routing.reprocess_queue(p)) for p in share.own) == min(again) + len(own) - 1


@given(st.integers(1, PARTITIONS))
def test_the_shares_of_all_workers_are_all_partitions_each_once(of):
    together = [partition for number in range(1, of + 1) for partition in WorkerPartitions(number, of).own]
    assert sorted(together) == list(range(PARTITIONS))


def test_workers_without_a_share_begin_at_different_partitions():
    firsts = {queues(routing.ALL_PARTITIONS, f"worker-{n}")[1] for n in range(40)}
    assert len(firsts) > 8


def test_a_share_is_read_as_it_is_written():
    assert WorkerPartitions.parse("2/3") == WorkerPartitions(2, 3)


@pytest.mark.parametrize("spelled", ["", "2", "0/3", "4/3", "-1/2", "1/17", "a/b", "1/2/3", "²/3"])
def test_what_is_no_share_is_refused_with_an_example(spelled):
    with pytest.raises(BadPartitions, match="2/3"):
        WorkerPartitions.parse(spelled)
