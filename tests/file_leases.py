"""A process that holds a write lease on a file (F_SETLEASE in fcntl(2)): whoever opens that waits, for 45 s by default."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

NOBODY: Final = 65534
_HOLDER: Final = """
import fcntl, mmap, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
descriptor = os.open(sys.argv[1], os.O_RDONLY)
user = os.fstat(descriptor).st_uid
os.setresuid(user, user, user)
mapped = mmap.mmap(descriptor, 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC)
fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("held", flush=True)
sys.stdin.readline()
"""


@contextmanager
def leased(path: Path) -> Iterator[int]:
    """The pid of the holder, of the file's owner, who has it mapped as code too; the lease ends with this."""
    command = [sys.executable, "-c", _HOLDER, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"held\n"
            yield process.pid
        finally:
            process.kill()


def give_away(path: Path) -> None:
    """To another user, where that is possible."""
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)
