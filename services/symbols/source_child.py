"""Lists one archive of sources in a separate process, because uploads are hostile input.

    python -m services.symbols.source_child DESCRIPTOR MEMORY_BYTES CPU_SECONDS MEMBERS FILE_BYTES

Reads the tar archive open as DESCRIPTOR and writes one line of JSON for each regular file to standard output: its name,
its position and its size. Exit 0: listed; 3: unusable, with the reason on standard error. Any other status is a crash
or an exceeded limit, which ends only this process.
"""

import json
import sys

from symbolizer.limited_child import limit_this_process

REFUSED = 3


def main(arguments: list[str]) -> int:
    """Set the limits, then list the archive."""
    descriptor, memory, seconds, most, file_bytes = (int(argument) for argument in arguments)
    limit_this_process(memory, seconds, written=0)  # it writes to its pipe only

    from services.symbols.errors import UnusableFile  # noqa: PLC0415 - within the limits
    from services.symbols.source_archive import Limits, members  # noqa: PLC0415

    try:
        with open(descriptor, "rb") as archive:  # noqa: PTH123 - a descriptor
            for member in members(archive, Limits(most, file_bytes)):
                print(json.dumps([member.name, member.offset, member.size]))  # noqa: T201 - its one way to answer
    except (UnusableFile, OSError) as error:
        print(error, file=sys.stderr)  # noqa: T201
        return REFUSED
    except MemoryError:
        print(f"Reading the archive needs more than {memory >> 20} MiB.", file=sys.stderr)  # noqa: T201
        return REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
