"""Log files of the parts of `up`: bounded in size and number, while their writers hold them open.

A part writes to the descriptor it was started with, and cannot be told to open another file. So a long log is copied
aside and then cut to nothing, as logrotate's `copytruncate` does; the writers append, and go on at the beginning.
A line that is written between the two is lost: some microseconds in weeks.
"""

import os
import shutil
from pathlib import Path

LONGEST_BYTES = 16 << 20
ROTATED_FILES = 4
"""Files `.1` (the newest) to `.4` beside the log."""


def rotate_if_long(log: Path, *, longest: int = LONGEST_BYTES, rotated_files: int = ROTATED_FILES) -> bool:
    """Set the log aside if it is longer than that; whether it was. The folder must be this user's alone.

    Whatever keeps it from doing so is no reason to end: then the log stays as it is. Costs one stat(2) otherwise.
    """
    try:
        if log.stat().st_size <= longest:
            return False
        copy = _numbered(log, 0)
        shutil.copyfile(log, copy)
        for number in range(rotated_files, 0, -1):
            older = _numbered(log, number - 1)
            if older.exists():
                older.replace(_numbered(log, number))
        os.truncate(log, 0)
    except OSError:
        return False
    return True


def _numbered(log: Path, number: int) -> Path:
    return log.with_name(f"{log.name}.{number}")
