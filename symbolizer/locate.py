"""Images and debug files among this machine's own files, by the rules of GDB.

An executable is where the process saw it, if it still carries the build-id (or content) the gateway
saw, else at DEBUGROOT/.build-id/xx/yyyy. Its debug file is looked for, in this order, at

1. DEBUGROOT/.build-id/xx/yyyy.debug
2. the name in .gnu_debuglink: beside the executable, in .debug/ beside it, below DEBUGROOT

and must carry the same build-id, or where the executable has none, the CRC-32 its debug link names.
Another kernel than the running one is known by its vmlinux, at .build-id/xx/yyyy.debug or .build-id/xx/yyyy.
"""

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from symbolizer.elf import ElfFile
from symbolizer.errors import MalformedElf, MalformedImage
from symbolizer.files import OpenedFile
from symbolizer.identity import ImageIdentity
from symbolizer.kallsyms import Kallsyms, kallsyms_of
from symbolizer.kernel_identity import KernelIdentity
from symbolizer.running_kernel import RunningKernel
from symbolizer.sources import Found, Missing

DEBUG_ROOTS: Final = (Path("/usr/lib/debug"),)
_REFUSED: Final = ("/proc/", "/sys/", "/dev/")
"""Paths come from other machines' captures; below these there are no images, only things not to touch."""
_CRC_AT_ONCE: Final = 1 << 22


class LocalFiles:
    """This machine as a `SymbolSource`: right under `fleetprof up`, and for software all machines share."""

    def __init__(
        self, *, debug_roots: Sequence[Path] = DEBUG_ROOTS, kernel: RunningKernel | None = None
    ) -> None:
        self._debug_roots = tuple(debug_roots)
        self._kernel = kernel or RunningKernel()

    def executable(self, identity: ImageIdentity) -> Found | Missing:
        """The file at the image's path, if it is that image; else one of its build-id."""
        at_path = self._at_path(identity)
        if isinstance(at_path, Found):
            return at_path
        for path in self._by_build_id(identity.build_id):
            opened = _open(path)
            if isinstance(opened, Missing):
                continue
            if opened.elf.build_id == identity.build_id:
                return opened
            opened.content.close()
        return at_path

    def _at_path(self, identity: ImageIdentity) -> Found | Missing:
        path = identity.path
        if not path.startswith("/") or path.startswith(_REFUSED) or "\0" in path:
            return Missing(f"{path or 'It'} is no path of a file.")
        if not identity.is_certain:
            return Missing(f"{path} has no build-id, so no file can be told to be it.")
        opened = _open(Path(path))
        if isinstance(opened, Missing):
            return opened
        if identity.is_same(opened.elf, opened.content):
            return opened
        opened.content.close()
        return Missing(f"{path} is another build on this machine than the one that was sampled.")

    def debug_file(self, identity: ImageIdentity, executable: Found | None) -> Found | Missing:
        """The first verified candidate; else the last one's reason."""
        reason = "There is no debug file for it on this machine."
        for path, crc32 in self._candidates(identity, executable):
            opened = _open(path)
            if isinstance(opened, Missing):
                continue
            if identity.build_id:
                matches = opened.elf.build_id == identity.build_id
            else:
                matches = crc32 is not None and _crc32(opened.content) == crc32
            if matches:
                return opened
            opened.content.close()
            reason = f"{path} is the debug file of another build."
        return Missing(reason)

    def kernel(self, kernel: KernelIdentity) -> Kallsyms | Missing:
        """The running kernel's symbols, if it is that build; else those of its vmlinux."""
        symbols = self._kernel.symbols(kernel)
        if isinstance(symbols, Kallsyms):
            return symbols
        for path in self._by_build_id(kernel.build_id, ".debug", ""):
            opened = _open(path)
            if isinstance(opened, Missing):
                continue
            with opened.content:
                try:
                    if opened.elf.build_id == kernel.build_id:
                        return kallsyms_of(opened.elf)
                except MalformedImage as error:
                    symbols = Missing(f"{path} cannot be used. {error}")
        return symbols

    def vdso(self, identity: ImageIdentity) -> ElfFile | Missing:
        """The running kernel's vdso, if it is that build."""
        return self._kernel.vdso(identity.build_id)

    def _by_build_id(self, build_id: bytes, *endings: str) -> Iterator[Path]:
        """Where files of a build-id would be; the image itself has no ending."""
        hex_id = build_id.hex()
        if len(hex_id) > 2:
            for root in self._debug_roots:
                for ending in endings or ("",):
                    yield root / ".build-id" / hex_id[:2] / f"{hex_id[2:]}{ending}"

    def _candidates(
        self, identity: ImageIdentity, executable: Found | None
    ) -> Iterator[tuple[Path, int | None]]:
        """Paths to try, with the CRC-32 the debug link wants."""
        for path in self._by_build_id(identity.build_id, ".debug"):
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


def _open(path: Path) -> Found | Missing:
    try:
        content = OpenedFile(path)
    except FileNotFoundError:
        return Missing(f"{path} is not on this machine.")
    except (OSError, ValueError) as error:
        return Missing(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.")
    try:
        return Found(content, ElfFile(content), str(path))
    except MalformedElf as error:
        content.close()
        return Missing(f"{path} cannot be used. {error}")
    except OSError as error:
        content.close()
        return Missing(f"{path} cannot be read: {error.strerror}.")


def _crc32(content: OpenedFile) -> int:
    crc = 0
    for start in range(0, len(content), _CRC_AT_ONCE):
        crc = zlib.crc32(content[start : start + _CRC_AT_ONCE], crc)
    return crc
