"""Where CPython's structures keep what is read of them, by version. Offsets are bytes on x86-64.

Sources: offsetof() in programs compiled with each version's own headers: cpython/{frameobject,pystate,code}.h and
internal/pycore_{runtime,interp}.h (3.9, 3.10); internal/pycore_frame.h and cpython/pystate.h (3.11, 3.12). From 3.13
on the interpreter's file states them itself, in `_Py_DebugOffsets` at the start of `_PyRuntime`
(internal/pycore_runtime.h; 3.14: internal/pycore_debug_offsets.h); text is laid out as in cpython/unicodeobject.h.
The layout of a version is the same in all its patch releases. Builds with Py_TRACE_REFS have other object headers;
they fail the check of object types in code_objects.py.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from gateway.errors import RuntimeUnsupported

OLDEST: Final = (3, 9)
NEWEST: Final = (3, 14)
DEBUG_OFFSETS_BYTES: Final = 8 + 80 * 8
_COOKIE: Final = b"xdebugpy"
_MAX_OFFSET: Final = 1 << 20
_MAX_FRAME_OFFSET: Final = 120
_MAX_CODE_OFFSET: Final = 144
MAX_CODE_BYTES: Final = 224
"""Size of a PyCodeObject that python_frames.bpf.c copies."""


@dataclass(frozen=True, slots=True)
class Text:
    """PyUnicodeObject: where its state lies, and where the characters begin."""

    state: int
    ascii_data: int
    data: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Offsets in the structures that a member is named after; None: the version has no such member.

    - `current`: of gilstate.tstate_current in _PyRuntime.
    - `code_name`: co_qualname, up to 3.10 co_name; `code_table`: co_linetable, in 3.9 co_lnotab.
    - `code_instructions`: of the first instruction, if frames point at instructions instead of counting them.
    """

    version: tuple[int, int]
    runtime_interpreters: int
    interpreter_next: int
    interpreter_threads: int
    thread_next: int
    thread_id: int
    frame_previous: int
    frame_code: int
    frame_instruction: int
    code_file: int
    code_name: int
    code_table: int
    code_first_line: int
    code_size: int
    text: Text
    current: int | None = None
    thread_frame: int | None = None
    thread_cframe: int | None = None
    cframe_frame: int | None = None
    cframe_previous: int | None = None
    frame_owner: int | None = None
    frame_is_entry: int | None = None
    code_instructions: int | None = None


_TEXT_TO_3_11: Final = Text(state=32, ascii_data=48, data=72)
_TEXT: Final = Text(state=32, ascii_data=40, data=56)

LAYOUTS: Final = {
    layout.version: layout
    for layout in (
        Layout(
            (3, 9), runtime_interpreters=32, interpreter_next=0, interpreter_threads=8, current=568,
            thread_next=8, thread_id=176, thread_frame=24,
            frame_previous=24, frame_code=32, frame_instruction=104,
            code_file=104, code_name=112, code_table=120, code_first_line=40, code_size=176, text=_TEXT_TO_3_11,
        ),
        Layout(
            (3, 10), runtime_interpreters=32, interpreter_next=0, interpreter_threads=8, current=568,
            thread_next=8, thread_id=176, thread_frame=24, thread_cframe=48, cframe_previous=8,
            frame_previous=24, frame_code=32, frame_instruction=96,
            code_file=104, code_name=112, code_table=120, code_first_line=40, code_size=176, text=_TEXT_TO_3_11,
        ),
        Layout(
            (3, 11), runtime_interpreters=40, interpreter_next=0, interpreter_threads=16, current=576,
            thread_next=8, thread_id=152, thread_cframe=56, cframe_frame=8, cframe_previous=16,
            frame_previous=48, frame_code=32, frame_instruction=56, frame_owner=69, frame_is_entry=68,
            code_file=112, code_name=128, code_table=136, code_first_line=72, code_size=192,
            code_instructions=184, text=_TEXT_TO_3_11,
        ),
        Layout(
            (3, 12), runtime_interpreters=40, interpreter_next=0, interpreter_threads=72,
            thread_next=8, thread_id=136, thread_cframe=56, cframe_frame=0,
            frame_previous=8, frame_code=0, frame_instruction=56, frame_owner=70,
            code_file=112, code_name=128, code_table=136, code_first_line=68, code_size=200,
            code_instructions=192, text=_TEXT,
        ),
    )
}  # fmt: skip
"""Versions that do not state their own layout."""

