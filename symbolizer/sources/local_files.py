"""Images and debug files among this machine's files, by the rules of GDB.

An executable is at its path in the sampled process, if it still has the build-id (or content) that the
gateway reported, else at DEBUGROOT/.build-id/xx/yyyy. Its debug file is searched, in this order, at

1. DEBUGROOT/.build-id/xx/yyyy.debug
2. the name in .gnu_debuglink: beside the executable, in .debug/ beside it, below DEBUGROOT

and must have the same build-id or, if the executable has none, the CRC-32 of its debug link. The best
candidate is used; the first of equals. A common file by `dwz -m` is at DEBUGROOT/.build-id/xx/yyyy.debug
of its own build-id, or at the path in the debug file. Split DWARF is in a .dwp beside the program or its debug
file, or in .dwo files at the compiler's paths, each joined by its id.
For kernels other than the running one, vmlinux is used: at .build-id/xx/yyyy.debug or .build-id/xx/yyyy,
or at the distributions' paths (`symbolizer/kernel/files.py`).
"""

import posixpath
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from storage.symbols.kinds import Quality
from symbolizer.dwarf.units import DwarfUnit, package_ids
from symbolizer.dwarf.units import units as units_of
from symbolizer.elf.file import ElfFile
from symbolizer.elf.links import AltLink
from symbolizer.errors import MalformedElf, MalformedImage
from symbolizer.files import OpenedFile
from symbolizer.identity import ImageIdentity
from symbolizer.kernel.files import KernelFiles
from symbolizer.kernel.identity import KernelIdentity
from symbolizer.kernel.kallsyms import Kallsyms, kallsyms_of
from symbolizer.sources.opened_elf import open_elf
from symbolizer.sources.running_kernel import RunningKernel
from symbolizer.sources.source import MAX_SPLIT_FILES, Found, Missing

DEBUG_ROOTS: Final = (Path("/usr/lib/debug"),)
_REFUSED: Final = ("/proc/", "/sys/", "/dev/")
"""Paths come from other machines' captures; below these are no images, and opening files may have side effects."""
_CRC_AT_ONCE: Final = 1 << 22


