import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RecordStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RECORD_STATUS_UNSPECIFIED: _ClassVar[RecordStatus]
    RECORD_OK: _ClassVar[RecordStatus]
    RECORD_EXPIRED: _ClassVar[RecordStatus]
    RECORD_MISSING: _ClassVar[RecordStatus]
    RECORD_CORRUPT: _ClassVar[RecordStatus]
    RECORD_TOO_LARGE: _ClassVar[RecordStatus]
RECORD_STATUS_UNSPECIFIED: RecordStatus
RECORD_OK: RecordStatus
RECORD_EXPIRED: RecordStatus
RECORD_MISSING: RecordStatus
RECORD_CORRUPT: RecordStatus
RECORD_TOO_LARGE: RecordStatus

class Selection(_message.Message):
    __slots__ = ("from_time", "to_time", "select", "campaign", "event", "unit", "focus", "ignore", "hide", "show", "show_from")
    FROM_TIME_FIELD_NUMBER: _ClassVar[int]
    TO_TIME_FIELD_NUMBER: _ClassVar[int]
    SELECT_FIELD_NUMBER: _ClassVar[int]
    CAMPAIGN_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    FOCUS_FIELD_NUMBER: _ClassVar[int]
    IGNORE_FIELD_NUMBER: _ClassVar[int]
    HIDE_FIELD_NUMBER: _ClassVar[int]
    SHOW_FIELD_NUMBER: _ClassVar[int]
    SHOW_FROM_FIELD_NUMBER: _ClassVar[int]
    from_time: str
    to_time: str
    select: str
    campaign: str
    event: str
    unit: str
    focus: str
    ignore: str
    hide: str
    show: str
    show_from: str
    def __init__(self, from_time: _Optional[str] = ..., to_time: _Optional[str] = ..., select: _Optional[str] = ..., campaign: _Optional[str] = ..., event: _Optional[str] = ..., unit: _Optional[str] = ..., focus: _Optional[str] = ..., ignore: _Optional[str] = ..., hide: _Optional[str] = ..., show: _Optional[str] = ..., show_from: _Optional[str] = ...) -> None: ...

class CaptureQuery(_message.Message):
    __slots__ = ("selection", "cursor", "follow", "max_record_bytes")
    SELECTION_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    MAX_RECORD_BYTES_FIELD_NUMBER: _ClassVar[int]
    selection: Selection
    cursor: str
    follow: bool
    max_record_bytes: int
    def __init__(self, selection: _Optional[_Union[Selection, _Mapping]] = ..., cursor: _Optional[str] = ..., follow: _Optional[bool] = ..., max_record_bytes: _Optional[int] = ...) -> None: ...

class ProfileQuery(_message.Message):
    __slots__ = ("selection", "cursor", "follow", "max_record_bytes", "only_matching")
    SELECTION_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    MAX_RECORD_BYTES_FIELD_NUMBER: _ClassVar[int]
    ONLY_MATCHING_FIELD_NUMBER: _ClassVar[int]
    selection: Selection
    cursor: str
    follow: bool
    max_record_bytes: int
    only_matching: bool
    def __init__(self, selection: _Optional[_Union[Selection, _Mapping]] = ..., cursor: _Optional[str] = ..., follow: _Optional[bool] = ..., max_record_bytes: _Optional[int] = ..., only_matching: _Optional[bool] = ...) -> None: ...

class CaptureRecord(_message.Message):
    __slots__ = ("cursor", "capture", "progress", "failure")
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    CAPTURE_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    cursor: str
    capture: VisitCapture
    progress: StreamProgress
    failure: StreamFailure
    def __init__(self, cursor: _Optional[str] = ..., capture: _Optional[_Union[VisitCapture, _Mapping]] = ..., progress: _Optional[_Union[StreamProgress, _Mapping]] = ..., failure: _Optional[_Union[StreamFailure, _Mapping]] = ...) -> None: ...

