"""Delimited messages: each follows its length, a varint."""

from collections.abc import Iterable, Iterator

_LONGEST_LENGTH = 10


def messages(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes of each message, from pieces of any size. Raises EOFError if the last one is cut short."""
    held = bytearray()
    for piece in pieces:
        held += piece
        at = 0
        while (found := _length(held, at)) is not None and found[1] + found[0] <= len(held):
            length, start = found
            yield bytes(held[start : start + length])
            at = start + length
        del held[:at]
    if held:
        raise EOFError("the last message is truncated")


def _length(held: bytearray, at: int) -> tuple[int, int] | None:
    """The length at this offset and where its message begins; None: the length is incomplete."""
    value = 0
    for place in range(_LONGEST_LENGTH):
        if at + place >= len(held):
            return None
        byte = held[at + place]
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value, at + place + 1
    raise EOFError("the length of a message has more than 10 bytes")
