"""Check wire compatibility: nodes and collectors are upgraded at different times, and archives are read for years.

`proto/revisions/` holds a FileDescriptorSet of each revision with which data was written. `python infra/wire.py`
compares the committed stubs with every revision; `python infra/wire.py record NAME` adds the current one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorSet,
    ServiceDescriptorProto,
)

if TYPE_CHECKING:
    from google.protobuf.descriptor import FileDescriptor

ROOT = Path(__file__).parents[1]
REVISIONS = ROOT / "proto/revisions"
_Type = FieldDescriptorProto.Type


def breaks(before: FileDescriptorSet, now: FileDescriptorSet) -> list[str]:
    """A sentence for each change that makes an old message unreadable or changes its meaning; empty if compatible."""
    old, new = _Schema(before), _Schema(now)
    found = []
    for name, message in old.messages.items():
        later = new.messages.get(name)
        found += [f"{name} is gone"] if later is None else _message_breaks(name, message, later)
    for name, enum in old.enums.items():
        found += _enum_breaks(name, enum, new.enums.get(name))
    for name, service in old.services.items():
        found += _service_breaks(name, service, new.services.get(name))
    return found


def current() -> FileDescriptorSet:
    """Descriptors of the committed stubs, which `make check` compares with the .proto files."""
    from fleetpb import capture_pb2, data_pb2, gateway_pb2  # noqa: PLC0415 - the script sets the path first

    described = FileDescriptorSet()
    files: list[FileDescriptor] = [capture_pb2.DESCRIPTOR, gateway_pb2.DESCRIPTOR, data_pb2.DESCRIPTOR]
    for file in files:
        file.CopyToProto(described.file.add())
    return described


def revisions() -> dict[str, FileDescriptorSet]:
    """Every recorded revision by its name, oldest first."""
    return {
        file.stem: FileDescriptorSet.FromString(file.read_bytes())
        for file in sorted(REVISIONS.glob("*.binpb"))
    }


class _Schema:
    """All messages, enums and services of a set by their full names."""

    def __init__(self, files: FileDescriptorSet) -> None:
        self.messages: dict[str, DescriptorProto] = {}
        self.enums: dict[str, EnumDescriptorProto] = {}
        self.services: dict[str, ServiceDescriptorProto] = {}
        for file in files.file:
            self.enums |= {f"{file.package}.{enum.name}": enum for enum in file.enum_type}
            self.services |= {f"{file.package}.{service.name}": service for service in file.service}
            for message in file.message_type:
                self._add(f"{file.package}.{message.name}", message)

    def _add(self, name: str, message: DescriptorProto) -> None:
        self.messages[name] = message
        self.enums |= {f"{name}.{enum.name}": enum for enum in message.enum_type}
        for nested in message.nested_type:
            self._add(f"{name}.{nested.name}", nested)


def _message_breaks(name: str, before: DescriptorProto, now: DescriptorProto) -> Iterator[str]:
    later = {field.number: field for field in now.field}
    for field in before.field:
        at = f"{name}.{field.name} = {field.number}"
        if field.number in later:
            yield from _field_breaks(at, before, field, now, later[field.number])
        elif any(held.name == field.name for held in now.field):
            yield f"{at} has another number now"
        elif not any(span.start <= field.number < span.end for span in now.reserved_range):
            yield f"{at} is gone; its number must be reserved"
        elif field.name not in now.reserved_name:
            yield f"{at} is gone; its name must be reserved"
    numbers = {field.number for field in before.field}
    for span in before.reserved_range:
        numbers |= set(range(span.start, span.end))
        for number in range(span.start, span.end):
            if number in later:
                yield f"{name}.{later[number].name} takes number {number}, which was given up"
    names = {field.name for field in before.field} | set(before.reserved_name)
    for field in now.field:
        if field.number not in numbers and field.name in before.reserved_name and field.name in names:
            yield f"{name}.{field.name} takes a name that was given up"


def _field_breaks(
    at: str,
    old_in: DescriptorProto,
    old: FieldDescriptorProto,
    new_in: DescriptorProto,
    new: FieldDescriptorProto,
) -> Iterator[str]:
    if new.name != old.name:
        yield f"{at} is called {new.name} now"
    if (new.type, new.type_name) != (old.type, old.type_name):
        yield f"{at} is {_type(new)} now, no longer {_type(old)}"
    if new.label != old.label:
        yield f"{at} is no longer {FieldDescriptorProto.Label.Name(old.label).removeprefix('LABEL_').lower()}"
    if old.options.packed != new.options.packed:
        yield f"{at} is packed otherwise"
    if _choice(old_in, old) != _choice(new_in, new):
        yield f"{at} moved into or out of a oneof"


def _choice(message: DescriptorProto, field: FieldDescriptorProto) -> str:
    return message.oneof_decl[field.oneof_index].name if field.HasField("oneof_index") else ""


def _type(field: FieldDescriptorProto) -> str:
    return field.type_name or _Type.Name(field.type).removeprefix("TYPE_").lower()


def _enum_breaks(name: str, before: EnumDescriptorProto, now: EnumDescriptorProto | None) -> Iterator[str]:
    if now is None:
        yield f"{name} is gone"
        return
    later = {value.number: value.name for value in now.value}
    for value in before.value:
        if later.get(value.number) != value.name:
            yield f"{name}: {value.number} was {value.name}, is {later.get(value.number, 'nothing')}"


def _service_breaks(
    name: str, before: ServiceDescriptorProto, now: ServiceDescriptorProto | None
) -> Iterator[str]:
    later = {} if now is None else {method.name: method for method in now.method}
    for method in before.method:
        new = later.get(method.name)
        if new is None:
            yield f"{name}.{method.name} is gone"
        elif _signature(new) != _signature(method):
            yield f"{name}.{method.name} takes or gives something else"


def _signature(method: object) -> tuple[object, ...]:
    parts = ("input_type", "output_type", "client_streaming", "server_streaming")
    return tuple(getattr(method, part) for part in parts)


def main(arguments: list[str]) -> str | None:
    """Text to print at exit; None on success."""
    if arguments[:1] == ["record"] and len(arguments) == 2:
        file = REVISIONS / f"{arguments[1]}.binpb"
        file.write_bytes(current().SerializeToString(deterministic=True))
        return None
    if arguments:
        return "usage: infra/wire.py [record NAME]"
    now = current()
    found = [f"since {name}: {what}" for name, before in revisions().items() for what in breaks(before, now)]
    return "\n".join(found) or None


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "proto"))
    sys.exit(main(sys.argv[1:]))
