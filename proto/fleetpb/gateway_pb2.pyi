from fleetpb import capture_pb2 as _capture_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DescribeRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class HealthRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class HealthReply(_message.Message):
    __slots__ = ("producer", "format", "active_captures", "finished_captures", "uptime_s", "utilisation")
    PRODUCER_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_CAPTURES_FIELD_NUMBER: _ClassVar[int]
    FINISHED_CAPTURES_FIELD_NUMBER: _ClassVar[int]
    UPTIME_S_FIELD_NUMBER: _ClassVar[int]
    UTILISATION_FIELD_NUMBER: _ClassVar[int]
    producer: str
    format: int
    active_captures: int
    finished_captures: int
    uptime_s: float
    utilisation: float
    def __init__(self, producer: _Optional[str] = ..., format: _Optional[int] = ..., active_captures: _Optional[int] = ..., finished_captures: _Optional[int] = ..., uptime_s: _Optional[float] = ..., utilisation: _Optional[float] = ...) -> None: ...

class Plan(_message.Message):
    __slots__ = ("visit_id", "ttl_ms", "events", "campaign", "stack_bytes", "max_depth", "counters", "counter_events", "counted_cgroups", "exact")
    VISIT_ID_FIELD_NUMBER: _ClassVar[int]
    TTL_MS_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    CAMPAIGN_FIELD_NUMBER: _ClassVar[int]
    STACK_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_DEPTH_FIELD_NUMBER: _ClassVar[int]
    COUNTERS_FIELD_NUMBER: _ClassVar[int]
    COUNTER_EVENTS_FIELD_NUMBER: _ClassVar[int]
    COUNTED_CGROUPS_FIELD_NUMBER: _ClassVar[int]
    EXACT_FIELD_NUMBER: _ClassVar[int]
    visit_id: bytes
    ttl_ms: int
    events: _containers.RepeatedCompositeFieldContainer[EventPlan]
    campaign: str
    stack_bytes: int
    max_depth: int
    counters: bool
    counter_events: _containers.RepeatedScalarFieldContainer[str]
    counted_cgroups: int
    exact: bool
    def __init__(self, visit_id: _Optional[bytes] = ..., ttl_ms: _Optional[int] = ..., events: _Optional[_Iterable[_Union[EventPlan, _Mapping]]] = ..., campaign: _Optional[str] = ..., stack_bytes: _Optional[int] = ..., max_depth: _Optional[int] = ..., counters: _Optional[bool] = ..., counter_events: _Optional[_Iterable[str]] = ..., counted_cgroups: _Optional[int] = ..., exact: _Optional[bool] = ...) -> None: ...

class EventPlan(_message.Message):
    __slots__ = ("event", "rate_hz", "period", "duration_ms", "stacks", "turn")
    EVENT_FIELD_NUMBER: _ClassVar[int]
    RATE_HZ_FIELD_NUMBER: _ClassVar[int]
    PERIOD_FIELD_NUMBER: _ClassVar[int]
    DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    STACKS_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    event: str
    rate_hz: float
    period: int
    duration_ms: int
    stacks: bool
    turn: int
    def __init__(self, event: _Optional[str] = ..., rate_hz: _Optional[float] = ..., period: _Optional[int] = ..., duration_ms: _Optional[int] = ..., stacks: _Optional[bool] = ..., turn: _Optional[int] = ...) -> None: ...

class CaptureReply(_message.Message):
    __slots__ = ("begin", "progress", "data", "end", "refusal")
    BEGIN_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    begin: Begin
    progress: Progress
    data: bytes
    end: End
    refusal: Refusal
    def __init__(self, begin: _Optional[_Union[Begin, _Mapping]] = ..., progress: _Optional[_Union[Progress, _Mapping]] = ..., data: _Optional[bytes] = ..., end: _Optional[_Union[End, _Mapping]] = ..., refusal: _Optional[_Union[Refusal, _Mapping]] = ...) -> None: ...

class Begin(_message.Message):
    __slots__ = ("utilisation", "duration_ms", "changes")
    UTILISATION_FIELD_NUMBER: _ClassVar[int]
    DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    utilisation: float
    duration_ms: int
    changes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, utilisation: _Optional[float] = ..., duration_ms: _Optional[int] = ..., changes: _Optional[_Iterable[str]] = ...) -> None: ...

