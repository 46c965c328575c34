"""GIVEN messages of another revision WHEN they are read THEN nothing is lost and nothing means something else."""

import functools
from pathlib import Path

import pytest
import zstandard
from google.protobuf import descriptor_pool, message_factory, timestamp_pb2
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorSet
from google.protobuf.message import Message

from fleetpb import capture_pb2, data_pb2, gateway_pb2
from infra import wire
from storage.ingest.decode_capture import decode_capture

ROOT = Path(__file__).parents[3]
REVISIONS = wire.revisions()
NEWEST = list(REVISIONS)[-1]
ROOTS = [
    (revision, f"{file.package}.{message.name}")
    for revision, files in REVISIONS.items()
    for file in files.file
    for message in file.message_type
]
NUMBERS = {
    FieldDescriptor.CPPTYPE_INT32: 3,
    FieldDescriptor.CPPTYPE_INT64: 4,
    FieldDescriptor.CPPTYPE_UINT32: 5,
    FieldDescriptor.CPPTYPE_UINT64: 2**40,
    FieldDescriptor.CPPTYPE_DOUBLE: 0.5,
    FieldDescriptor.CPPTYPE_BOOL: True,
    FieldDescriptor.CPPTYPE_ENUM: 1,
}


@functools.cache
def pool_of(revision: str) -> descriptor_pool.DescriptorPool:
    """Its own world: a class of it and one of today's are strangers."""
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)  # protobuf's own: no revision changes it
    for file in REVISIONS[revision].file:
        pool.Add(file)
    return pool


def message_class(revision: str, name: str) -> type[Message]:
    """The class that a program of that revision had."""
    return message_factory.GetMessageClass(pool_of(revision).FindMessageTypeByName(name))


def todays_class(name: str) -> type[Message]:
    short = name.rpartition(".")[2]
    return next(getattr(file, short) for file in (capture_pb2, gateway_pb2, data_pb2) if hasattr(file, short))


def fill(message: Message, depth: int = 0) -> Message:
    """Every field of the message set; of a oneof the last one stays."""
    for field in message.DESCRIPTOR.fields:
        if field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
            if field.message_type.GetOptions().map_entry:
                getattr(message, field.name)["key"] = (
                    "text" if field.message_type.fields_by_name["value"].cpp_type == 9 else 7
                )
            elif depth < 4:
                inner = getattr(message, field.name)
                fill(inner.add() if field.is_repeated else inner, depth + 1)
            continue
        if field.type == FieldDescriptor.TYPE_BYTES:
            value: object = b"bytes"
        elif field.type == FieldDescriptor.TYPE_STRING:
            value = "text"
        else:
            value = NUMBERS[field.cpp_type]
        if field.is_repeated:
            getattr(message, field.name).append(value)
        else:
            setattr(message, field.name, value)
    return message


@pytest.mark.parametrize("revision", REVISIONS)
def test_today_breaks_no_revision(revision: str):
    assert wire.breaks(REVISIONS[revision], wire.current()) == []


@pytest.mark.parametrize(("revision", "name"), ROOTS)
def test_an_old_reader_keeps_what_it_does_not_know(revision: str, name: str):
    new = fill(todays_class(name)())
    old = message_class(revision, name).FromString(new.SerializeToString())
    assert todays_class(name).FromString(old.SerializeToString()) == new


@pytest.mark.parametrize(("revision", "name"), ROOTS)
def test_a_new_reader_reads_all_that_an_old_one_wrote(revision: str, name: str):
    old = fill(message_class(revision, name)())
    new = todays_class(name).FromString(old.SerializeToString())
    assert message_class(revision, name).FromString(new.SerializeToString()) == old
    assert not unknown(new), "every field of an old message has its place"


def unknown(message: Message) -> bool:
    """Whether a message holds fields that its class does not know."""
    known = type(message)()
    known.CopyFrom(message)
    known.DiscardUnknownFields()
    return known.SerializeToString(deterministic=True) != message.SerializeToString(deterministic=True)


def test_it_would_notice():
    message = message_class(NEWEST, "fleetpb.v1.Machine").FromString(b"\xf8\x7d\x01")
    assert unknown(message)


