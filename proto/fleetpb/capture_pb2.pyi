from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Support(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SUPPORT_UNSPECIFIED: _ClassVar[Support]
    SUPPORT_OK: _ClassVar[Support]
    SUPPORT_UNSUPPORTED: _ClassVar[Support]
    SUPPORT_DENIED: _ClassVar[Support]
    SUPPORT_BUSY: _ClassVar[Support]
    SUPPORT_NOT_COUNTED: _ClassVar[Support]

class StackEnd(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STACK_END_UNSPECIFIED: _ClassVar[StackEnd]
    STACK_END_COMPLETE: _ClassVar[StackEnd]
    STACK_END_KERNEL_ONLY: _ClassVar[StackEnd]
    STACK_END_TRUNCATED: _ClassVar[StackEnd]
    STACK_END_NO_UNWIND: _ClassVar[StackEnd]
    STACK_END_NO_MAPPING: _ClassVar[StackEnd]
    STACK_END_BAD_STACK: _ClassVar[StackEnd]
    STACK_END_TOO_DEEP: _ClassVar[StackEnd]
    STACK_END_FLAT: _ClassVar[StackEnd]
SUPPORT_UNSPECIFIED: Support
SUPPORT_OK: Support
SUPPORT_UNSUPPORTED: Support
SUPPORT_DENIED: Support
SUPPORT_BUSY: Support
SUPPORT_NOT_COUNTED: Support
STACK_END_UNSPECIFIED: StackEnd
STACK_END_COMPLETE: StackEnd
STACK_END_KERNEL_ONLY: StackEnd
STACK_END_TRUNCATED: StackEnd
STACK_END_NO_UNWIND: StackEnd
STACK_END_NO_MAPPING: StackEnd
STACK_END_BAD_STACK: StackEnd
STACK_END_TOO_DEEP: StackEnd
STACK_END_FLAT: StackEnd

class Capture(_message.Message):
    __slots__ = ("format", "visit_id", "producer", "machine", "window", "strings", "mappings", "frames", "stacks", "groups", "segments", "cpus", "counters", "system", "excerpts", "cost", "notes")
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    VISIT_ID_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_FIELD_NUMBER: _ClassVar[int]
    MACHINE_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    STRINGS_FIELD_NUMBER: _ClassVar[int]
    MAPPINGS_FIELD_NUMBER: _ClassVar[int]
    FRAMES_FIELD_NUMBER: _ClassVar[int]
    STACKS_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    CPUS_FIELD_NUMBER: _ClassVar[int]
    COUNTERS_FIELD_NUMBER: _ClassVar[int]
    SYSTEM_FIELD_NUMBER: _ClassVar[int]
    EXCERPTS_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    format: int
    visit_id: bytes
    producer: str
    machine: Machine
    window: Window
    strings: _containers.RepeatedScalarFieldContainer[str]
    mappings: _containers.RepeatedCompositeFieldContainer[Mapping]
    frames: FrameTable
    stacks: StackTable
    groups: _containers.RepeatedCompositeFieldContainer[ProcessGroup]
    segments: _containers.RepeatedCompositeFieldContainer[Segment]
    cpus: _containers.RepeatedCompositeFieldContainer[CpuUsage]
    counters: _containers.RepeatedCompositeFieldContainer[CounterGroup]
    system: SystemState
    excerpts: _containers.RepeatedCompositeFieldContainer[SymbolExcerpt]
    cost: OwnCost
    notes: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, format: _Optional[int] = ..., visit_id: _Optional[bytes] = ..., producer: _Optional[str] = ..., machine: _Optional[_Union[Machine, _Mapping]] = ..., window: _Optional[_Union[Window, _Mapping]] = ..., strings: _Optional[_Iterable[str]] = ..., mappings: _Optional[_Iterable[_Union[Mapping, _Mapping]]] = ..., frames: _Optional[_Union[FrameTable, _Mapping]] = ..., stacks: _Optional[_Union[StackTable, _Mapping]] = ..., groups: _Optional[_Iterable[_Union[ProcessGroup, _Mapping]]] = ..., segments: _Optional[_Iterable[_Union[Segment, _Mapping]]] = ..., cpus: _Optional[_Iterable[_Union[CpuUsage, _Mapping]]] = ..., counters: _Optional[_Iterable[_Union[CounterGroup, _Mapping]]] = ..., system: _Optional[_Union[SystemState, _Mapping]] = ..., excerpts: _Optional[_Iterable[_Union[SymbolExcerpt, _Mapping]]] = ..., cost: _Optional[_Union[OwnCost, _Mapping]] = ..., notes: _Optional[_Iterable[str]] = ...) -> None: ...

class Machine(_message.Message):
    __slots__ = ("hostname", "platform", "architecture", "kernel_release", "kernel_version", "kernel_build_id", "boot_id", "logical_cpus", "cores", "packages", "threads_per_core", "nominal_mhz", "memory_bytes", "numa_nodes", "microcode", "virtualization", "os", "labels", "events", "smt", "hardware_min_mhz", "hardware_max_mhz", "frequency_driver", "nodes", "idle_states", "siblings", "container")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    HOSTNAME_FIELD_NUMBER: _ClassVar[int]
    PLATFORM_FIELD_NUMBER: _ClassVar[int]
    ARCHITECTURE_FIELD_NUMBER: _ClassVar[int]
    KERNEL_RELEASE_FIELD_NUMBER: _ClassVar[int]
    KERNEL_VERSION_FIELD_NUMBER: _ClassVar[int]
    KERNEL_BUILD_ID_FIELD_NUMBER: _ClassVar[int]
    BOOT_ID_FIELD_NUMBER: _ClassVar[int]
    LOGICAL_CPUS_FIELD_NUMBER: _ClassVar[int]
    CORES_FIELD_NUMBER: _ClassVar[int]
    PACKAGES_FIELD_NUMBER: _ClassVar[int]
    THREADS_PER_CORE_FIELD_NUMBER: _ClassVar[int]
    NOMINAL_MHZ_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    NUMA_NODES_FIELD_NUMBER: _ClassVar[int]
    MICROCODE_FIELD_NUMBER: _ClassVar[int]
    VIRTUALIZATION_FIELD_NUMBER: _ClassVar[int]
    OS_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    SMT_FIELD_NUMBER: _ClassVar[int]
    HARDWARE_MIN_MHZ_FIELD_NUMBER: _ClassVar[int]
    HARDWARE_MAX_MHZ_FIELD_NUMBER: _ClassVar[int]
    FREQUENCY_DRIVER_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    IDLE_STATES_FIELD_NUMBER: _ClassVar[int]
    SIBLINGS_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_FIELD_NUMBER: _ClassVar[int]
    hostname: str
    platform: str
    architecture: str
    kernel_release: str
    kernel_version: str
    kernel_build_id: str
    boot_id: str
    logical_cpus: int
    cores: int
    packages: int
    threads_per_core: int
    nominal_mhz: float
    memory_bytes: int
    numa_nodes: int
    microcode: str
    virtualization: str
    os: str
    labels: _containers.ScalarMap[str, str]
    events: _containers.RepeatedCompositeFieldContainer[EventSupport]
    smt: str
    hardware_min_mhz: float
    hardware_max_mhz: float
    frequency_driver: str
    nodes: _containers.RepeatedCompositeFieldContainer[NumaNode]
    idle_states: _containers.RepeatedCompositeFieldContainer[IdleState]
    siblings: _containers.RepeatedCompositeFieldContainer[Siblings]
    container: str
    def __init__(self, hostname: _Optional[str] = ..., platform: _Optional[str] = ..., architecture: _Optional[str] = ..., kernel_release: _Optional[str] = ..., kernel_version: _Optional[str] = ..., kernel_build_id: _Optional[str] = ..., boot_id: _Optional[str] = ..., logical_cpus: _Optional[int] = ..., cores: _Optional[int] = ..., packages: _Optional[int] = ..., threads_per_core: _Optional[int] = ..., nominal_mhz: _Optional[float] = ..., memory_bytes: _Optional[int] = ..., numa_nodes: _Optional[int] = ..., microcode: _Optional[str] = ..., virtualization: _Optional[str] = ..., os: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., events: _Optional[_Iterable[_Union[EventSupport, _Mapping]]] = ..., smt: _Optional[str] = ..., hardware_min_mhz: _Optional[float] = ..., hardware_max_mhz: _Optional[float] = ..., frequency_driver: _Optional[str] = ..., nodes: _Optional[_Iterable[_Union[NumaNode, _Mapping]]] = ..., idle_states: _Optional[_Iterable[_Union[IdleState, _Mapping]]] = ..., siblings: _Optional[_Iterable[_Union[Siblings, _Mapping]]] = ..., container: _Optional[str] = ...) -> None: ...

class NumaNode(_message.Message):
    __slots__ = ("node", "cpus", "memory_bytes")
    NODE_FIELD_NUMBER: _ClassVar[int]
    CPUS_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    node: int
    cpus: _containers.RepeatedScalarFieldContainer[int]
    memory_bytes: int
    def __init__(self, node: _Optional[int] = ..., cpus: _Optional[_Iterable[int]] = ..., memory_bytes: _Optional[int] = ...) -> None: ...

class IdleState(_message.Message):
    __slots__ = ("name", "exit_latency_us")
    NAME_FIELD_NUMBER: _ClassVar[int]
    EXIT_LATENCY_US_FIELD_NUMBER: _ClassVar[int]
    name: str
    exit_latency_us: int
    def __init__(self, name: _Optional[str] = ..., exit_latency_us: _Optional[int] = ...) -> None: ...

class Siblings(_message.Message):
    __slots__ = ("cpus",)
    CPUS_FIELD_NUMBER: _ClassVar[int]
    cpus: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, cpus: _Optional[_Iterable[int]] = ...) -> None: ...

