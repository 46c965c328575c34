"""GIVEN workers with shares of the partitions WHEN they look through queues THEN none is left out, own ones first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.affinity import PARTITIONS
from symbolizer.errors import BadShare
from symbolizer.worker import routing
from symbolizer.worker.routing import Share, queues

shares = st.integers(1, PARTITIONS).flatmap(
    lambda of: st.integers(1, of).map(lambda number: Share(number, of))
)
EVERY = {
    routing.NAMES,
    routing.BUILDS,
    *(kind(partition) for kind in (routing.fresh, routing.again) for partition in range(PARTITIONS)),
}


@given(shares, st.text(max_size=20))
def test_every_worker_takes_from_every_queue_in_order_of_urgency(share, name):
    order = queues(share, name)
    assert set(order) == EVERY
    assert len(order) == len(EVERY)
    place = order.index
    assert place(routing.NAMES) == 0
    own = [place(routing.fresh(partition)) for partition in share.own]
    others = [place(routing.fresh(p)) for p in range(PARTITIONS) if p not in share.own]
    again = [place(routing.again(p)) for p in range(PARTITIONS)]
    assert max(own) < place(routing.BUILDS) < min([*others, *again])
    assert max([*own, *others]) < min(again)
    assert max(place(routing.again(p)) for p in share.own) == min(again) + len(own) - 1


@given(st.integers(1, PARTITIONS))
def test_the_shares_of_all_workers_are_all_partitions_each_once(of):
    together = [partition for number in range(1, of + 1) for partition in Share(number, of).own]
    assert sorted(together) == list(range(PARTITIONS))


def test_workers_without_a_share_begin_at_different_partitions():
    firsts = {queues(routing.WHOLE, f"worker-{n}")[1] for n in range(40)}
    assert len(firsts) > 8


def test_a_share_is_read_as_it_is_written():
    assert Share.parse("2/3") == Share(2, 3)


@pytest.mark.parametrize("spelled", ["", "2", "0/3", "4/3", "-1/2", "1/17", "a/b", "1/2/3", "²/3"])
def test_what_is_no_share_is_refused_with_an_example(spelled):
    with pytest.raises(BadShare, match="2/3"):
        Share.parse(spelled)
