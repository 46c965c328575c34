"""Files of keys and certificates: whole or not at all, and keys for their owner alone."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from services.errors import CertificateProblem

PRIVATE: Final = 0o600
PUBLIC: Final = 0o644


def make_folder(folder: Path) -> None:
    """Make it for its owner alone; one that is there stays as it is. Raises CertificateProblem."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CertificateProblem(f"Cannot create {folder}: {error.strerror}.") from error


@contextlib.contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Hold the folder against another `fleetprof certs`; waits for it to end."""
    make_folder(folder)
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def write(path: Path, content: bytes, mode: int) -> None:
    """Replace the file in one step; it has its mode from the first byte. Raises CertificateProblem."""
    make_folder(path.parent)
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        try:
            os.fchmod(descriptor, mode)  # whatever the umask
            with open(descriptor, "wb", closefd=False) as file:
                file.write(content)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        new.rename(path)
        _sync(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            new.unlink()
        raise CertificateProblem(f"Cannot write {path}: {error.strerror}.") from error


def read(path: Path) -> bytes:
    """Its content; raises CertificateProblem."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise CertificateProblem(f"Cannot read {path}: {error.strerror}.") from error


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
