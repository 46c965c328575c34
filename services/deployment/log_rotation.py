"""Rotation of the log files of `up`: bounds size and number while their writers hold them open.

A part writes to the descriptor it was started with and cannot reopen the file. A long log is therefore copied and then
truncated, like logrotate's `copytruncate`; the writers append, and continue at offset 0. A line written between copy
and truncation is lost: a window of microseconds in weeks.
"""

import os
import shutil
from pathlib import Path

LONGEST_BYTES = 16 << 20
ROTATED_FILES = 4
"""Number of rotated files beside the log: `.1` (the newest) to `.4`."""


def rotate_if_long(log: Path, *, longest: int = LONGEST_BYTES, rotated_files: int = ROTATED_FILES) -> bool:
    """Rotate the log if it is longer than `longest`; returns whether it was. Only this user may write to the folder.

    On any OS error the log stays unchanged and nothing is raised. Costs one stat(2) if the log is short.
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