class TestGolden:
    """A capture that the gateway of that revision took of a machine, as it lies in an archive."""

    @pytest.mark.parametrize(
        "file", sorted((ROOT / "tests/golden/wire").glob("*.capture.zst")), ids=lambda file: file.name
    )
    def test_an_archived_capture_means_what_it_meant(self, file: Path):
        revision = file.name.removesuffix(".capture.zst")
        raw = zstandard.ZstdDecompressor().decompress(file.read_bytes())
        old = message_class(revision, "fleetpb.v1.Capture").FromString(raw)
        new = decode_capture(file.read_bytes())
        assert new.format == old.format == 1
        assert new.SerializeToString(deterministic=True) == old.SerializeToString(deterministic=True)

    def test_in_numbers(self):
        capture = decode_capture((ROOT / "tests/golden/wire/2026-11-20.capture.zst").read_bytes())
        [segment] = capture.segments
        assert (capture.strings[segment.event], segment.samples, segment.period) == ("cpu", 24, 20_408_163)
        assert sum(sum(profile.count) for profile in segment.profiles) == 24
        assert (len(capture.groups), len(capture.stacks.length)) == (4, len(capture.stacks.end))
        assert capture.machine.hostname == "node-17"
        # What that revision could not say is not known, and is no zero of ours.
        assert (capture.machine.smt, list(capture.machine.siblings)) == ("", [])


def test_an_unknown_value_of_an_enum_is_kept():
    """A support code that only a newer gateway knows is a verdict other than OK: the segment is empty, not wrong."""
    segment = capture_pb2.Segment(support=77, errno=5)  # type: ignore[arg-type]  # that is the point
    again = capture_pb2.Segment.FromString(segment.SerializeToString())
    assert again.support == 77
    assert again.support != capture_pb2.SUPPORT_OK


def changed(change: str) -> FileDescriptorSet:
    """Today's descriptors after a change that somebody might make."""
    files = FileDescriptorSet.FromString(wire.current().SerializeToString())
    messages = {message.name: message for file in files.file for message in file.message_type}
    machine = messages["Machine"]
    field = next(field for field in machine.field if field.name == "logical_cpus")
    match change:
        case "renumbered":
            field.number = 99
        case "retyped":
            field.type = FieldDescriptorProto.TYPE_SINT32
        case "renamed":
            field.name = "cpus"
        case "removed":
            machine.field.remove(field)
        case "removed, number kept":
            machine.field.remove(field)
            machine.reserved_range.add(start=8, end=9)
        case "reused":
            number = field.number
            machine.field.remove(field)
            machine.field.add(name="other", number=number, type=field.type, label=field.label)
        case "repeated":
            field.label = FieldDescriptorProto.LABEL_REPEATED
        case "out of its oneof":
            refusal = next(field for field in messages["CaptureReply"].field if field.name == "refusal")
            refusal.ClearField("oneof_index")
        case "message gone":
            files.file[0].message_type.remove(machine)
        case "enum value":
            files.file[0].enum_type[0].value[1].name = "SUPPORT_FINE"
        case "enum gone":
            del files.file[0].enum_type[:]
        case "method gone":
            del files.file[1].service[0].method[0]
        case "method streams":
            files.file[1].service[0].method[0].server_streaming = True
    return files


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("renumbered", "Machine.logical_cpus = 8 has another number now"),
        ("retyped", "Machine.logical_cpus = 8 is sint32 now, no longer uint32"),
        ("renamed", "Machine.logical_cpus = 8 is called cpus now"),
        ("removed", "Machine.logical_cpus = 8 is gone; its number must be reserved"),
        ("removed, number kept", "Machine.logical_cpus = 8 is gone; its name must be reserved"),
        ("reused", "Machine.logical_cpus = 8 is called other now"),
        ("repeated", "Machine.logical_cpus = 8 is no longer optional"),
        ("out of its oneof", "CaptureReply.refusal = 5 moved into or out of a oneof"),
        ("message gone", "fleetpb.v1.Machine is gone"),
        ("enum value", "fleetpb.v1.Support: 1 was SUPPORT_OK, is SUPPORT_FINE"),
        ("enum gone", "fleetpb.v1.Support is gone"),
        ("method gone", "fleetpb.v1.Gateway.Describe is gone"),
        ("method streams", "fleetpb.v1.Gateway.Describe takes or gives something else"),
    ],
)
def test_a_change_that_breaks_is_named(change: str, says: str):
    assert any(says in found for found in wire.breaks(wire.current(), changed(change)))


def test_a_field_given_up_is_never_taken_again():
    before = wire.current()
    machine = next(message for message in before.file[0].message_type if message.name == "Machine")
    machine.reserved_range.add(start=77, end=79)
    now = wire.current()
    later = next(message for message in now.file[0].message_type if message.name == "Machine")
    later.field.add(
        name="new", number=78, type=FieldDescriptorProto.TYPE_BOOL, label=FieldDescriptorProto.LABEL_OPTIONAL
    )
    assert wire.breaks(before, now) == ["fleetpb.v1.Machine.new takes number 78, which was given up"]


def test_growing_breaks_nothing():
    now = wire.current()
    now.file[0].message_type.add(name="New")
    now.file[0].message_type[0].field.add(name="new", number=99, type=FieldDescriptorProto.TYPE_BOOL)
    now.file[0].enum_type[0].value.add(name="SUPPORT_NEW", number=99)
    assert wire.breaks(wire.current(), now) == []
