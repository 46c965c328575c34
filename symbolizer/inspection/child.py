"""Inspects one symbol file in a separate program, because uploads are hostile input.

    python -m symbolizer.inspection.child DESCRIPTOR MEMORY_BYTES CPU_SECONDS

Reads the file open as DESCRIPTOR and writes the inspection to standard output, as JSON. Exit status 0: inspected;
3: it cannot be used, with the reason on standard error. Anything else is a crash or a limit, which ends only
this process.
"""

import sys
from pathlib import Path

from symbolizer.limited_child import limit_this_process

REFUSED = 3


def main(arguments: list[str]) -> int:
    """Set the limits, then inspect."""
    descriptor, memory, seconds = (int(argument) for argument in arguments)
    limit_this_process(memory, seconds, written=0)  # it writes to its pipe only

    from symbolizer.errors import MalformedImage, SymbolsHidden  # noqa: PLC0415 - within the limits
    from symbolizer.files import OpenedFile  # noqa: PLC0415
    from symbolizer.inspection.inspection import inspect  # noqa: PLC0415

    try:
        with OpenedFile(Path(f"/proc/self/fd/{descriptor}"), descriptor) as content:
            print(inspect(content).to_json())  # noqa: T201 - its one way to answer
    except (MalformedImage, SymbolsHidden, OSError) as error:
        print(error, file=sys.stderr)  # noqa: T201
        return REFUSED
    except MemoryError:
        print(f"Its inspection needs more than {memory >> 20} MiB.", file=sys.stderr)  # noqa: T201
        return REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
