"""Strangers that hold connections to a port, and open another for each that is cut."""

import errno
import selectors
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.polling import until

_AGAIN_S = 0.05


class ConnectionFlood:
    """One address with so many connections, which all say one of these things and then nothing."""

    def __init__(self, port: int, *, source: str, size: int, says: Sequence[bytes]) -> None:
        self._target = ("127.0.0.1", port)
        self._source = source
        self._size = size
        self._says = says
        self._selector = selectors.DefaultSelector()
        self._held: set[socket.socket] = set()
        self.opened = 0
        self.cut = 0

    def keep_up(self, ending: threading.Event) -> None:
        """Open what is missing until `ending`."""
        while not ending.is_set():
            while len(self._held) < self._size:
                self._open()
            for key, mask in self._selector.select(_AGAIN_S):
                assert isinstance(key.fileobj, socket.socket)
                self._hear(key.fileobj, key.data, mask)
        for stranger in self._held:
            stranger.close()
        self._selector.close()

    def _open(self) -> None:
        stranger = socket.socket()
        stranger.setblocking(False)
        stranger.bind((self._source, 0))
        code = stranger.connect_ex(self._target)
        assert code in {0, errno.EINPROGRESS}
        self._held.add(stranger)
        says = self._says[self.opened % len(self._says)]
        self.opened += 1
        self._selector.register(stranger, selectors.EVENT_READ | selectors.EVENT_WRITE, says)

    def _hear(self, stranger: socket.socket, says: bytes, mask: int) -> None:
        try:
            if mask & selectors.EVENT_WRITE:
                stranger.send(says)
                self._selector.modify(stranger, selectors.EVENT_READ)
            elif not stranger.recv(1 << 16):
                raise ConnectionError("cut")
        except OSError:
            self.cut += 1
            self._held.remove(stranger)
            self._selector.unregister(stranger)
            stranger.close()


@contextmanager
def flooding(port: int, *, source: str, size: int, says: Sequence[bytes]) -> Iterator[ConnectionFlood]:
    """Have them there, all of them at least once, and go on until the end."""
    crowd, ending = ConnectionFlood(port, source=source, size=size, says=says), threading.Event()
    thread = threading.Thread(target=crowd.keep_up, args=(ending,))
    thread.start()
    try:
        until(lambda: crowd.opened >= size, "they are there")
        yield crowd
    finally:
        ending.set()
        thread.join()