class EventSupport(_message.Message):
    __slots__ = ("event", "support", "errno", "source", "counts_only")
    EVENT_FIELD_NUMBER: _ClassVar[int]
    SUPPORT_FIELD_NUMBER: _ClassVar[int]
    ERRNO_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    COUNTS_ONLY_FIELD_NUMBER: _ClassVar[int]
    event: str
    support: Support
    errno: int
    source: str
    counts_only: bool
    def __init__(self, event: _Optional[str] = ..., support: _Optional[_Union[Support, str]] = ..., errno: _Optional[int] = ..., source: _Optional[str] = ..., counts_only: _Optional[bool] = ...) -> None: ...

class Window(_message.Message):
    __slots__ = ("wall_start_ns", "monotonic_start_ns", "duration_ns")
    WALL_START_NS_FIELD_NUMBER: _ClassVar[int]
    MONOTONIC_START_NS_FIELD_NUMBER: _ClassVar[int]
    DURATION_NS_FIELD_NUMBER: _ClassVar[int]
    wall_start_ns: int
    monotonic_start_ns: int
    duration_ns: int
    def __init__(self, wall_start_ns: _Optional[int] = ..., monotonic_start_ns: _Optional[int] = ..., duration_ns: _Optional[int] = ...) -> None: ...

class Mapping(_message.Message):
    __slots__ = ("kind", "path", "build_id", "content_key", "deleted")
    class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        KIND_UNSPECIFIED: _ClassVar[Mapping.Kind]
        FILE: _ClassVar[Mapping.Kind]
        KERNEL: _ClassVar[Mapping.Kind]
        MODULE: _ClassVar[Mapping.Kind]
        VDSO: _ClassVar[Mapping.Kind]
        ANONYMOUS: _ClassVar[Mapping.Kind]
        UNKNOWN: _ClassVar[Mapping.Kind]
    KIND_UNSPECIFIED: Mapping.Kind
    FILE: Mapping.Kind
    KERNEL: Mapping.Kind
    MODULE: Mapping.Kind
    VDSO: Mapping.Kind
    ANONYMOUS: Mapping.Kind
    UNKNOWN: Mapping.Kind
    KIND_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    BUILD_ID_FIELD_NUMBER: _ClassVar[int]
    CONTENT_KEY_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    kind: Mapping.Kind
    path: int
    build_id: bytes
    content_key: int
    deleted: bool
    def __init__(self, kind: _Optional[_Union[Mapping.Kind, str]] = ..., path: _Optional[int] = ..., build_id: _Optional[bytes] = ..., content_key: _Optional[int] = ..., deleted: _Optional[bool] = ...) -> None: ...

