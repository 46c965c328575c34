"""A module run in a process of its own on files that may be hostile, which it gets as descriptors.

The child sets its own limits of memory and CPU time before it looks at a file; here is only its time on the clock.
"""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final

_PACKAGE_ROOT: Final = Path(__file__).resolve().parents[1]
_MAX_REASON: Final = 500


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended."""

    status: int
    """Its exit code; below 0: the signal that ended it."""
    output: bytes
    said: str
    """The last line of its complaints, at most 500 characters; '' if there is none."""


def run_child(
    module: ModuleType, arguments: Sequence[str], descriptors: Sequence[int], *, seconds: float
) -> Ended | None:
    """Run the module with these arguments; None: it was ended after `seconds` on the clock.

    Its environment is empty but for what keeps numpy from starting threads, each of which takes address space.
    Raises OSError if no process can be started.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-m", module.__name__, *arguments],
            cwd=_PACKAGE_ROOT,  # `-m` finds the package there, installed or not
            pass_fds=descriptors,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
            env={"OPENBLAS_NUM_THREADS": "1"},
        )
    except subprocess.TimeoutExpired:
        return None
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return Ended(done.returncode, done.stdout, lines[-1][:_MAX_REASON] if lines else "")