class LocalFiles:
    """This machine as a `SymbolSource`: correct under `fleetprof up`, and for software that all machines share."""

    def __init__(
        self,
        *,
        debug_roots: Sequence[Path] = DEBUG_ROOTS,
        kernel: RunningKernel | None = None,
        root: Path = Path("/"),
        keep: Callable[[bytes], None] | None = None,
    ) -> None:
        """Modules are also searched below `root`. `keep` is called with the running kernel's table if it was used."""
        self._debug_roots = tuple(debug_roots)
        self._kernels = KernelFiles(debug_roots, root)
        self._keep = keep
        self._kernel = kernel or RunningKernel()

    def executable(self, identity: ImageIdentity) -> Found | Missing:
        """The file at the image's path, if it is that image; else one with its build-id."""
        at_path = self._at_path(identity)
        if isinstance(at_path, Found):
            return at_path
        for path in (*self._by_build_id(identity.build_id), *self._kernel_files(identity)):
            opened = open_elf(path)
            if isinstance(opened, Missing):
                continue
            if opened.elf.build_id == identity.build_id:
                return opened
            opened.content.close()
        return at_path

    def _at_path(self, identity: ImageIdentity) -> Found | Missing:
        path = identity.path
        if not path.startswith("/") or _is_refused(path):
            return Missing(f"{path or 'It'} is not a file path.")
        if not identity.is_certain:
            return Missing(f"{path} has no build-id, so no file can be matched to it.")
        opened = open_elf(Path(path))
        if isinstance(opened, Missing):
            return opened
        if identity.is_same(opened.elf, opened.content):
            return opened
        opened.content.close()
        return Missing(f"{path} on this machine is another build than the sampled one.")

    def debug_file(self, identity: ImageIdentity, executable: Found | None) -> Found | Missing:
        """The best verified candidate; else the last candidate's reason."""
        reason = "There is no debug file for it on this machine."
        best: Found | None = None
        least = executable.quality if executable is not None else Quality.NONE
        for path, crc32 in self._candidates(identity, executable):
            opened = open_elf(path)
            if isinstance(opened, Missing):
                continue
            if identity.build_id:
                matches = opened.elf.build_id == identity.build_id
            else:
                matches = crc32 is not None and _crc32(opened.content) == crc32
            quality = opened.quality if matches else Quality.NONE
            if matches and quality > least:
                if best is not None:
                    best.content.close()
                best, least = opened, quality
                if quality == Quality.DWARF:
                    return best
                continue
            opened.content.close()
            if not matches:
                reason = f"{path} is a debug file of another build."
        return best or Missing(reason)

    def alternate(self, link: AltLink, debug: Found) -> Found | Missing:
        """The file with the link's build-id, below the roots or at the link's path."""
        stated = Path(debug.content.path.parent, link.path) if "\0" not in link.path else None
        places = [*self._by_build_id(link.build_id, ".debug", ""), *([stated] if stated else [])]
        for path in places:
            if _is_refused(str(path)):
                continue
            opened = open_elf(path)
            if isinstance(opened, Missing):
                continue
            if opened.elf.build_id == link.build_id:
                return opened
            opened.content.close()
        return Missing(f"{link.path}, with common parts of its debug data, is not on this machine.")

    def split_files(
        self, identity: ImageIdentity, debug: Found, units: Sequence[DwarfUnit]
    ) -> tuple[Found, ...]:
        """A .dwp beside the program or its debug file; else .dwo files at the compiler's paths."""
        ids = {unit.dwo_id for unit in units if unit.dwo_id is not None}
        for path in (Path(f"{identity.path}.dwp"), Path(f"{debug.content.path}.dwp")):
            package = _accepted(path, lambda elf: bool(ids & package_ids(elf)))
            if package is not None:
                return (package,)
        found: list[Found] = []
        for unit in units:
            if len(found) == MAX_SPLIT_FILES:
                break
            half = _accepted(Path(unit.folder, unit.dwo_name), partial(_has_unit, split_id=unit.dwo_id))
            if half is not None:
                found.append(half)
        return tuple(found)

    def _kernel_files(self, identity: ImageIdentity) -> list[Path]:
        """Candidate paths of the kernel or a module; they are verified by build-id only."""
        return self._kernels.find(identity.name) if identity.build_id else []

    def kernel(self, kernel: KernelIdentity) -> Kallsyms | Missing:
        """The running kernel's symbols, if it is that build; else those of its vmlinux."""
        symbols = self._kernel.symbols(kernel)
        if isinstance(symbols, Kallsyms):
            table = self._kernel.table() if self._keep else b""
            if self._keep and isinstance(table, bytes):
                self._keep(table)
            return symbols
        for path in self._by_build_id(kernel.build_id, ".debug", ""):
            opened = open_elf(path)
            if isinstance(opened, Missing):
                continue
            with opened.content:
                try:
                    if opened.elf.build_id == kernel.build_id:
                        return kallsyms_of(opened.elf)
                except MalformedImage as error:
                    symbols = Missing(f"{path} is unusable. {error}")
        return symbols

    def vdso(self, identity: ImageIdentity) -> ElfFile | Missing:
        """The running kernel's vdso, if it is that build."""
        return self._kernel.vdso(identity.build_id)

    def _by_build_id(self, build_id: bytes, *endings: str) -> Iterator[Path]:
        """Candidate paths by build-id; the image itself has no ending."""
        hex_id = build_id.hex()
        if len(hex_id) > 2:
            for root in self._debug_roots:
                for ending in endings or ("",):
                    yield root / ".build-id" / hex_id[:2] / f"{hex_id[2:]}{ending}"

    def _candidates(
        self, identity: ImageIdentity, executable: Found | None
    ) -> Iterator[tuple[Path, int | None]]:
        """Candidate paths, with the CRC-32 of the debug link."""
        for path in self._by_build_id(identity.build_id, ".debug"):
            yield path, None
        for path in self._kernel_files(identity):
            yield path, None
        link = _debug_link(executable)
        if link is None or executable is None:
            return
        name, crc32 = link
        folder = executable.content.path.parent
        yield folder / name, crc32
        yield folder / ".debug" / name, crc32
        for root in self._debug_roots:
            yield root / folder.relative_to("/") / name, crc32


def _debug_link(executable: Found | None) -> tuple[str, int] | None:
    try:
        link = executable.elf.debug_link if executable else None
    except MalformedElf:
        return None
    if link is None or "/" in link.name or link.name in {".", ".."}:
        return None
    return link.name, link.crc32


def _is_refused(path: str) -> bool:
    """Whether an absolute path must not be opened, however it is written."""
    plain = "/" + posixpath.normpath(path).lstrip("/")
    return "\0" in path or f"{plain}/".startswith(_REFUSED)


def _accepted(path: Path, is_right: Callable[[ElfFile], bool]) -> Found | None:
    """The file, if its path is permitted and it is the right one."""
    if not path.is_absolute() or _is_refused(str(path)):
        return None
    opened = open_elf(path)
    if isinstance(opened, Missing):
        return None
    try:
        if is_right(opened.elf):
            return opened
    except MalformedElf:
        pass
    opened.content.close()
    return None


def _has_unit(elf: ElfFile, split_id: int | None) -> bool:
    return any(unit.dwo_id == split_id for unit in units_of(elf))


def _crc32(content: OpenedFile) -> int:
    crc = 0
    for start in range(0, len(content), _CRC_AT_ONCE):
        crc = zlib.crc32(content[start : start + _CRC_AT_ONCE], crc)
    return crc