class FrameTable(_message.Message):
    __slots__ = ("mapping", "offset", "into_function", "flags")
    MAPPING_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    INTO_FUNCTION_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    mapping: _containers.RepeatedScalarFieldContainer[int]
    offset: _containers.RepeatedScalarFieldContainer[int]
    into_function: _containers.RepeatedScalarFieldContainer[int]
    flags: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, mapping: _Optional[_Iterable[int]] = ..., offset: _Optional[_Iterable[int]] = ..., into_function: _Optional[_Iterable[int]] = ..., flags: _Optional[_Iterable[int]] = ...) -> None: ...

class StackTable(_message.Message):
    __slots__ = ("frames", "length", "end")
    FRAMES_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    frames: _containers.RepeatedScalarFieldContainer[int]
    length: _containers.RepeatedScalarFieldContainer[int]
    end: _containers.RepeatedScalarFieldContainer[StackEnd]
    def __init__(self, frames: _Optional[_Iterable[int]] = ..., length: _Optional[_Iterable[int]] = ..., end: _Optional[_Iterable[_Union[StackEnd, str]]] = ...) -> None: ...

class ProcessGroup(_message.Message):
    __slots__ = ("comm", "exe", "main_mapping", "script", "cgroup", "container", "unit", "labels", "processes", "kernel_thread")
    COMM_FIELD_NUMBER: _ClassVar[int]
    EXE_FIELD_NUMBER: _ClassVar[int]
    MAIN_MAPPING_FIELD_NUMBER: _ClassVar[int]
    SCRIPT_FIELD_NUMBER: _ClassVar[int]
    CGROUP_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    PROCESSES_FIELD_NUMBER: _ClassVar[int]
    KERNEL_THREAD_FIELD_NUMBER: _ClassVar[int]
    comm: int
    exe: int
    main_mapping: int
    script: int
    cgroup: int
    container: int
    unit: int
    labels: _containers.RepeatedScalarFieldContainer[int]
    processes: int
    kernel_thread: bool
    def __init__(self, comm: _Optional[int] = ..., exe: _Optional[int] = ..., main_mapping: _Optional[int] = ..., script: _Optional[int] = ..., cgroup: _Optional[int] = ..., container: _Optional[int] = ..., unit: _Optional[int] = ..., labels: _Optional[_Iterable[int]] = ..., processes: _Optional[int] = ..., kernel_thread: _Optional[bool] = ...) -> None: ...