class ProfileRecord(_message.Message):
    __slots__ = ("cursor", "visit", "design", "progress", "failure")
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    VISIT_FIELD_NUMBER: _ClassVar[int]
    DESIGN_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    cursor: str
    visit: VisitProfiles
    design: DayDesign
    progress: StreamProgress
    failure: StreamFailure
    def __init__(self, cursor: _Optional[str] = ..., visit: _Optional[_Union[VisitProfiles, _Mapping]] = ..., design: _Optional[_Union[DayDesign, _Mapping]] = ..., progress: _Optional[_Union[StreamProgress, _Mapping]] = ..., failure: _Optional[_Union[StreamFailure, _Mapping]] = ...) -> None: ...

class VisitInfo(_message.Message):
    __slots__ = ("visit_id", "campaign", "machine", "day", "drawn_at", "by_hand", "probability", "stratum", "datacenter", "platform", "thinning", "population", "drawn", "utilisation", "seconds", "cluster", "kernel")
    VISIT_ID_FIELD_NUMBER: _ClassVar[int]
    CAMPAIGN_FIELD_NUMBER: _ClassVar[int]
    MACHINE_FIELD_NUMBER: _ClassVar[int]
    DAY_FIELD_NUMBER: _ClassVar[int]
    DRAWN_AT_FIELD_NUMBER: _ClassVar[int]
    BY_HAND_FIELD_NUMBER: _ClassVar[int]
    PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    STRATUM_FIELD_NUMBER: _ClassVar[int]
    DATACENTER_FIELD_NUMBER: _ClassVar[int]
    PLATFORM_FIELD_NUMBER: _ClassVar[int]
    THINNING_FIELD_NUMBER: _ClassVar[int]
    POPULATION_FIELD_NUMBER: _ClassVar[int]
    DRAWN_FIELD_NUMBER: _ClassVar[int]
    UTILISATION_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    KERNEL_FIELD_NUMBER: _ClassVar[int]
    visit_id: str
    campaign: str
    machine: str
    day: str
    drawn_at: _timestamp_pb2.Timestamp
    by_hand: bool
    probability: float
    stratum: int
    datacenter: str
    platform: str
    thinning: int
    population: int
    drawn: int
    utilisation: float
    seconds: float
    cluster: str
    kernel: str
    def __init__(self, visit_id: _Optional[str] = ..., campaign: _Optional[str] = ..., machine: _Optional[str] = ..., day: _Optional[str] = ..., drawn_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., by_hand: _Optional[bool] = ..., probability: _Optional[float] = ..., stratum: _Optional[int] = ..., datacenter: _Optional[str] = ..., platform: _Optional[str] = ..., thinning: _Optional[int] = ..., population: _Optional[int] = ..., drawn: _Optional[int] = ..., utilisation: _Optional[float] = ..., seconds: _Optional[float] = ..., cluster: _Optional[str] = ..., kernel: _Optional[str] = ...) -> None: ...

class VisitCapture(_message.Message):
    __slots__ = ("visit", "status", "detail", "capture", "sha256", "size", "raw_bytes", "archived_at", "generation")
    VISIT_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    CAPTURE_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    RAW_BYTES_FIELD_NUMBER: _ClassVar[int]
    ARCHIVED_AT_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    visit: VisitInfo
    status: RecordStatus
    detail: str
    capture: bytes
    sha256: bytes
    size: int
    raw_bytes: int
    archived_at: _timestamp_pb2.Timestamp
    generation: int
    def __init__(self, visit: _Optional[_Union[VisitInfo, _Mapping]] = ..., status: _Optional[_Union[RecordStatus, str]] = ..., detail: _Optional[str] = ..., capture: _Optional[bytes] = ..., sha256: _Optional[bytes] = ..., size: _Optional[int] = ..., raw_bytes: _Optional[int] = ..., archived_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., generation: _Optional[int] = ...) -> None: ...

