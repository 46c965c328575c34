"""pprof's profile.proto by protobuf's own runtime, to read what we wrote without our own code."""

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_FIELD = descriptor_pb2.FieldDescriptorProto
_NUMBER, _TEXT, _BOOL = _FIELD.TYPE_INT64, _FIELD.TYPE_STRING, _FIELD.TYPE_BOOL
_MESSAGES: dict[str, list[tuple[int, str, Any, bool]]] = {
    # (number, name, type, repeated)
    "ValueType": [(1, "type", _NUMBER, False), (2, "unit", _NUMBER, False)],
    "Label": [(1, "key", _NUMBER, False), (2, "str", _NUMBER, False)],
    "Sample": [
        (1, "location_id", _FIELD.TYPE_UINT64, True),
        (2, "value", _NUMBER, True),
        (3, "label", "Label", True),
    ],
    "Mapping": [
        (1, "id", _NUMBER, False),
        (5, "filename", _NUMBER, False),
        (6, "build_id", _NUMBER, False),
        *((number, f"has_{number}", _BOOL, False) for number in (7, 8, 9, 10)),
    ],
    "Line": [(1, "function_id", _NUMBER, False), (2, "line", _NUMBER, False)],
    "Location": [(1, "id", _NUMBER, False), (2, "mapping_id", _NUMBER, False), (4, "line", "Line", True)],
    "Function": [
        (1, "id", _NUMBER, False),
        (2, "name", _NUMBER, False),
        (3, "system_name", _NUMBER, False),
        (4, "filename", _NUMBER, False),
        (5, "start_line", _NUMBER, False),
    ],
    "Profile": [
        (1, "sample_type", "ValueType", True),
        (2, "sample", "Sample", True),
        (3, "mapping", "Mapping", True),
        (4, "location", "Location", True),
        (5, "function", "Function", True),
        (6, "string_table", _TEXT, True),
        (9, "time_nanos", _NUMBER, False),
        (10, "duration_nanos", _NUMBER, False),
        (11, "period_type", "ValueType", False),
        (12, "period", _NUMBER, False),
        (13, "comment", _NUMBER, True),
        (14, "default_sample_type", _NUMBER, False),
    ],
}


def _profile_class() -> Any:
    file = descriptor_pb2.FileDescriptorProto(
        name="test_profile.proto", package="read_pprof", syntax="proto3"
    )
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, field, kind, repeated in fields:
            label = _FIELD.LABEL_REPEATED if repeated else _FIELD.LABEL_OPTIONAL
            made = message.field.add(name=field, number=number, label=label)
            if isinstance(kind, str):
                made.type, made.type_name = _FIELD.TYPE_MESSAGE, f".read_pprof.{kind}"
            else:
                made.type = kind
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("read_pprof.Profile"))


_PROFILE = _profile_class()


def read(data: bytes) -> Any:
    """The message; an unknown field fails the test that asked."""
    profile = _PROFILE.FromString(data)
    assert profile.SerializeToString()
    assert not list(_unknown(profile))
    return profile


def _unknown(profile: Any) -> list[int]:
    from google.protobuf.unknown_fields import UnknownFieldSet

    parts = [profile, *profile.sample, *profile.location, *profile.function, *profile.mapping]
    return [field.field_number for part in parts for field in UnknownFieldSet(part)]
