"""Where images and symbols may come from: the seam between resolving and every place that keeps them.

This machine's files are one source (`locate.LocalFiles`); an upload store and debuginfod servers can
be others. A source verifies what it gives; nothing is taken on its path alone.
"""

from dataclasses import dataclass
from typing import Protocol

from symbolizer.elf import ElfFile
from symbolizer.files import OpenedFile
from symbolizer.identity import ImageIdentity
from symbolizer.kallsyms import Kallsyms
from symbolizer.kernel_identity import KernelIdentity


@dataclass(frozen=True, slots=True)
class Found:
    """A file verified to be what was looked for. Whoever gets it closes `content`, and is then done with `elf`."""

    content: OpenedFile
    elf: ElfFile
    origin: str
    """Where it is from, for a person: a path, or a URL."""


@dataclass(frozen=True, slots=True)
class Missing:
    """Why there is none, as a sentence. A value, not an error: it is remembered for a while."""

    reason: str


class SymbolSource(Protocol):
    """One place that keeps images. None of its methods raises for what it does not have."""

    def executable(self, identity: ImageIdentity) -> Found | Missing:
        """The image itself."""

    def debug_file(self, identity: ImageIdentity, executable: Found | None) -> Found | Missing:
        """The separate file with its DWARF or full symbol table."""

    def kernel(self, kernel: KernelIdentity) -> Kallsyms | Missing:
        """Symbols of the kernel of this build, and of those of its modules that are known to be of the same build."""

    def vdso(self, identity: ImageIdentity) -> ElfFile | Missing:
        """The vdso image that a kernel maps into every process."""
