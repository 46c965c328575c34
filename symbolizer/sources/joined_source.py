"""A source of complete debug files: joins a file with the files that contain the rest of its data.

These are common files by `dwz -m` (without them inlined functions have no names) and split units (without them
there are no lines).
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Final

from symbolizer.dwarf.units import DwarfUnit, units
from symbolizer.elf.file import ElfFile
from symbolizer.elf.links import AltLink
from symbolizer.errors import MalformedElf
from symbolizer.identity import ImageIdentity
from symbolizer.kernel.identity import KernelIdentity
from symbolizer.kernel.kallsyms import Kallsyms
from symbolizer.sources.joining.joiner import Joiner
from symbolizer.sources.source import Found, Missing, SymbolSource

AT_ONCE_BYTES: Final = 8 << 20
"""Files up to this total size are joined during ingestion, within some 5 s."""


class JoinedSource:
    """Another `SymbolSource` with its debug files joined."""

    def __init__(
        self,
        source: SymbolSource,
        joiner: Joiner,
        *,
        request_build: Callable[[ImageIdentity], None] | None = None,
        at_once_bytes: int = AT_ONCE_BYTES,
    ) -> None:
        """`request_build` is called with a binary whose files are larger than `at_once_bytes`.

        Such files are returned as they are, `incomplete`. None: everything is joined at once.
        """
        self._source = source
        self._joiner = joiner
        self._wants_build = request_build
        self._at_once_bytes = at_once_bytes

    def executable(self, identity: ImageIdentity) -> Found | Missing:
        """The image; joined if it has debug data itself."""
        found = self._source.executable(identity)
        if isinstance(found, Missing) or not found.elf.has_dwarf:
            return found
        return self._completed(identity, found) or found

    def debug_file(self, identity: ImageIdentity, executable: Found | None) -> Found | Missing:
        """The best debug file, joined; unchanged if the rest of its data is not available."""
        found = self._source.debug_file(identity, executable)
        if isinstance(found, Missing):
            return Missing(f"{_lacking(executable)}{found.reason}")
        return (self._completed(identity, found) if found.elf.has_dwarf else None) or found

    def alternate(self, link: AltLink, debug: Found) -> Found | Missing:
        """The underlying source's file."""
        return self._source.alternate(link, debug)

    def split_files(
        self, identity: ImageIdentity, debug: Found, skeletons: Sequence[DwarfUnit]
    ) -> tuple[Found, ...]:
        """The underlying source's files."""
        return self._source.split_files(identity, debug, skeletons)

    def kernel(self, kernel: KernelIdentity) -> Kallsyms | Missing:
        """The underlying source's symbols."""
        return self._source.kernel(kernel)

    def vdso(self, identity: ImageIdentity) -> ElfFile | Missing:
        """The underlying source's image."""
        return self._source.vdso(identity)

    def _completed(self, identity: ImageIdentity, found: Found) -> Found | None:
        """The file joined with the files it needs, and closed; or unchanged and `incomplete`, if a build is to join it.

        None: it needs no other files, or they are not available.
        """
        with ExitStack() as closing:
            closing.enter_context(found.content)
            joined = self._joined(identity, found)
            if joined is None or joined.content is found.content:
                closing.pop_all()
        return joined

    def _joined(self, identity: ImageIdentity, found: Found) -> Found | None:
        with ExitStack() as opened:
            try:
                others = self._others(identity, found)
            except MalformedElf:
                return None
            for other in others:
                opened.enter_context(other.content)
            if not others:
                return None
            size = sum(len(each.content) for each in (found, *others))
            if self._wants_build is not None and size > self._at_once_bytes:
                self._wants_build(identity)
                return replace(found, incomplete=True)
            joined = self._joiner.join(found, others)
        return joined if isinstance(joined, Found) else None

    def _others(self, identity: ImageIdentity, found: Found) -> tuple[Found, ...]:
        link = found.elf.alt_link
        if link is not None:
            alternate = self._source.alternate(link, found)
            return (alternate,) if isinstance(alternate, Found) else ()
        skeletons = [unit for unit in units(found.elf) if unit.is_skeleton]
        return self._source.split_files(identity, found, skeletons) if skeletons else ()


def _lacking(executable: Found | None) -> str:
    """A sentence if a program's split units are missing; '' if it has none."""
    try:
        skeletons = (unit for unit in units(executable.elf) if unit.is_skeleton) if executable else iter(())
        first = next(skeletons, None)
    except MalformedElf:
        return ""
    if first is None:
        return ""
    return (
        f"Its lines are in split files such as {first.dwo_name}, or in their .dwp, which are not available. "
    )