class Segment(_message.Message):
    __slots__ = ("event", "source", "unit", "support", "errno", "period", "requested_period", "thinned_why", "stacks", "start_offset_ns", "duration_ns", "samples", "lost", "cpus", "unprivileged", "profiles", "time_enabled_ns", "time_running_ns", "throttled")
    EVENT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    SUPPORT_FIELD_NUMBER: _ClassVar[int]
    ERRNO_FIELD_NUMBER: _ClassVar[int]
    PERIOD_FIELD_NUMBER: _ClassVar[int]
    REQUESTED_PERIOD_FIELD_NUMBER: _ClassVar[int]
    THINNED_WHY_FIELD_NUMBER: _ClassVar[int]
    STACKS_FIELD_NUMBER: _ClassVar[int]
    START_OFFSET_NS_FIELD_NUMBER: _ClassVar[int]
    DURATION_NS_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    CPUS_FIELD_NUMBER: _ClassVar[int]
    UNPRIVILEGED_FIELD_NUMBER: _ClassVar[int]
    PROFILES_FIELD_NUMBER: _ClassVar[int]
    TIME_ENABLED_NS_FIELD_NUMBER: _ClassVar[int]
    TIME_RUNNING_NS_FIELD_NUMBER: _ClassVar[int]
    THROTTLED_FIELD_NUMBER: _ClassVar[int]
    event: int
    source: int
    unit: int
    support: Support
    errno: int
    period: int
    requested_period: int
    thinned_why: int
    stacks: bool
    start_offset_ns: int
    duration_ns: int
    samples: int
    lost: _containers.RepeatedScalarFieldContainer[int]
    cpus: _containers.RepeatedScalarFieldContainer[int]
    unprivileged: bool
    profiles: _containers.RepeatedCompositeFieldContainer[GroupProfile]
    time_enabled_ns: int
    time_running_ns: int
    throttled: int
    def __init__(self, event: _Optional[int] = ..., source: _Optional[int] = ..., unit: _Optional[int] = ..., support: _Optional[_Union[Support, str]] = ..., errno: _Optional[int] = ..., period: _Optional[int] = ..., requested_period: _Optional[int] = ..., thinned_why: _Optional[int] = ..., stacks: _Optional[bool] = ..., start_offset_ns: _Optional[int] = ..., duration_ns: _Optional[int] = ..., samples: _Optional[int] = ..., lost: _Optional[_Iterable[int]] = ..., cpus: _Optional[_Iterable[int]] = ..., unprivileged: _Optional[bool] = ..., profiles: _Optional[_Iterable[_Union[GroupProfile, _Mapping]]] = ..., time_enabled_ns: _Optional[int] = ..., time_running_ns: _Optional[int] = ..., throttled: _Optional[int] = ...) -> None: ...

