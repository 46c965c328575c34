"""Builds one file of symbols in a separate program, because debug files are hostile input.

    python -m symbolizer.builds.child OUTPUT MEMORY_BYTES CPU_SECONDS OUTPUT_BYTES ORIGIN DEBUG [EXECUTABLE]

Reads the ELF files open as the descriptors DEBUG and EXECUTABLE, and writes at most OUTPUT_BYTES to the existing
file OUTPUT. Exit status:

    0   OUTPUT is written; its cost is on stdout as JSON
    3   a file cannot be used; the reason is on stderr
    4   OUTPUT cannot be written or a file cannot be read, which is not the files' fault
    5   the debug data itself cannot be used; the reason is on stderr

Anything else is a crash or a limit, which ends only this process.
"""

import errno
import json
import resource
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from symbolizer.limited_child import limit_this_process

REFUSED: Final = 3
UNABLE: Final = 4
UNUSABLE: Final = 5


@dataclass(frozen=True, slots=True)
class Request:
    """The program's arguments."""

    output: str
    memory_bytes: int
    seconds: int
    output_bytes: int
    origin: str
    debug: int
    executable: int | None = None

    def arguments(self) -> list[str]:
        """The request as command-line arguments."""
        files = [self.debug] if self.executable is None else [self.debug, self.executable]
        limits = map(str, (self.memory_bytes, self.seconds, self.output_bytes))
        return [self.output, *limits, self.origin, *map(str, files)]


def main(arguments: list[str]) -> int:
    """Set the limits, then build."""
    output, memory, seconds, output_bytes, origin, *files = arguments
    request = Request(output, int(memory), int(seconds), int(output_bytes), origin, *map(int, files))
    limit_this_process(request.memory_bytes, request.seconds, written=request.output_bytes)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # makes exceeding it an OSError

    from symbolizer.builds.work import NotBuildable, Unusable, build  # noqa: PLC0415 - within the limits

    try:
        build(request)
    except (NotBuildable, MemoryError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201 - its one way to say why
        return UNUSABLE if isinstance(error, Unusable) else REFUSED
    except OSError as error:
        print(error.strerror or error, file=sys.stderr)  # noqa: T201 - its one way to say why
        return REFUSED if error.errno == errno.EFBIG else UNABLE
    usage = resource.getrusage(resource.RUSAGE_SELF)
    cost = {"cpu_s": round(usage.ru_utime + usage.ru_stime, 3), "peak_rss_bytes": _peak_rss_bytes()}
    print(json.dumps(cost))  # noqa: T201 - its one way to say so
    return 0


def _peak_rss_bytes() -> int:
    """Peak RSS of this program. getrusage would include the parent's from before exec, if that was larger."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