class Progress(_message.Message):
    __slots__ = ("done", "samples")
    DONE_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    done: float
    samples: int
    def __init__(self, done: _Optional[float] = ..., samples: _Optional[int] = ...) -> None: ...

class End(_message.Message):
    __slots__ = ("sha256", "bytes", "raw_bytes", "samples", "seconds", "utilisation")
    SHA256_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    RAW_BYTES_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    UTILISATION_FIELD_NUMBER: _ClassVar[int]
    sha256: bytes
    bytes: int
    raw_bytes: int
    samples: int
    seconds: float
    utilisation: float
    def __init__(self, sha256: _Optional[bytes] = ..., bytes: _Optional[int] = ..., raw_bytes: _Optional[int] = ..., samples: _Optional[int] = ..., seconds: _Optional[float] = ..., utilisation: _Optional[float] = ...) -> None: ...

class Refusal(_message.Message):
    __slots__ = ("reason", "message", "utilisation")
    class Reason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        REASON_UNSPECIFIED: _ClassVar[Refusal.Reason]
        INVALID: _ClassVar[Refusal.Reason]
        EXPIRED: _ClassVar[Refusal.Reason]
        REPEATED: _ClassVar[Refusal.Reason]
        TOO_MANY: _ClassVar[Refusal.Reason]
        NOT_ALLOWED: _ClassVar[Refusal.Reason]
        UNSUPPORTED: _ClassVar[Refusal.Reason]
        FAILED: _ClassVar[Refusal.Reason]
    REASON_UNSPECIFIED: Refusal.Reason
    INVALID: Refusal.Reason
    EXPIRED: Refusal.Reason
    REPEATED: Refusal.Reason
    TOO_MANY: Refusal.Reason
    NOT_ALLOWED: Refusal.Reason
    UNSUPPORTED: Refusal.Reason
    FAILED: Refusal.Reason
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    UTILISATION_FIELD_NUMBER: _ClassVar[int]
    reason: Refusal.Reason
    message: str
    utilisation: float
    def __init__(self, reason: _Optional[_Union[Refusal.Reason, str]] = ..., message: _Optional[str] = ..., utilisation: _Optional[float] = ...) -> None: ...

