"""Joins one file's debug data in a separate program, because the files are hostile input.

    python -m symbolizer.sources.joining.child OUTPUT MEMORY_BYTES CPU_SECONDS BYTES DESCRIPTOR OTHER…

DESCRIPTOR is the debug file; each OTHER is a common file by `dwz -m`, a .dwo file or a .dwp package. Writes at
most BYTES to OUTPUT. Exit status 0: written; 3: the files cannot be joined, with the reason on standard error.
Anything else is a crash or a limit, which ends only this process.
"""

import signal
import sys
from pathlib import Path

from symbolizer.limited_child import limit_this_process

REFUSED = 3


def main(arguments: list[str]) -> int:
    """Set the limits, then join."""
    output = Path(arguments[0])
    memory, seconds, size, descriptor, *others = (int(argument) for argument in arguments[1:])
    limit_this_process(memory, seconds, written=size)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # makes exceeding it an OSError

    from symbolizer.elf.file import ElfFile  # noqa: PLC0415 - within the limits
    from symbolizer.errors import MalformedElf  # noqa: PLC0415
    from symbolizer.files import OpenedFile  # noqa: PLC0415
    from symbolizer.sources.joining.alternate import join_alternate  # noqa: PLC0415
    from symbolizer.sources.joining.split import join_split  # noqa: PLC0415

    def opened(number: int) -> OpenedFile:
        return OpenedFile(Path(f"/proc/self/fd/{number}"), number)

    try:
        content = opened(descriptor)
        elf = ElfFile(content)
        rest = [ElfFile(opened(number)) for number in others]
        with output.open("wb") as file:
            if elf.alt_link is not None:
                join_alternate(elf, content, rest[0], file)
            else:
                join_split(elf, content, rest, file)
    except (MalformedElf, OSError) as error:
        print(error, file=sys.stderr)  # noqa: T201 - its one way to say why
        return REFUSED
    except MemoryError:
        print(f"They need more than {memory >> 20} MiB to be joined.", file=sys.stderr)  # noqa: T201
        return REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
