"""Numbers of the kernel's tracepoints, by tracefs (Documentation/trace/events.rst).

tracefs is mounted at /sys/kernel/tracing, on older systems only at /sys/kernel/debug/tracing. Both belong to root with
mode 0700: another user needs CAP_DAC_READ_SEARCH, or cannot even see whether it is mounted.
"""

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from fleetpb import capture_pb2
from gateway.errors import BadFormat, EventUnavailable
from gateway.perf.event_names import TracepointName
from gateway.perf.sysfs_formats import parse_id

MOUNTS: Final = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))
_MOUNT: Final = "mount -t tracefs tracefs /sys/kernel/tracing"
_MAX_ID_BYTES: Final = 64


def tracepoint_id(name: TracepointName, mounts: Sequence[Path] = MOUNTS) -> int:
    """`perf_event_attr.config` of the tracepoint; raises EventUnavailable with the fix."""
    mounted, code = False, errno.ENOENT
    for mount in mounts:
        try:
            mounted = mounted or (mount / "events").is_dir()
            with (mount / "events" / name.subsystem / name.name / "id").open() as file:
                return parse_id(file.read(_MAX_ID_BYTES))
        except BadFormat as reason:
            raise _unavailable(name, errno.EINVAL, str(reason)) from reason
        except OSError as error:
            # The first mount that exists and is closed to us decides; a missing one is no evidence.
            if error.errno not in {errno.ENOENT, errno.ENOTDIR} and code == errno.ENOENT:
                code = error.errno or errno.EIO
    if code in {errno.EACCES, errno.EPERM}:
        raise _unavailable(name, code, "this user has no access to tracefs; grant CAP_DAC_READ_SEARCH")
    if not mounted:
        raise _unavailable(name, code, f"tracefs is not mounted; run: {_MOUNT}")
    raise _unavailable(name, code, "this kernel has no such tracepoint")


def _unavailable(name: TracepointName, code: int, why: str) -> EventUnavailable:
    denied = code in {errno.EACCES, errno.EPERM}
    return EventUnavailable(
        f"tracepoint:{name.subsystem}:{name.name}: {why} ({os.strerror(code)})",
        support=capture_pb2.SUPPORT_DENIED if denied else capture_pb2.SUPPORT_UNSUPPORTED,
        errno=code,
    )
