"""The interface between the resolver and every source of images and symbols.

| source | place |
|---|---|
| `symbol_store_source.Uploaded` | the fleet's own store of uploaded files |
| `local_files.LocalFiles` | this machine's files |
| `debuginfod.Debuginfod` | servers of debug files |
| `chain.Chain` | all of them: the best candidate, not the first |

A source verifies its files; a path alone is never sufficient. A missing file raises nothing; an
unavailable database or archive raises the errors of `storage.errors`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from storage.symbols.kinds import Quality
from symbolizer.dwarf.units import DwarfUnit
from symbolizer.elf.file import ElfFile
from symbolizer.elf.links import AltLink
from symbolizer.files import OpenedFile
from symbolizer.identity import ImageIdentity
from symbolizer.inspection.quality import quality_of
from symbolizer.kernel.identity import KernelIdentity
from symbolizer.kernel.kallsyms import Kallsyms


@dataclass(frozen=True, slots=True)
class Found:
    """A file verified to be the requested one. The caller closes `content`, after which `elf` cannot be read."""

    content: OpenedFile
    elf: ElfFile
    origin: str
    """The file's place, for a person: a path, a URL, an upload."""
    sha256: bytes = b""
    """SHA-256 of its content if the source has it, as the store of uploads does; else b""."""
    incomplete: bool = False
    """A build that joins it with the rest of its debug data was requested; nothing is built from it as it is."""

    joined: tuple[bytes, ...] = ()
    """SHA-256 of the stored files that it was joined from."""

    @property
    def stored(self) -> tuple[bytes, ...]:
        """SHA-256 of the store's files that it consists of."""
        return (self.sha256, *self.joined) if self.sha256 else self.joined

    @property
    def quality(self) -> Quality:
        """How much it contains; split DWARF without its split units counts by its symbols."""
        return quality_of(self.elf)


@dataclass(frozen=True, slots=True)
class Missing:
    """Why there is no file, as a sentence. A value instead of an error, because it is cached for a while."""

    reason: str


class SymbolSource(Protocol):
    """A source of images."""

    def executable(self, identity: ImageIdentity) -> Found | Missing:
        """The image itself, perhaps stripped."""

    def debug_file(self, identity: ImageIdentity, executable: Found | None) -> Found | Missing:
        """The binary's best file with more symbols than `executable`: DWARF before symbols.

        It may be an executable too: an unstripped one of the same build.
        """

    def alternate(self, link: AltLink, debug: Found) -> Found | Missing:
        """The common file to which `dwz -m` moved parts of `debug`."""

    def split_files(
        self, identity: ImageIdentity, debug: Found, units: Sequence[DwarfUnit]
    ) -> tuple[Found, ...]:
        """The available .dwo files, or the one .dwp, with the split units of `debug`'s skeletons.

        At most `MAX_SPLIT_FILES`; the caller closes them all.
        """

    def kernel(self, kernel: KernelIdentity) -> Kallsyms | Missing:
        """Symbols of the kernel of this build, and of its modules that are known to be of the same builds."""

    def vdso(self, identity: ImageIdentity) -> ElfFile | Missing:
        """The vdso image that a kernel maps into every process."""


MAX_SPLIT_FILES = 256
"""Each is an open file; a program with more units needs a .dwp."""
