"""Kernel tables of the fleet's store, parsed once per process for all kernels that share them.

A table of the same kernel and the same set of modules is used alone. Else the kernel's functions come from
any table of its build, and each module's from a table with the same build of the module.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

from storage.symbols.candidates import DebugFile
from symbolizer.cache_eviction import evict_oldest
from symbolizer.errors import SymbolizerError
from symbolizer.files import OpenedFile
from symbolizer.kernel.identity import KernelIdentity
from symbolizer.kernel.kallsyms import (
    MAX_BYTES,
    TABLE_MAGIC,
    Kallsyms,
    OffsetTable,
    parse_kallsyms,
    parse_table,
)
from symbolizer.sources.source import Missing

log = logging.getLogger(__name__)

MAX_PARSED: Final = 16
"""Cached tables, some 15 MB each."""
MAX_PARSED_BYTES: Final = 256 << 20
"""Memory for all cached tables but the newest."""
MAX_LOOKED_AT: Final = 8
"""Most tables of one kernel's build that are combined, the best first; further sets of modules are ignored."""

Fetch = Callable[[DebugFile], OpenedFile | Missing]


class KernelTables:
    """Parsed tables by their content. For one thread."""

    def __init__(self, fetch: Fetch) -> None:
        """`fetch` opens a candidate's file."""
        self._fetch = fetch
        self._parsed: OrderedDict[bytes, Kallsyms | None] = OrderedDict()

    def find(self, kernel: KernelIdentity, files: Sequence[DebugFile]) -> Kallsyms | None:
        """The symbols of a kernel from candidates of its build, the best first; None: none can be used."""
        ordered = sorted(files, key=lambda file: file.variant != kernel.module_set)
        own: OffsetTable | None = None
        modules: dict[str, OffsetTable] = {}
        builds = {name for name, build in kernel.modules if build}
        for file in ordered[:MAX_LOOKED_AT]:
            symbols = self._table(file)
            if symbols is None:
                continue
            own = own or symbols.kernel
            modules = {**symbols.only(kernel).modules, **modules}
            if file.variant == kernel.module_set or builds <= modules.keys():
                break
        return None if own is None else Kallsyms(own, modules, dict(kernel.modules))

    def _table(self, file: DebugFile) -> Kallsyms | None:
        if file.sha256 not in self._parsed:
            content = self._fetch(file)
            if isinstance(content, Missing):
                return None
            self._parsed[file.sha256] = _parse(content, file.binary_key)
            evict_oldest(self._parsed, _memory_of, most=MAX_PARSED, most_bytes=MAX_PARSED_BYTES)
        self._parsed.move_to_end(file.sha256)
        return self._parsed[file.sha256]


def _parse(content: OpenedFile, key: str) -> Kallsyms | None:
    """The table's functions; None: it is not a kernel table."""
    with content:
        text = content[0 : MAX_BYTES + 1]
    try:
        if text.startswith(TABLE_MAGIC):
            return parse_table(text)[1]
        # An uploaded copy of /proc/kallsyms: the load addresses of its modules are not known.
        return parse_kallsyms(text, {})
    except SymbolizerError as error:
        log.warning("not used: kernel table of %s, %s", key, error)
        return None


def _memory_of(table: Kallsyms | None) -> int:
    return table.memory_bytes if table is not None else 0