class GroupProfile(_message.Message):
    __slots__ = ("group", "stack_delta", "count")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    STACK_DELTA_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    group: int
    stack_delta: _containers.RepeatedScalarFieldContainer[int]
    count: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, group: _Optional[int] = ..., stack_delta: _Optional[_Iterable[int]] = ..., count: _Optional[_Iterable[int]] = ...) -> None: ...

class CpuUsage(_message.Message):
    __slots__ = ("cpu", "core", "package", "numa_node", "user_ms", "system_ms", "idle_ms", "iowait_ms", "irq_ms", "steal_ms", "mhz", "min_mhz", "max_mhz", "idle_state_ms")
    CPU_FIELD_NUMBER: _ClassVar[int]
    CORE_FIELD_NUMBER: _ClassVar[int]
    PACKAGE_FIELD_NUMBER: _ClassVar[int]
    NUMA_NODE_FIELD_NUMBER: _ClassVar[int]
    USER_MS_FIELD_NUMBER: _ClassVar[int]
    SYSTEM_MS_FIELD_NUMBER: _ClassVar[int]
    IDLE_MS_FIELD_NUMBER: _ClassVar[int]
    IOWAIT_MS_FIELD_NUMBER: _ClassVar[int]
    IRQ_MS_FIELD_NUMBER: _ClassVar[int]
    STEAL_MS_FIELD_NUMBER: _ClassVar[int]
    MHZ_FIELD_NUMBER: _ClassVar[int]
    MIN_MHZ_FIELD_NUMBER: _ClassVar[int]
    MAX_MHZ_FIELD_NUMBER: _ClassVar[int]
    IDLE_STATE_MS_FIELD_NUMBER: _ClassVar[int]
    cpu: int
    core: int
    package: int
    numa_node: int
    user_ms: int
    system_ms: int
    idle_ms: int
    iowait_ms: int
    irq_ms: int
    steal_ms: int
    mhz: float
    min_mhz: float
    max_mhz: float
    idle_state_ms: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, cpu: _Optional[int] = ..., core: _Optional[int] = ..., package: _Optional[int] = ..., numa_node: _Optional[int] = ..., user_ms: _Optional[int] = ..., system_ms: _Optional[int] = ..., idle_ms: _Optional[int] = ..., iowait_ms: _Optional[int] = ..., irq_ms: _Optional[int] = ..., steal_ms: _Optional[int] = ..., mhz: _Optional[float] = ..., min_mhz: _Optional[float] = ..., max_mhz: _Optional[float] = ..., idle_state_ms: _Optional[_Iterable[int]] = ...) -> None: ...

class CounterGroup(_message.Message):
    __slots__ = ("cpu", "group", "time_enabled_ns", "time_running_ns", "counters", "cgroup", "package")
    CPU_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    TIME_ENABLED_NS_FIELD_NUMBER: _ClassVar[int]
    TIME_RUNNING_NS_FIELD_NUMBER: _ClassVar[int]
    COUNTERS_FIELD_NUMBER: _ClassVar[int]
    CGROUP_FIELD_NUMBER: _ClassVar[int]
    PACKAGE_FIELD_NUMBER: _ClassVar[int]
    cpu: int
    group: int
    time_enabled_ns: int
    time_running_ns: int
    counters: _containers.RepeatedCompositeFieldContainer[Counter]
    cgroup: int
    package: int
    def __init__(self, cpu: _Optional[int] = ..., group: _Optional[int] = ..., time_enabled_ns: _Optional[int] = ..., time_running_ns: _Optional[int] = ..., counters: _Optional[_Iterable[_Union[Counter, _Mapping]]] = ..., cgroup: _Optional[int] = ..., package: _Optional[int] = ...) -> None: ...

class Counter(_message.Message):
    __slots__ = ("name", "support", "errno", "value", "unit", "scale", "source")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SUPPORT_FIELD_NUMBER: _ClassVar[int]
    ERRNO_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    name: int
    support: Support
    errno: int
    value: int
    unit: int
    scale: float
    source: int
    def __init__(self, name: _Optional[int] = ..., support: _Optional[_Union[Support, str]] = ..., errno: _Optional[int] = ..., value: _Optional[int] = ..., unit: _Optional[int] = ..., scale: _Optional[float] = ..., source: _Optional[int] = ...) -> None: ...

