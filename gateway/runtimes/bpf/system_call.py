"""The bpf(2) system call: maps and programs as descriptors (include/uapi/linux/bpf.h)."""

from __future__ import annotations

import ctypes
import os
import struct
from typing import Final

# arch/x86/entry/syscalls/syscall_64.tbl
_NR_BPF: Final = 321
_MAP_CREATE: Final = 0
_MAP_UPDATE: Final = 2
_MAP_DELETE: Final = 3
_MAP_NEXT_KEY: Final = 4
_PROGRAM_LOAD: Final = 5
_OBJECT_INFO: Final = 15
_PROGRAM_TYPE_PERF_EVENT: Final = 7
# The kernel accepts a shorter or longer union bpf_attr as long as the unknown rest is zero.
_ATTRIBUTE_BYTES: Final = 128
_NAME_BYTES: Final = 15
_INFO_BYTES: Final = 256
_LOG_BYTES: Final = 16 << 20
_LOG_SHOWN: Final = 2000

_libc: Final = ctypes.CDLL(None, use_errno=True)


def create_map(name: str, kind: int, *, key_bytes: int, value_bytes: int, entries: int, flags: int) -> int:
    """A descriptor of a new map. Raises OSError."""
    attributes = struct.pack(
        "<7I16s", kind, key_bytes, value_bytes, entries, flags, 0, 0, name.encode()[:_NAME_BYTES]
    )
    return _close_on_exec(_call(_MAP_CREATE, attributes))


def update(descriptor: int, key: bytes, value: bytes) -> None:
    """Set one element of a map. Raises OSError: E2BIG if it is full."""
    held_key = ctypes.create_string_buffer(key, len(key))
    held_value = ctypes.create_string_buffer(value, len(value))
    addresses = ctypes.addressof(held_key), ctypes.addressof(held_value)
    _call(_MAP_UPDATE, struct.pack("<IIQQQ", descriptor, 0, *addresses, 0))


def delete(descriptor: int, key: bytes) -> None:
    """Remove one element of a map. Raises OSError: ENOENT if it is not there."""
    held = ctypes.create_string_buffer(key, len(key))
    _call(_MAP_DELETE, struct.pack("<IIQ", descriptor, 0, ctypes.addressof(held)))


def first_key(descriptor: int, key_bytes: int) -> bytes | None:
    """Any key of a map; None: it is empty. Raises OSError."""
    held = ctypes.create_string_buffer(key_bytes)
    try:
        _call(_MAP_NEXT_KEY, struct.pack("<IIQQ", descriptor, 0, 0, ctypes.addressof(held)))
    except FileNotFoundError:
        return None
    return held.raw


def load_program(name: str, instructions: bytes, licence: bytes) -> int:
    """A descriptor of a verified program of type perf_event. Raises OSError, with the end of the verifier's log."""
    code = ctypes.create_string_buffer(instructions, len(instructions))
    words = ctypes.create_string_buffer(licence)

    def load(log: ctypes.Array[ctypes.c_char] | None) -> int:
        # The log costs time and memory, so it is requested only for the message of a failure.
        level, size, address = (0, 0, 0) if log is None else (1, len(log), ctypes.addressof(log))
        return _call(
            _PROGRAM_LOAD,
            struct.pack(
                "<IIQQIIQII16s", _PROGRAM_TYPE_PERF_EVENT, len(instructions) // 8, ctypes.addressof(code),
                ctypes.addressof(words), level, size, address, 0, 0, name.encode()[:_NAME_BYTES],
            ),
        )  # fmt: skip

    try:
        return _close_on_exec(load(None))
    except PermissionError:
        raise
    except OSError as first:
        log = ctypes.create_string_buffer(_LOG_BYTES)
        try:
            return _close_on_exec(load(log))
        except OSError:
            said = log.value.decode("utf-8", "replace")[-_LOG_SHOWN:]
            raise OSError(
                first.errno, f"{os.strerror(first.errno or 0)}; the verifier's log ends: {said}"
            ) from first


def run_time(program: int) -> tuple[int, int]:
    """Nanoseconds and runs of a program; both 0 unless kernel.bpf_stats_enabled is 1."""
    info = ctypes.create_string_buffer(_INFO_BYTES)
    _call(_OBJECT_INFO, struct.pack("<IIQ", program, len(info), ctypes.addressof(info)))
    nanoseconds, runs = struct.unpack_from("<QQ", info.raw, 192)
    return nanoseconds, runs


def _call(command: int, attributes: bytes) -> int:
    buffer = ctypes.create_string_buffer(attributes, max(len(attributes), _ATTRIBUTE_BYTES))
    result: int = _libc.syscall(_NR_BPF, command, ctypes.byref(buffer), len(buffer))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def _close_on_exec(descriptor: int) -> int:
    """Bpf(2) sets the flag by itself; an emulated kernel might not."""
    os.set_inheritable(descriptor, False)
    return descriptor
