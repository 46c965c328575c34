"""Builds one SymCache file; a program of its own, because debug files are hostile input.

    python -m symbolizer.build_child DESCRIPTOR OUTPUT MEMORY_BYTES CPU_SECONDS

Reads the ELF file open as DESCRIPTOR and writes OUTPUT. Exit 0: written; 3: `symbolic` refused the
file, with its reason on stderr. Anything else is a crash or a limit, which only ends this process.
"""

import ctypes
import resource
import signal
import sys
from pathlib import Path

REFUSED = 3
_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> int:
    """Set the limits, then build."""
    descriptor, output, memory, seconds = (
        arguments[0],
        Path(arguments[1]),
        int(arguments[2]),
        int(arguments[3]),
    )
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # a killed worker leaves no builder behind
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    from symbolic.debuginfo import Archive  # noqa: PLC0415 - within the limits
    from symbolic.exceptions import SymbolicError  # noqa: PLC0415

    try:
        archive = Archive.open(f"/proc/self/fd/{descriptor}")
        cache = next(archive.iter_objects()).make_symcache()
        with output.open("wb") as file:
            cache.dump_into(file)  # type: ignore[no-untyped-call]  # symbolic is typed in part
    except (SymbolicError, StopIteration, LookupError, MemoryError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201 - its one way to say why
        return REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