class SystemState(_message.Message):
    __slots__ = ("utilisation", "load", "pressure", "memory_available_bytes", "governor", "min_mhz", "max_mhz", "modules", "pressure_full", "stalled_us", "tasks_runnable", "tasks", "swap_used_bytes", "memory_available_before_bytes")
    class PressureEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    class ModulesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class PressureFullEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    class StalledUsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    UTILISATION_FIELD_NUMBER: _ClassVar[int]
    LOAD_FIELD_NUMBER: _ClassVar[int]
    PRESSURE_FIELD_NUMBER: _ClassVar[int]
    MEMORY_AVAILABLE_BYTES_FIELD_NUMBER: _ClassVar[int]
    GOVERNOR_FIELD_NUMBER: _ClassVar[int]
    MIN_MHZ_FIELD_NUMBER: _ClassVar[int]
    MAX_MHZ_FIELD_NUMBER: _ClassVar[int]
    MODULES_FIELD_NUMBER: _ClassVar[int]
    PRESSURE_FULL_FIELD_NUMBER: _ClassVar[int]
    STALLED_US_FIELD_NUMBER: _ClassVar[int]
    TASKS_RUNNABLE_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    SWAP_USED_BYTES_FIELD_NUMBER: _ClassVar[int]
    MEMORY_AVAILABLE_BEFORE_BYTES_FIELD_NUMBER: _ClassVar[int]
    utilisation: float
    load: _containers.RepeatedScalarFieldContainer[float]
    pressure: _containers.ScalarMap[str, float]
    memory_available_bytes: int
    governor: str
    min_mhz: float
    max_mhz: float
    modules: _containers.ScalarMap[str, str]
    pressure_full: _containers.ScalarMap[str, float]
    stalled_us: _containers.ScalarMap[str, int]
    tasks_runnable: int
    tasks: int
    swap_used_bytes: int
    memory_available_before_bytes: int
    def __init__(self, utilisation: _Optional[float] = ..., load: _Optional[_Iterable[float]] = ..., pressure: _Optional[_Mapping[str, float]] = ..., memory_available_bytes: _Optional[int] = ..., governor: _Optional[str] = ..., min_mhz: _Optional[float] = ..., max_mhz: _Optional[float] = ..., modules: _Optional[_Mapping[str, str]] = ..., pressure_full: _Optional[_Mapping[str, float]] = ..., stalled_us: _Optional[_Mapping[str, int]] = ..., tasks_runnable: _Optional[int] = ..., tasks: _Optional[int] = ..., swap_used_bytes: _Optional[int] = ..., memory_available_before_bytes: _Optional[int] = ...) -> None: ...

class SymbolExcerpt(_message.Message):
    __slots__ = ("group", "frame", "name", "source", "file", "line", "first_line")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    FRAME_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    LINE_FIELD_NUMBER: _ClassVar[int]
    FIRST_LINE_FIELD_NUMBER: _ClassVar[int]
    group: int
    frame: _containers.RepeatedScalarFieldContainer[int]
    name: _containers.RepeatedScalarFieldContainer[int]
    source: int
    file: _containers.RepeatedScalarFieldContainer[int]
    line: _containers.RepeatedScalarFieldContainer[int]
    first_line: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, group: _Optional[int] = ..., frame: _Optional[_Iterable[int]] = ..., name: _Optional[_Iterable[int]] = ..., source: _Optional[int] = ..., file: _Optional[_Iterable[int]] = ..., line: _Optional[_Iterable[int]] = ..., first_line: _Optional[_Iterable[int]] = ...) -> None: ...

class OwnCost(_message.Message):
    __slots__ = ("cpu_ms", "peak_rss_kib", "ring_bytes", "unwind_entries", "stacks_walked")
    CPU_MS_FIELD_NUMBER: _ClassVar[int]
    PEAK_RSS_KIB_FIELD_NUMBER: _ClassVar[int]
    RING_BYTES_FIELD_NUMBER: _ClassVar[int]
    UNWIND_ENTRIES_FIELD_NUMBER: _ClassVar[int]
    STACKS_WALKED_FIELD_NUMBER: _ClassVar[int]
    cpu_ms: float
    peak_rss_kib: int
    ring_bytes: int
    unwind_entries: int
    stacks_walked: int
    def __init__(self, cpu_ms: _Optional[float] = ..., peak_rss_kib: _Optional[int] = ..., ring_bytes: _Optional[int] = ..., unwind_entries: _Optional[int] = ..., stacks_walked: _Optional[int] = ...) -> None: ...
