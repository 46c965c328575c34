"""Bound the memory that a message would take, before it is parsed.

A parsed protobuf message can be forty times its bytes: two bytes are an empty sub-message, which takes seventy, and a
zero of a packed column takes eight. A capture of 256 MiB made of them took 9 GB, and compressed to a few kilobytes, so
any gateway could have ended the collector. So large messages are walked first, by their schema, and their parts are
counted. Small ones cannot do harm and skip the walk, which takes Python a microsecond per part.
"""

from collections.abc import Mapping
from functools import cache
from typing import cast

import numpy as np
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from storage.errors import BadCapture

SMALL_BYTES = 4 << 20
"""Messages up to this size are not counted: at worst they become 150 MiB."""
MOST_PARTS = 2_000_000
"""Fields of a message and its sub-messages. A minute of 512 CPUs has some hundred thousand."""
MOST_NUMBERS = 1 << 26
"""Numbers in packed columns, of eight bytes each."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_PACKED_WIDTHS = {
    FieldDescriptor.TYPE_DOUBLE: 8,
    FieldDescriptor.TYPE_FIXED64: 8,
    FieldDescriptor.TYPE_SFIXED64: 8,
    FieldDescriptor.TYPE_FLOAT: 4,
    FieldDescriptor.TYPE_FIXED32: 4,
    FieldDescriptor.TYPE_SFIXED32: 4,
}
_LONGEST_VARINT = 10


def check_size(raw: bytes | bytearray, kind: type[Message]) -> None:
    """Raise `BadCapture` for a large message with more parts or numbers than any capture has.

    A malformed message passes; its parser reports the error with more detail.
    """
    if len(raw) > SMALL_BYTES:
        try:
            _Walk(raw).message(0, len(raw), cast("Descriptor", kind.DESCRIPTOR))
        except IndexError:
            return  # it ends within a number


class _Walk:
    def __init__(self, raw: bytes | bytearray) -> None:
        self._raw = raw
        self._parts = 0
        self._numbers = 0

    def message(self, at: int, end: int, kind: Descriptor) -> bool:
        """Count the parts of a message; return False if it is malformed."""
        fields = _fields(kind)
        raw = self._raw
        while at < end:
            self._parts += 1
            if self._parts > MOST_PARTS:
                raise BadCapture(
                    f"The capture has more than {MOST_PARTS} parts; no real machine's capture has that many."
                )
            tag, at = _varint(raw, at)
            wire = tag & 7
            if wire == _VARINT:
                _, at = _varint(raw, at)
            elif wire == _FIXED64:
                at += 8
            elif wire == _FIXED32:
                at += 4
            elif wire == _BYTES:
                size, at = _varint(raw, at)
                if at + size > end:
                    return False
                field = fields.get(tag >> 3)
                if isinstance(field, int):
                    self._column(at, at + size, field)
                elif field is not None and not self.message(at, at + size, field):
                    return False
                at += size
            else:
                return False  # groups, which no message of this project has
        return True

    def _column(self, at: int, end: int, width: int) -> None:
        """Count a packed column's numbers; `width` 0: varints, whose last byte is below 128."""
        if width:
            self._numbers += (end - at) // width
        else:
            self._numbers += int(np.count_nonzero(np.frombuffer(self._raw, np.uint8, end - at, at) < 0x80))
        if self._numbers > MOST_NUMBERS:
            raise BadCapture(
                f"The capture has more than {MOST_NUMBERS} numbers; no real machine's capture has that many."
            )


@cache
def _fields(kind: Descriptor) -> Mapping[int, Descriptor | int]:
    """By field number: the message type of a field, or the bytes per number of its packed column (0: varints).

    Texts and unknown fields are missing.
    """
    found: dict[int, Descriptor | int] = {}
    for field in kind.fields:
        if field.message_type is not None:
            found[field.number] = field.message_type
        elif field.is_repeated and field.type not in {
            FieldDescriptor.TYPE_STRING,
            FieldDescriptor.TYPE_BYTES,
        }:
            found[field.number] = _PACKED_WIDTHS.get(field.type, 0)
    return found


def _varint(raw: bytes | bytearray, at: int) -> tuple[int, int]:
    """The number at `at` and the position after it. Raises IndexError if it does not end."""
    byte = raw[at]
    if byte < 0x80:
        return byte, at + 1
    value, shift = byte & 0x7F, 7
    for place in range(at + 1, at + _LONGEST_VARINT):
        byte = raw[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place + 1
        shift += 7
    raise IndexError("a number has more than ten bytes")
