"""Demangles names line by line in a separate program, because LLVM's demangler is not safe with hostile names.

    python -m symbolizer.demangle_child MEMORY_BYTES

For each line of standard input it writes one: the demangled name, or an empty line. A name of 270 bytes may
expand to gigabytes, at which LLVM calls abort(), and nesting may exhaust the stack: both end only this process.
"""

import ctypes
import resource
import signal
import sys
from typing import Final

MAX_PLAIN: Final = 1 << 16
"""Characters of a demangled name; longer ones count as failures."""
_PR_SET_PDEATHSIG: Final = 1


def main(arguments: list[str]) -> int:
    """Set the limits, then process lines until the input ends."""
    (memory,) = (int(argument) for argument in arguments)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # a killed parent leaves no child behind
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # it writes to its pipe only

    import pycxxfilt  # noqa: PLC0415 - within the limits

    for line in sys.stdin.buffer:
        try:
            plain = pycxxfilt.demangle(line.decode().rstrip("\n")) or ""
        except ValueError:  # not a mangled name: _Read, _Zebra
            plain = ""
        answer = plain if len(plain) <= MAX_PLAIN and "\n" not in plain else ""
        sys.stdout.buffer.write(answer.encode() + b"\n")
        sys.stdout.buffer.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
