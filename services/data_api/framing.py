"""Records as bytes on an HTTP stream: delimited protobuf, or one line of JSON each."""

from enum import Enum

from google.protobuf import json_format
from google.protobuf.message import Message


class Framing(Enum):
    """How records are separated. The value is the media type."""

    PROTOBUF = "application/vnd.fleetprof.data+protobuf"
    """Each record follows its length as a varint; `parseDelimitedFrom` of protobuf's libraries reads this."""
    NDJSON = "application/x-ndjson"
    """Protobuf's JSON mapping, one record per line."""

    def framed(self, record: Message) -> bytes:
        """The record with its separator."""
        if self is Framing.NDJSON:
            return json_format.MessageToJson(record, indent=None).encode("utf-8", "replace") + b"\n"
        data = record.SerializeToString()
        return varint(len(data)) + data


def varint(number: int) -> bytes:
    """A number in groups of 7 bits, lowest first. All bytes but the last have their high bit set."""
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)
