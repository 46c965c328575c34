"""Where images and symbols may come from: the seam between resolving and every place that keeps them.

| source | place |
|---|---|
| `uploaded.Uploaded` | the fleet's own store of uploaded files |
| `locate.LocalFiles` | this machine's files |
| `debuginfod.Debuginfod` | servers of debug files |
| `chain.Chain` | all of them: the best wins, not the first |

A source verifies what it gives; nothing is taken on its path alone. None of its methods raises for what
it does not have: a database or an archive that is away is another matter, and of `storage.errors`.
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
    """A file verified to be what was looked for. Whoever gets it closes `content`, and is then done with `elf`."""

    content: OpenedFile
    elf: ElfFile
    origin: str
    """Where it is from, for a person: a path, a URL, an upload."""
    sha256: bytes = b""
    """Of its content, where the place knows it, as the store of uploads does; b"" not known."""
    incomplete: bool = False
    """A build that joins it with the rest of its debug data is asked for; nothing is built from it as it is."""

    joined: tuple[bytes, ...] = ()
    """SHA-256 of the stored files that it was joined of."""

    @property
    def stored(self) -> tuple[bytes, ...]:
        """The files of the store that it is of, by SHA-256."""
        return (self.sha256, *self.joined) if self.sha256 else self.joined

    @property
    def quality(self) -> Quality:
        """How much it can say; split DWARF without its other half counts by its symbols."""
        return quality_of(self.elf)


@dataclass(frozen=True, slots=True)
class Missing:
    """Why there is none, as a sentence. A value, not an error: it is remembered for a while."""

    reason: str


class SymbolSource(Protocol):
    """One place that keeps images."""

    def executable(self, identity: ImageIdentity) -> Found | Missing:
        """The image itself, perhaps stripped."""

    def debug_file(self, identity: ImageIdentity, executable: Found | None) -> Found | Missing:
        """The best file of it that says more than `executable` does: DWARF before symbols.

        It may be an executable too: an unstripped one of the same build.
        """

    def alternate(self, link: AltLink, debug: Found) -> Found | Missing:
        """The file that `dwz -m` moved common parts of `debug` to."""

    def split_files(
        self, identity: ImageIdentity, debug: Found, units: Sequence[DwarfUnit]
    ) -> tuple[Found, ...]:
        """The .dwo files or the one .dwp that hold the other halves of `debug`'s skeletons, as far as there are any.

        Not more than `MAX_SPLIT_FILES`; the caller closes them all.
        """

    def kernel(self, kernel: KernelIdentity) -> Kallsyms | Missing:
        """Symbols of the kernel of this build, and of those of its modules that are known to be of the same build."""

    def vdso(self, identity: ImageIdentity) -> ElfFile | Missing:
        """The vdso image that a kernel maps into every process."""


MAX_SPLIT_FILES = 256
"""Each is an open file; a program of more units is served by its .dwp."""
