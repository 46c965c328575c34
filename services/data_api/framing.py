"""Records as bytes on an HTTP stream: delimited protobuf, or a line of JSON each."""

from enum import Enum

from google.protobuf import json_format
from google.protobuf.message import Message


class Framing(Enum):
    """How records stand one after the other; the value is the media type."""

    PROTOBUF = "application/vnd.fleetprof.data+protobuf"
    """Before each record its length as a varint: what `parseDelimitedFrom` of protobuf's libraries reads."""
    NDJSON = "application/x-ndjson"
    """Protobuf's JSON mapping, a line each."""

    def framed(self, record: Message) -> bytes:
        """The record with what parts it from the next."""
        if self is Framing.NDJSON:
            return json_format.MessageToJson(record, indent=None).encode("utf-8", "replace") + b"\n"
        data = record.SerializeToString()
        return varint(len(data)) + data


def varint(number: int) -> bytes:
    """A number of 7 bits a byte, lowest first; all but the last byte have their high bit set."""
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)