class SymbolsRequest(_message.Message):
    __slots__ = ("what", "build_id", "content_key", "max_bytes")
    class What(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        WHAT_UNSPECIFIED: _ClassVar[SymbolsRequest.What]
        SYMBOLS: _ClassVar[SymbolsRequest.What]
        FILE: _ClassVar[SymbolsRequest.What]
        KERNEL: _ClassVar[SymbolsRequest.What]
    WHAT_UNSPECIFIED: SymbolsRequest.What
    SYMBOLS: SymbolsRequest.What
    FILE: SymbolsRequest.What
    KERNEL: SymbolsRequest.What
    WHAT_FIELD_NUMBER: _ClassVar[int]
    BUILD_ID_FIELD_NUMBER: _ClassVar[int]
    CONTENT_KEY_FIELD_NUMBER: _ClassVar[int]
    MAX_BYTES_FIELD_NUMBER: _ClassVar[int]
    what: SymbolsRequest.What
    build_id: bytes
    content_key: str
    max_bytes: int
    def __init__(self, what: _Optional[_Union[SymbolsRequest.What, str]] = ..., build_id: _Optional[bytes] = ..., content_key: _Optional[str] = ..., max_bytes: _Optional[int] = ...) -> None: ...

class SymbolsReply(_message.Message):
    __slots__ = ("begin", "data", "end", "refusal")
    BEGIN_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    begin: SymbolsBegin
    data: bytes
    end: SymbolsEnd
    refusal: SymbolsRefusal
    def __init__(self, begin: _Optional[_Union[SymbolsBegin, _Mapping]] = ..., data: _Optional[bytes] = ..., end: _Optional[_Union[SymbolsEnd, _Mapping]] = ..., refusal: _Optional[_Union[SymbolsRefusal, _Mapping]] = ...) -> None: ...

class SymbolsBegin(_message.Message):
    __slots__ = ("name", "raw_bytes")
    NAME_FIELD_NUMBER: _ClassVar[int]
    RAW_BYTES_FIELD_NUMBER: _ClassVar[int]
    name: str
    raw_bytes: int
    def __init__(self, name: _Optional[str] = ..., raw_bytes: _Optional[int] = ...) -> None: ...

class SymbolsEnd(_message.Message):
    __slots__ = ("sha256", "bytes", "raw_bytes")
    SHA256_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    RAW_BYTES_FIELD_NUMBER: _ClassVar[int]
    sha256: bytes
    bytes: int
    raw_bytes: int
    def __init__(self, sha256: _Optional[bytes] = ..., bytes: _Optional[int] = ..., raw_bytes: _Optional[int] = ...) -> None: ...

class SymbolsRefusal(_message.Message):
    __slots__ = ("reason", "message")
    class Reason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        REASON_UNSPECIFIED: _ClassVar[SymbolsRefusal.Reason]
        INVALID: _ClassVar[SymbolsRefusal.Reason]
        NOT_ALLOWED: _ClassVar[SymbolsRefusal.Reason]
        NOT_SEEN: _ClassVar[SymbolsRefusal.Reason]
        GONE: _ClassVar[SymbolsRefusal.Reason]
        TOO_LARGE: _ClassVar[SymbolsRefusal.Reason]
        HIDDEN: _ClassVar[SymbolsRefusal.Reason]
        BUSY: _ClassVar[SymbolsRefusal.Reason]
        FAILED: _ClassVar[SymbolsRefusal.Reason]
    REASON_UNSPECIFIED: SymbolsRefusal.Reason
    INVALID: SymbolsRefusal.Reason
    NOT_ALLOWED: SymbolsRefusal.Reason
    NOT_SEEN: SymbolsRefusal.Reason
    GONE: SymbolsRefusal.Reason
    TOO_LARGE: SymbolsRefusal.Reason
    HIDDEN: SymbolsRefusal.Reason
    BUSY: SymbolsRefusal.Reason
    FAILED: SymbolsRefusal.Reason
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    reason: SymbolsRefusal.Reason
    message: str
    def __init__(self, reason: _Optional[_Union[SymbolsRefusal.Reason, str]] = ..., message: _Optional[str] = ...) -> None: ...

class CalibrateRequest(_message.Message):
    __slots__ = ("what", "work", "duration_ms", "repetitions")
    class What(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        WHAT_UNSPECIFIED: _ClassVar[CalibrateRequest.What]
        SMT: _ClassVar[CalibrateRequest.What]
        MEMORY: _ClassVar[CalibrateRequest.What]
    WHAT_UNSPECIFIED: CalibrateRequest.What
    SMT: CalibrateRequest.What
    MEMORY: CalibrateRequest.What
    class Work(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        WORK_UNSPECIFIED: _ClassVar[CalibrateRequest.Work]
        INTEGER: _ClassVar[CalibrateRequest.Work]
        FLOAT: _ClassVar[CalibrateRequest.Work]
        MEMORY_LOADS: _ClassVar[CalibrateRequest.Work]
    WORK_UNSPECIFIED: CalibrateRequest.Work
    INTEGER: CalibrateRequest.Work
    FLOAT: CalibrateRequest.Work
    MEMORY_LOADS: CalibrateRequest.Work
    WHAT_FIELD_NUMBER: _ClassVar[int]
    WORK_FIELD_NUMBER: _ClassVar[int]
    DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    REPETITIONS_FIELD_NUMBER: _ClassVar[int]
    what: CalibrateRequest.What
    work: CalibrateRequest.Work
    duration_ms: int
    repetitions: int
    def __init__(self, what: _Optional[_Union[CalibrateRequest.What, str]] = ..., work: _Optional[_Union[CalibrateRequest.Work, str]] = ..., duration_ms: _Optional[int] = ..., repetitions: _Optional[int] = ...) -> None: ...

class CalibrateReply(_message.Message):
    __slots__ = ("begin", "progress", "end", "refusal")
    BEGIN_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    begin: CalibrateBegin
    progress: CalibrateProgress
    end: CalibrateEnd
    refusal: CalibrateRefusal
    def __init__(self, begin: _Optional[_Union[CalibrateBegin, _Mapping]] = ..., progress: _Optional[_Union[CalibrateProgress, _Mapping]] = ..., end: _Optional[_Union[CalibrateEnd, _Mapping]] = ..., refusal: _Optional[_Union[CalibrateRefusal, _Mapping]] = ...) -> None: ...

class CalibrateBegin(_message.Message):
    __slots__ = ("platform", "cpus", "duration_ms", "repetitions", "changes")
    PLATFORM_FIELD_NUMBER: _ClassVar[int]
    CPUS_FIELD_NUMBER: _ClassVar[int]
    DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    REPETITIONS_FIELD_NUMBER: _ClassVar[int]
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    platform: str
    cpus: _containers.RepeatedScalarFieldContainer[int]
    duration_ms: int
    repetitions: int
    changes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, platform: _Optional[str] = ..., cpus: _Optional[_Iterable[int]] = ..., duration_ms: _Optional[int] = ..., repetitions: _Optional[int] = ..., changes: _Optional[_Iterable[str]] = ...) -> None: ...

class CalibrateProgress(_message.Message):
    __slots__ = ("done",)
    DONE_FIELD_NUMBER: _ClassVar[int]
    done: float
    def __init__(self, done: _Optional[float] = ...) -> None: ...

class CalibrateEnd(_message.Message):
    __slots__ = ("engine", "single", "both", "latency_ns", "bytes_per_s", "reading_cpus", "working_set_bytes", "cache_bytes", "disturbed", "utilisation", "doubts")
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    SINGLE_FIELD_NUMBER: _ClassVar[int]
    BOTH_FIELD_NUMBER: _ClassVar[int]
    LATENCY_NS_FIELD_NUMBER: _ClassVar[int]
    BYTES_PER_S_FIELD_NUMBER: _ClassVar[int]
    READING_CPUS_FIELD_NUMBER: _ClassVar[int]
    WORKING_SET_BYTES_FIELD_NUMBER: _ClassVar[int]
    CACHE_BYTES_FIELD_NUMBER: _ClassVar[int]
    DISTURBED_FIELD_NUMBER: _ClassVar[int]
    UTILISATION_FIELD_NUMBER: _ClassVar[int]
    DOUBTS_FIELD_NUMBER: _ClassVar[int]
    engine: str
    single: _containers.RepeatedScalarFieldContainer[float]
    both: _containers.RepeatedScalarFieldContainer[float]
    latency_ns: _containers.RepeatedScalarFieldContainer[float]
    bytes_per_s: _containers.RepeatedScalarFieldContainer[float]
    reading_cpus: _containers.RepeatedScalarFieldContainer[int]
    working_set_bytes: int
    cache_bytes: int
    disturbed: int
    utilisation: float
    doubts: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, engine: _Optional[str] = ..., single: _Optional[_Iterable[float]] = ..., both: _Optional[_Iterable[float]] = ..., latency_ns: _Optional[_Iterable[float]] = ..., bytes_per_s: _Optional[_Iterable[float]] = ..., reading_cpus: _Optional[_Iterable[int]] = ..., working_set_bytes: _Optional[int] = ..., cache_bytes: _Optional[int] = ..., disturbed: _Optional[int] = ..., utilisation: _Optional[float] = ..., doubts: _Optional[_Iterable[str]] = ...) -> None: ...

class CalibrateRefusal(_message.Message):
    __slots__ = ("reason", "message", "utilisation")
    class Reason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        REASON_UNSPECIFIED: _ClassVar[CalibrateRefusal.Reason]
        INVALID: _ClassVar[CalibrateRefusal.Reason]
        NOT_ALLOWED: _ClassVar[CalibrateRefusal.Reason]
        BUSY: _ClassVar[CalibrateRefusal.Reason]
        NO_SIBLINGS: _ClassVar[CalibrateRefusal.Reason]
        UNSUPPORTED: _ClassVar[CalibrateRefusal.Reason]
        FAILED: _ClassVar[CalibrateRefusal.Reason]
    REASON_UNSPECIFIED: CalibrateRefusal.Reason
    INVALID: CalibrateRefusal.Reason
    NOT_ALLOWED: CalibrateRefusal.Reason
    BUSY: CalibrateRefusal.Reason
    NO_SIBLINGS: CalibrateRefusal.Reason
    UNSUPPORTED: CalibrateRefusal.Reason
    FAILED: CalibrateRefusal.Reason
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    UTILISATION_FIELD_NUMBER: _ClassVar[int]
    reason: CalibrateRefusal.Reason
    message: str
    utilisation: float
    def __init__(self, reason: _Optional[_Union[CalibrateRefusal.Reason, str]] = ..., message: _Optional[str] = ..., utilisation: _Optional[float] = ...) -> None: ...
