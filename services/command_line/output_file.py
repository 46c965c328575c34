"""Output of a command: a file that is complete or absent, or standard output."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO

from services.errors import CannotWrite

STANDARD_OUTPUT = Path("-")


def write(parts: Iterable[bytes], target: Path, wrote: Callable[[int], None] = lambda _: None) -> int:
    """Write all parts; returns their bytes and passes the running total to `wrote`. Raises `CannotWrite`.

    A file has a temporary name in the same folder until it is complete. A pipe or device is written directly. A reader
    that stops early (`… | head`) is no error.
    """
    try:
        if target == STANDARD_OUTPUT:
            return _write_all(parts, sys.stdout.buffer, wrote)
        if target.exists() and not target.is_file():
            with target.open("wb") as file:
                return _write_all(parts, file, wrote)
        return _replace(parts, target, wrote)
    except BrokenPipeError:
        _detach_standard_output()
        return 0
    except OSError as error:
        raise CannotWrite(f"Cannot write {target}: {error.strerror or error}.") from error


def _replace(parts: Iterable[bytes], target: Path, wrote: Callable[[int], None]) -> int:
    made, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(made, "wb") as file:
            size = _write_all(parts, file, wrote)
            os.fchmod(file.fileno(), 0o666 & ~_umask())
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
    return size


def _write_all(parts: Iterable[bytes], file: IO[bytes], wrote: Callable[[int], None]) -> int:
    size = 0
    for part in parts:
        file.write(part)
        size += len(part)
        wrote(len(part))
    file.flush()
    return size


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _detach_standard_output() -> None:
    # Otherwise the interpreter's flush at exit fails and prints an error.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
