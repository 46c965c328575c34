"""GIVEN few places for connections WHEN more come THEN those without a request make room, and no others."""

import resource
import socket
from collections.abc import Iterator

import pytest

from services.api import connection_limits
from services.api.connection_limits import Connection, Connections, max_connections, peer_of
from symbolizer.worker.descriptor_limit import MOST

HERE, ONE, OTHER = "local", "10.0.0.1", "10.0.0.2"


class Door:
    """Lets connections in, and knows what becomes of them."""

    def __init__(self, most: int, most_of_one: int) -> None:
        self.connections = Connections(most, most_of_one)
        self.far: dict[Connection, socket.socket] = {}

    def knock(self, peer: str) -> Connection | None:
        near, far = socket.socketpair()
        connection = Connection(near.family, near.type, near.proto, fileno=near.detach())
        self.far[connection.join(self.connections, peer)] = far
        if self.connections.enter(connection):
            return connection
        connection.close()
        return None

    def working(self, peer: str) -> Connection:
        connection = self.knock(peer)
        assert connection is not None
        self.connections.works(connection.number)
        return connection

    def displaced(self, connection: Connection) -> bool:
        """Its transport would read the end."""
        connection.setblocking(False)
        try:
            return connection.recv(1) == b""
        except BlockingIOError:
            return False

    def close(self) -> None:
        for near, far in self.far.items():
            near.close()
            far.close()


@pytest.fixture
def door() -> Iterator[Door]:
    made = Door(most=4, most_of_one=2)
    yield made
    made.close()
    assert made.connections.open == 0


def test_the_one_that_waits_longest_makes_room(door: Door):
    first, *rest = [door.knock(peer) for peer in (ONE, OTHER, "10.0.0.3", "10.0.0.4")]
    last = door.knock("10.0.0.5")
    assert [door.displaced(each) for each in (first, *rest, last)] == [True, False, False, False, False]
    assert door.connections.open == 4


def test_who_opens_many_displaces_its_own(door: Door):
    honest = door.knock(OTHER)
    flood = [door.knock(ONE) for _ in range(100)]
    assert not door.displaced(honest)
    assert [door.displaced(each) for each in flood] == [True] * 98 + [False] * 2


def test_a_request_under_way_is_displaced_by_none(door: Door):
    works = [door.working(ONE), door.working(ONE)]
    assert door.knock(ONE) is None
    works += [door.working(OTHER), door.working(OTHER)]
    assert door.knock("10.0.0.3") is None
    assert not any(map(door.displaced, works))
    door.connections.waits(works[0].number)
    assert door.knock("10.0.0.3") is not None
    assert [door.displaced(each) for each in works] == [True, False, False, False]


def test_a_place_is_free_once_its_connection_is_closed(door: Door):
    for _ in range(10):
        door.working(ONE).close()
    assert door.connections.open == 0
    assert door.knock(ONE) is not None


def test_this_machine_may_have_all_max_connections(door: Door):
    works = [door.working(HERE) for _ in range(4)]
    assert door.knock(HERE) is None
    assert door.knock(ONE) is None
    works[0].close()
    assert door.knock(HERE) is not None


@pytest.mark.parametrize(
    ("address", "peer"),
    [
        (("127.0.0.1", 4000), HERE),
        (("127.8.9.1", 4000), HERE),
        (("::1", 4000, 0, 0), HERE),
        (("::ffff:127.0.0.1", 4000, 0, 0), HERE),
        ("", HERE),
        (b"", HERE),
        (("10.0.0.1", 4000), ONE),
        (("::ffff:10.0.0.1", 4000, 0, 0), ONE),
        (("2001:db8:1:2:3:4:5:6", 4000, 0, 0), "2001:db8:1:2::/64"),
        (("fe80::1%eth0", 4000, 0, 2), "fe80::/64"),
    ],
)
def test_whose_connection_it_is(address: object, peer: str):
    assert peer_of(address) == peer


@pytest.fixture
def soft_limit() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_descriptors_are_raised_to_what_places_need(soft_limit: None):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard))
    wanted = 1024
    assert max_connections(wanted) == wanted
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > wanted


def test_no_more_places_than_descriptors(soft_limit: None):
    most = max_connections(2 * MOST)
    assert most == resource.getrlimit(resource.RLIMIT_NOFILE)[0] - connection_limits.BACKLOG - 256
