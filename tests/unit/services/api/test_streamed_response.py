"""GIVEN answers that are sent in parts WHEN they are sent, fail or are let go THEN their place is given back once."""

from collections.abc import AsyncIterator

import anyio
import anyio.lowlevel
import pytest

from services.api.streamed_response import SendSlots, StreamedBody


async def parts(broken: bool = False) -> AsyncIterator[bytes]:
    yield b"one"
    if broken:
        raise OSError("gone")
    yield b"two"


def test_places_are_as_many_as_there_are() -> None:
    places = SendSlots(2)
    assert [places.take() for _ in range(3)] == [True, True, False]
    places.release()
    assert [places.take(), places.take()] == [True, False]


@pytest.mark.parametrize("broken", [False, True])
def test_what_was_sent_is_done_once(broken: bool) -> None:
    done: list[int] = []

    async def send() -> list[bytes]:
        sent = StreamedBody(parts(broken), lambda: done.append(1))
        found = []
        try:
            async for part in sent:
                found.append(part)
                assert done == []
        except OSError:
            assert broken
        assert done == [1]
        return found

    assert anyio.run(send) == ([b"one"] if broken else [b"one", b"two"])
    assert done == [1]


def test_what_nobody_reads_is_done_too() -> None:
    done: list[int] = []

    async def let_go() -> None:
        sent = StreamedBody(parts(), lambda: done.append(1))
        del sent

    anyio.run(let_go)
    assert done == [1]


@pytest.mark.parametrize("reading", [False, True])
def test_who_takes_nothing_is_cut(reading: bool) -> None:
    async def send() -> bool:
        cut = anyio.Event()
        sent = StreamedBody(parts(), lambda: None, cut=cut.set, unread_s=0.0)
        assert await anext(sent) == b"one"
        if reading:  # the loop does not turn meanwhile
            assert [part async for part in sent] == [b"two"]
            for _ in range(3):
                await anyio.lowlevel.checkpoint()
        else:
            with anyio.fail_after(60):
                await cut.wait()
        return cut.is_set()

    assert anyio.run(send) is not reading
