"""debuginfod servers as a `SymbolSource`.

Every file is verified: it must have the requested build-id, and a debug file must have more symbols than the
available executable. (A server of elfutils 0.188 that has several files of one build-id returns the same one
for `debuginfo` and `executable`.) Files that a server lacks are recorded, fleet-wide.
"""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Literal

from storage.symbols.kinds import Quality
from symbolizer.dwarf.units import DwarfUnit
from symbolizer.elf.file import ElfFile
from symbolizer.elf.links import AltLink
from symbolizer.errors import MalformedElf
from symbolizer.files import OpenedFile
from symbolizer.identity import ImageIdentity
from symbolizer.kernel.identity import KernelIdentity
from symbolizer.kernel.kallsyms import Kallsyms
from symbolizer.sources.debuginfod_client import ABSENT_S, DebuginfodClient, Fetched, NotFetched
from symbolizer.sources.download_folder import DownloadFolder, no_copy
from symbolizer.sources.negative_cache import NegativeCache
from symbolizer.sources.opened_elf import as_elf
from symbolizer.sources.source import Found, Missing

log = logging.getLogger(__name__)

Kind = Literal["executable", "debuginfo"]

_LEAST_ID_BYTES: Final = 4
"""Shorter ones are not unique enough for a lookup at a public server."""
_MOST_ID_BYTES: Final = 64


class _NotIt(Exception):
    """No file was fetched, or not the requested one."""

    def __init__(self, reason: str, lifetime_s: float) -> None:
        super().__init__(reason)
        self.reason = reason
        self.lifetime_s = lifetime_s


class Debuginfod:
    """The servers, in the order of their use."""

    def __init__(
        self, servers: Sequence[DebuginfodClient], notes: NegativeCache, folder: DownloadFolder
    ) -> None:
        self._servers = tuple(servers)
        self._notes = notes
        self._folder = folder

    def executable(self, identity: ImageIdentity) -> Found | Missing:
        """The image with the build-id."""
        return self._file(identity.build_id, identity.key, "executable", lambda elf: elf.has_layout)

    def debug_file(self, identity: ImageIdentity, executable: Found | None) -> Found | Missing:
        """The debug file with the build-id, if it has more symbols than the executable."""
        least = executable.quality if executable is not None else Quality.NONE
        found = self._file(identity.build_id, identity.key, "debuginfo", lambda elf: elf.has_dwarf)
        if isinstance(found, Missing) or found.quality > least:
            return found
        found.content.close()
        return Missing(f"{found.origin} has no more symbols than the program itself.")

    def alternate(self, link: AltLink, debug: Found) -> Found | Missing:  # noqa: ARG002 - of the protocol
        """The common file, which servers index by its own build-id."""
        return self._file(link.build_id, link.build_id.hex(), "debuginfo", lambda elf: elf.has_debug_sections)

    def split_files(
        self,
        identity: ImageIdentity,  # noqa: ARG002
        debug: Found,  # noqa: ARG002
        units: Sequence[DwarfUnit],  # noqa: ARG002
    ) -> tuple[Found, ...]:
        """None: servers have no route for them."""
        return ()

    def kernel(self, kernel: KernelIdentity) -> Kallsyms | Missing:  # noqa: ARG002
        """Missing: a vmlinux of 600 MB is not fetched to name functions that kallsyms names."""
        return Missing("Kernels are not fetched from debuginfod servers.")

    def vdso(self, identity: ImageIdentity) -> ElfFile | Missing:  # noqa: ARG002
        """Missing."""
        return Missing("The vdso is not fetched from debuginfod servers.")

    def _file(
        self, build_id: bytes, key: str, kind: Kind, is_useful: Callable[[ElfFile], bool]
    ) -> Found | Missing:
        if not _LEAST_ID_BYTES <= len(build_id) <= _MOST_ID_BYTES:
            return Missing("Only files with a build-id can be fetched from debuginfod servers.")
        name = f"{build_id.hex()}.{kind}"
        here = self._folder.open(name)
        if here is not None:
            return as_elf(here, f"{kind} {build_id.hex()} of a debuginfod server")
        reasons: list[str] = []
        for server in self._servers:
            known = self._notes.known(key, kind, server.server)
            if known is not None:
                reasons.append(known)
                continue
            found = self._fetch(server, build_id, name, kind, is_useful)
            if isinstance(found, Found):
                return found
            if found.lifetime_s > 0:
                self._notes.note(key, kind, server.server, reason=found.reason, seconds=found.lifetime_s)
            reasons.append(found.reason)
        return Missing(" ".join(reasons) or "No debuginfod server is configured.")

    def _fetch(
        self,
        server: DebuginfodClient,
        build_id: bytes,
        name: str,
        kind: Kind,
        is_useful: Callable[[ElfFile], bool],
    ) -> Found | NotFetched:
        def fetch(target: Path) -> None:
            outcome = server.fetch(build_id, kind, target)
            if isinstance(outcome, NotFetched):
                raise _NotIt(outcome.reason, outcome.lifetime_s)
            assert isinstance(outcome, Fetched)
            with OpenedFile(target) as content:
                _verify(content, build_id, outcome.url, is_useful)

        try:
            content = self._folder.obtain(name, fetch)
        except _NotIt as error:
            return NotFetched(error.reason, error.lifetime_s)
        except OSError as error:  # a fault of this machine: not recorded for the fleet
            log.warning("not fetched: %s, %s", name, error)
            return NotFetched(no_copy(server.url(build_id, kind), error), 0.0)
        found = as_elf(content, server.url(build_id, kind))
        return found if isinstance(found, Found) else NotFetched(found.reason, ABSENT_S)


def _verify(content: OpenedFile, build_id: bytes, url: str, is_useful: Callable[[ElfFile], bool]) -> None:
    try:
        elf = ElfFile(content)
        if elf.build_id != build_id:
            raise _NotIt(f"{url} is a file from another build.", ABSENT_S)
        if not is_useful(elf):
            raise _NotIt(
                f"{url} is not the requested kind of file: it has no debug data, or no code.", ABSENT_S
            )
    except MalformedElf as error:
        raise _NotIt(f"{url} is unusable. {error}", ABSENT_S) from error
