"""Stores the table of the kernel a worker runs on in the fleet's store, so that it survives the next boot.

After a machine changes its kernel, captures of the old kernel can only be named from stored tables.
"""

import hashlib
import logging
import tempfile
from pathlib import Path

from sqlalchemy import Engine

from storage.archive import Archive
from storage.errors import StorageError
from symbolizer.errors import SymbolizerError
from symbolizer.inspection.gateway_symbols import keep_kernel_table

log = logging.getLogger(__name__)

ORIGIN = "/proc/kallsyms"


class KernelTableStore:
    """Stores each table once. For one thread."""

    def __init__(self, engine: Engine, archive: Archive) -> None:
        self._engine = engine
        self._archive = archive
        self._kept = b""

    def __call__(self, table: bytes) -> None:
        """Store a table; a failure is logged, and the next call tries again."""
        digest = hashlib.sha256(table).digest()
        if digest == self._kept:
            return
        try:
            with tempfile.TemporaryDirectory(prefix="fleetprof-kernel-") as folder:
                path = Path(folder, "kernel")
                path.write_bytes(table)
                keep_kernel_table(self._engine, self._archive, path, origin=ORIGIN, name="[kernel]")
        except (StorageError, SymbolizerError, OSError) as error:
            log.warning("kernel table not stored: why=%s", error)
            return
        self._kept = digest