class VisitProfiles(_message.Message):
    __slots__ = ("visit", "status", "detail", "generation", "landed_at", "event", "unit", "gauge", "has_stacks", "watched_seconds", "weight", "utilisation_class", "group", "design", "strings", "functions", "stacks", "profiles", "size")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        USER: _ClassVar[VisitProfiles.Kind]
        KERNEL: _ClassVar[VisitProfiles.Kind]
        MARKER: _ClassVar[VisitProfiles.Kind]
    USER: VisitProfiles.Kind
    KERNEL: VisitProfiles.Kind
    MARKER: VisitProfiles.Kind
    class Symbols(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        UNKNOWN: _ClassVar[VisitProfiles.Symbols]
        BINARY_ONLY: _ClassVar[VisitProfiles.Symbols]
        SYMTAB: _ClassVar[VisitProfiles.Symbols]
        FULL: _ClassVar[VisitProfiles.Symbols]
    UNKNOWN: VisitProfiles.Symbols
    BINARY_ONLY: VisitProfiles.Symbols
    SYMTAB: VisitProfiles.Symbols
    FULL: VisitProfiles.Symbols
    class Functions(_message.Message):
        __slots__ = ("name", "file", "binary", "kind", "symbols")
        NAME_FIELD_NUMBER: _ClassVar[int]
        FILE_FIELD_NUMBER: _ClassVar[int]
        BINARY_FIELD_NUMBER: _ClassVar[int]
        KIND_FIELD_NUMBER: _ClassVar[int]
        SYMBOLS_FIELD_NUMBER: _ClassVar[int]
        name: _containers.RepeatedScalarFieldContainer[int]
        file: _containers.RepeatedScalarFieldContainer[int]
        binary: _containers.RepeatedScalarFieldContainer[int]
        kind: _containers.RepeatedScalarFieldContainer[VisitProfiles.Kind]
        symbols: _containers.RepeatedScalarFieldContainer[VisitProfiles.Symbols]
        def __init__(self, name: _Optional[_Iterable[int]] = ..., file: _Optional[_Iterable[int]] = ..., binary: _Optional[_Iterable[int]] = ..., kind: _Optional[_Iterable[_Union[VisitProfiles.Kind, str]]] = ..., symbols: _Optional[_Iterable[_Union[VisitProfiles.Symbols, str]]] = ...) -> None: ...
    class Stacks(_message.Message):
        __slots__ = ("functions", "length")
        FUNCTIONS_FIELD_NUMBER: _ClassVar[int]
        LENGTH_FIELD_NUMBER: _ClassVar[int]
        functions: _containers.RepeatedScalarFieldContainer[int]
        length: _containers.RepeatedScalarFieldContainer[int]
        def __init__(self, functions: _Optional[_Iterable[int]] = ..., length: _Optional[_Iterable[int]] = ...) -> None: ...
    class Profile(_message.Message):
        __slots__ = ("segment", "period", "labels", "stack", "samples")
        SEGMENT_FIELD_NUMBER: _ClassVar[int]
        PERIOD_FIELD_NUMBER: _ClassVar[int]
        LABELS_FIELD_NUMBER: _ClassVar[int]
        STACK_FIELD_NUMBER: _ClassVar[int]
        SAMPLES_FIELD_NUMBER: _ClassVar[int]
        segment: int
        period: int
        labels: _containers.RepeatedScalarFieldContainer[int]
        stack: _containers.RepeatedScalarFieldContainer[int]
        samples: _containers.RepeatedScalarFieldContainer[int]
        def __init__(self, segment: _Optional[int] = ..., period: _Optional[int] = ..., labels: _Optional[_Iterable[int]] = ..., stack: _Optional[_Iterable[int]] = ..., samples: _Optional[_Iterable[int]] = ...) -> None: ...
    VISIT_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    LANDED_AT_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    GAUGE_FIELD_NUMBER: _ClassVar[int]
    HAS_STACKS_FIELD_NUMBER: _ClassVar[int]
    WATCHED_SECONDS_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    UTILISATION_CLASS_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    DESIGN_FIELD_NUMBER: _ClassVar[int]
    STRINGS_FIELD_NUMBER: _ClassVar[int]
    FUNCTIONS_FIELD_NUMBER: _ClassVar[int]
    STACKS_FIELD_NUMBER: _ClassVar[int]
    PROFILES_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    visit: VisitInfo
    status: RecordStatus
    detail: str
    generation: int
    landed_at: _timestamp_pb2.Timestamp
    event: str
    unit: str
    gauge: bool
    has_stacks: bool
    watched_seconds: float
    weight: float
    utilisation_class: int
    group: int
    design: int
    strings: _containers.RepeatedScalarFieldContainer[str]
    functions: VisitProfiles.Functions
    stacks: VisitProfiles.Stacks
    profiles: _containers.RepeatedCompositeFieldContainer[VisitProfiles.Profile]
    size: int
    def __init__(self, visit: _Optional[_Union[VisitInfo, _Mapping]] = ..., status: _Optional[_Union[RecordStatus, str]] = ..., detail: _Optional[str] = ..., generation: _Optional[int] = ..., landed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., event: _Optional[str] = ..., unit: _Optional[str] = ..., gauge: _Optional[bool] = ..., has_stacks: _Optional[bool] = ..., watched_seconds: _Optional[float] = ..., weight: _Optional[float] = ..., utilisation_class: _Optional[int] = ..., group: _Optional[int] = ..., design: _Optional[int] = ..., strings: _Optional[_Iterable[str]] = ..., functions: _Optional[_Union[VisitProfiles.Functions, _Mapping]] = ..., stacks: _Optional[_Union[VisitProfiles.Stacks, _Mapping]] = ..., profiles: _Optional[_Iterable[_Union[VisitProfiles.Profile, _Mapping]]] = ..., size: _Optional[int] = ...) -> None: ...

class DayDesign(_message.Message):
    __slots__ = ("day", "design", "covered_seconds", "visits", "cells")
    class Cell(_message.Message):
        __slots__ = ("stratum", "utilisation_class", "population", "drawn", "visits", "watched_seconds", "weight", "group")
        STRATUM_FIELD_NUMBER: _ClassVar[int]
        UTILISATION_CLASS_FIELD_NUMBER: _ClassVar[int]
        POPULATION_FIELD_NUMBER: _ClassVar[int]
        DRAWN_FIELD_NUMBER: _ClassVar[int]
        VISITS_FIELD_NUMBER: _ClassVar[int]
        WATCHED_SECONDS_FIELD_NUMBER: _ClassVar[int]
        WEIGHT_FIELD_NUMBER: _ClassVar[int]
        GROUP_FIELD_NUMBER: _ClassVar[int]
        stratum: int
        utilisation_class: int
        population: float
        drawn: float
        visits: float
        watched_seconds: float
        weight: float
        group: int
        def __init__(self, stratum: _Optional[int] = ..., utilisation_class: _Optional[int] = ..., population: _Optional[float] = ..., drawn: _Optional[float] = ..., visits: _Optional[float] = ..., watched_seconds: _Optional[float] = ..., weight: _Optional[float] = ..., group: _Optional[int] = ...) -> None: ...
    DAY_FIELD_NUMBER: _ClassVar[int]
    DESIGN_FIELD_NUMBER: _ClassVar[int]
    COVERED_SECONDS_FIELD_NUMBER: _ClassVar[int]
    VISITS_FIELD_NUMBER: _ClassVar[int]
    CELLS_FIELD_NUMBER: _ClassVar[int]
    day: str
    design: int
    covered_seconds: float
    visits: int
    cells: _containers.RepeatedCompositeFieldContainer[DayDesign.Cell]
    def __init__(self, day: _Optional[str] = ..., design: _Optional[int] = ..., covered_seconds: _Optional[float] = ..., visits: _Optional[int] = ..., cells: _Optional[_Iterable[_Union[DayDesign.Cell, _Mapping]]] = ...) -> None: ...

class StreamProgress(_message.Message):
    __slots__ = ("done", "complete_until", "waiting", "follow_cursor")
    DONE_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_UNTIL_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_CURSOR_FIELD_NUMBER: _ClassVar[int]
    done: bool
    complete_until: _timestamp_pb2.Timestamp
    waiting: int
    follow_cursor: str
    def __init__(self, done: _Optional[bool] = ..., complete_until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., waiting: _Optional[int] = ..., follow_cursor: _Optional[str] = ...) -> None: ...

class StreamFailure(_message.Message):
    __slots__ = ("kind", "detail", "hint", "passing")
    KIND_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    HINT_FIELD_NUMBER: _ClassVar[int]
    PASSING_FIELD_NUMBER: _ClassVar[int]
    kind: str
    detail: str
    hint: str
    passing: bool
    def __init__(self, kind: _Optional[str] = ..., detail: _Optional[str] = ..., hint: _Optional[str] = ..., passing: _Optional[bool] = ...) -> None: ...
