"""The kernel this process runs on: its build-id, its symbols, its vdso.

Sources: /sys/kernel/notes (ELF notes), /proc/kallsyms, /sys/module/M/sections/.text, /proc/self/maps.
"""

from pathlib import Path
from typing import Final

from symbolizer.elf import ElfFile, build_id_in, notes_in
from symbolizer.errors import SymbolizerError
from symbolizer.kallsyms import Kallsyms, parse_kallsyms
from symbolizer.sources import Missing

MAX_VDSO_BYTES: Final = 1 << 20


class RunningKernel:
    """Symbols of the running kernel; reads below `root`, and only when asked."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    def build_id(self) -> bytes:
        """GNU build-id of the running kernel; b"" if it cannot be read."""
        try:
            notes = (self._root / "sys/kernel/notes").read_bytes()
        except OSError:
            return b""
        return build_id_in(notes_in(notes))

    def symbols(self, build_id: bytes) -> Kallsyms | Missing:
        """Its functions, if `build_id` is its own."""
        if not build_id or build_id != self.build_id():
            return Missing("It is another kernel than the one running here.")
        try:
            return parse_kallsyms((self._root / "proc/kallsyms").read_bytes(), self._module_bases())
        except OSError as error:
            return Missing(f"/proc/kallsyms cannot be read: {error.strerror}.")
        except SymbolizerError as error:
            return Missing(str(error))

    def vdso(self, build_id: bytes) -> ElfFile | Missing:
        """The image every process of this kernel has, if `build_id` is its own."""
        try:
            elf = ElfFile(_own_vdso())
        except (OSError, SymbolizerError) as error:
            return Missing(f"The vdso of this kernel cannot be read: {error}")
        if not build_id or elf.build_id != build_id:
            return Missing("It is the vdso of another kernel than the one running here.")
        return elf

    def _module_bases(self) -> dict[str, int]:
        """Address of each loaded module's .text; a module that hides it is left out."""
        bases = {}
        for path in self._root.glob("sys/module/*/sections/.text"):
            try:
                base = int(path.read_text(), 16)
            except (OSError, ValueError):
                continue
            if base:
                bases[path.parts[-3]] = base
        return bases


def _own_vdso() -> bytes:
    for line in Path("/proc/self/maps").read_text().splitlines():
        if line.endswith("[vdso]"):
            start, end = (int(part, 16) for part in line.split(None, 1)[0].split("-"))
            with Path("/proc/self/mem").open("rb", buffering=0) as memory:
                memory.seek(start)
                return memory.read(min(end - start, MAX_VDSO_BYTES))
    return b""