_RUNTIME: Final = ("size", "finalizing", "interpreters_head")
_INTERPRETER_3_13: Final = (
    "size", "id", "next", "threads_head", "gc", "imports_modules", "sysdict", "builtins", "ceval_gil",
    "gil_runtime_state", "gil_runtime_state_enabled", "gil_runtime_state_locked", "gil_runtime_state_holder",
)  # fmt: skip
_INTERPRETER_3_14: Final = (
    *_INTERPRETER_3_13[:4], "threads_main", *_INTERPRETER_3_13[4:], "code_object_generation", "tlbc_generation",
)  # fmt: skip
_THREAD: Final = (
    "size", "prev", "next", "interp", "current_frame", "thread_id", "native_thread_id", "datastack_chunk", "status",
)  # fmt: skip
_FRAME_3_13: Final = ("size", "previous", "executable", "instr_ptr", "localsplus", "owner")
_FRAME_3_14: Final = (*_FRAME_3_13, "stackpointer", "tlbc_index")
_CODE: Final = (
    "size", "filename", "name", "qualname", "linetable", "firstlineno", "argcount", "localsplusnames",
    "localspluskinds", "co_code_adaptive",
)  # fmt: skip


def states_own_layout(runtime: bytes) -> bool:
    """Whether `_PyRuntime` begins with `_Py_DebugOffsets`."""
    return runtime.startswith(_COOKIE)


def layout_of(runtime: bytes) -> Layout:
    """The layout that the first `DEBUG_OFFSETS_BYTES` of `_PyRuntime` state. Raises RuntimeUnsupported."""
    try:
        version, free_threaded, *rest = struct.unpack_from("<80Q", runtime, len(_COOKIE))
    except struct.error:
        raise RuntimeUnsupported("the table of offsets in _PyRuntime is cut off") from None
    found = version >> 24 & 0xFF, version >> 16 & 0xFF
    require_supported(found)
    if free_threaded:
        raise RuntimeUnsupported(f"free-threaded CPython {found[0]}.{found[1]} is not supported")
    newer = found >= (3, 14)
    groups = {
        "runtime": _RUNTIME,
        "interpreter": _INTERPRETER_3_14 if newer else _INTERPRETER_3_13,
        "thread": _THREAD,
        "frame": _FRAME_3_14 if newer else _FRAME_3_13,
        "code": _CODE,
    }
    names = [(group, name) for group, members in groups.items() for name in members]
    at = dict(zip(names, rest, strict=False))
    layout = Layout(
        found,
        runtime_interpreters=at["runtime", "interpreters_head"],
        interpreter_next=at["interpreter", "next"],
        interpreter_threads=at["interpreter", "threads_head"],
        thread_next=at["thread", "next"],
        thread_id=at["thread", "thread_id"],
        thread_frame=at["thread", "current_frame"],
        frame_previous=at["frame", "previous"],
        frame_code=at["frame", "executable"],
        frame_instruction=at["frame", "instr_ptr"],
        frame_owner=at["frame", "owner"],
        code_file=at["code", "filename"],
        code_name=at["code", "qualname"],
        code_table=at["code", "linetable"],
        code_first_line=at["code", "firstlineno"],
        code_size=at["code", "size"],
        code_instructions=at["code", "co_code_adaptive"],
        text=_TEXT,
    )
    _check(layout)
    return layout


def require_supported(version: tuple[int, int]) -> None:
    """Raise RuntimeUnsupported unless frames of this version can be read."""
    if not OLDEST <= version <= NEWEST:
        raise RuntimeUnsupported(
            f"CPython {version[0]}.{version[1]} is not supported: "
            f"frames of {OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]} are read"
        )


def _check(layout: Layout) -> None:
    """Refuse what the BPF program could not follow; a file may state anything."""
    frame = (layout.frame_previous, layout.frame_code, layout.frame_instruction, layout.frame_owner or 0)
    code = (layout.code_file, layout.code_name, layout.code_table, layout.code_first_line)
    other = (
        layout.runtime_interpreters, layout.interpreter_next, layout.interpreter_threads,
        layout.thread_next, layout.thread_id, layout.thread_frame or 0,
    )  # fmt: skip
    aligned = (*frame[:3], *code[:3], *other)
    if (
        max(frame) > _MAX_FRAME_OFFSET
        or max(code) > _MAX_CODE_OFFSET
        or max(other) > _MAX_OFFSET
        or max(layout.thread_next, layout.thread_id, layout.thread_frame or 0) > 0xFFFE
        or any(offset & 7 for offset in aligned)
        or layout.code_first_line & 3
        or not 152 <= layout.code_size <= MAX_CODE_BYTES
        or layout.code_instructions is None
        or not 0 < layout.code_instructions <= layout.code_size
    ):
        raise RuntimeUnsupported("the table of offsets in _PyRuntime is implausible")
