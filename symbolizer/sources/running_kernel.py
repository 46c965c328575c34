"""The running kernel of this machine: its build-id, its symbols, its vdso.

Sources: /sys/kernel/notes (ELF notes), /proc/kallsyms, /sys/module/M/{coresize,notes,sections}, /proc/self/maps.
"""

from pathlib import Path
from typing import Final

from symbolizer.elf.file import ElfFile
from symbolizer.elf.notes import build_id_in, notes_in
from symbolizer.errors import SymbolizerError
from symbolizer.kernel.identity import KernelIdentity
from symbolizer.kernel.kallsyms import Kallsyms, LoadedModule, parse_table, table_of_boot
from symbolizer.sources.source import Missing

MAX_VDSO_BYTES: Final = 1 << 20
"""Limit of a vdso image; kernels have one of two to five pages."""


class RunningKernel:
    """Symbols of the running kernel; reads below `root`, on first use. For one thread."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._read: tuple[list[LoadedModule], bytes, Kallsyms] | None = None

    def build_id(self) -> bytes:
        """GNU build-id of the running kernel; b"" if it cannot be read."""
        return build_id_in(notes_in(self._bytes("sys/kernel/notes")))

    def symbols(self, kernel: KernelIdentity) -> Kallsyms | Missing:
        """Its functions, if `kernel` is the same build, and those of modules of the same builds."""
        if not kernel.build_id or kernel.build_id != self.build_id():
            return Missing("It is another kernel than the one running here.")
        read = self._read_symbols()
        return read if isinstance(read, Missing) else read[1].only(kernel)

    def table(self) -> bytes | Missing:
        """Its kernel table (`kallsyms.py`), which is the same after every boot, for use by others."""
        read = self._read_symbols()
        return read if isinstance(read, Missing) else read[0]

    def _read_symbols(self) -> tuple[bytes, Kallsyms] | Missing:
        """Read once, and again after other modules were loaded."""
        modules = self._modules()
        if self._read is None or self._read[0] != modules:
            try:
                text = (self._root / "proc/kallsyms").read_bytes()
                table = table_of_boot(text, self.build_id(), modules)
                self._read = modules, table, parse_table(table)[1]
            except OSError as error:
                return Missing(f"Cannot read /proc/kallsyms: {error.strerror}.")
            except SymbolizerError as error:
                return Missing(str(error))
        return self._read[1:]

    def vdso(self, build_id: bytes) -> ElfFile | Missing:
        """The image that this kernel maps into every process, if `build_id` is the image's."""
        try:
            elf = ElfFile(_own_vdso())
        except (OSError, SymbolizerError) as error:
            return Missing(f"Cannot read the vdso of this kernel: {error}")
        if not build_id or elf.build_id != build_id:
            return Missing("It is the vdso of another kernel than the one running here.")
        return elf

    def _modules(self) -> list[LoadedModule]:
        """Loaded modules, ascending by name; base 0 if it is hidden. Built-in modules have no size."""
        modules = []
        for path in sorted(self._root.glob("sys/module/*/coresize")):
            name = path.parent.name
            base = self._bytes(f"sys/module/{name}/sections/.text").strip() or b"0"
            notes = notes_in(self._bytes(f"sys/module/{name}/notes/.note.gnu.build-id"))
            size = self._bytes(f"sys/module/{name}/coresize").strip() or b"0"
            modules.append(LoadedModule(name, build_id_in(notes).hex(), int(base, 16), int(size)))
        return modules

    def _bytes(self, path: str) -> bytes:
        try:
            return (self._root / path).read_bytes()
        except OSError:
            return b""


def _own_vdso() -> bytes:
    for line in Path("/proc/self/maps").read_text().splitlines():
        if line.endswith("[vdso]"):
            start, end = (int(part, 16) for part in line.split(None, 1)[0].split("-"))
            with Path("/proc/self/mem").open("rb", buffering=0) as memory:
                memory.seek(start)
                return memory.read(min(end - start, MAX_VDSO_BYTES))
    return b""
