"""Files of keys and certificates: written atomically, keys readable by their owner only."""

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
    """Make the folder for its owner only; an existing one is unchanged. Raises CertificateProblem."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CertificateProblem(f"Cannot create {folder}: {error.strerror}.") from error


@contextlib.contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Lock the folder against other `fleetprof certs` commands; waits for a running one."""
    make_folder(folder)
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def write(path: Path, content: bytes, mode: int) -> None:
    """Replace the file atomically; it has its mode from the first byte. Raises CertificateProblem."""
    make_folder(path.parent)
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        try:
            os.fchmod(descriptor, mode)  # independent of the umask
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
    """Content of the file; raises CertificateProblem."""
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
