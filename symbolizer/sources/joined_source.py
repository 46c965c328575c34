"""A source whose debug files are whole: what one left to other files is joined with it.

That is common data of `dwz -m` (without it inlined functions have no names) and the other halves of split
DWARF (without them nothing has lines).
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
"""Files of so many bytes together are joined within some 5 s, while a capture ingests."""


class JoinedSource:
    """Another `SymbolSource`, its debug files joined with what they need."""

    def __init__(
        self,
        source: SymbolSource,
        joiner: Joiner,
        *,
        request_build: Callable[[ImageIdentity], None] | None = None,
        at_once_bytes: int = AT_ONCE_BYTES,
    ) -> None:
        """`request_build` is told of a binary whose files are larger than `at_once_bytes`.

        They are given as they are, `incomplete`. None: everything is joined at once.
        """
        self._source = source
        self._joiner = joiner
        self._wants_build = request_build
        self._at_once_bytes = at_once_bytes

    def executable(self, identity: ImageIdentity) -> Found | Missing:
        """The image; one that has debug data itself, whole."""
        found = self._source.executable(identity)
        if isinstance(found, Missing) or not found.elf.has_dwarf:
            return found
        return self._completed(identity, found) or found

    def debug_file(self, identity: ImageIdentity, executable: Found | None) -> Found | Missing:
        """The best debug file, whole; as it is if the rest of it is nowhere."""
        found = self._source.debug_file(identity, executable)
        if isinstance(found, Missing):
            return Missing(f"{_lacking(executable)}{found.reason}")
        return (self._completed(identity, found) if found.elf.has_dwarf else None) or found

    def alternate(self, link: AltLink, debug: Found) -> Found | Missing:
        """As the source has it."""
        return self._source.alternate(link, debug)

    def split_files(
        self, identity: ImageIdentity, debug: Found, skeletons: Sequence[DwarfUnit]
    ) -> tuple[Found, ...]:
        """As the source has them."""
        return self._source.split_files(identity, debug, skeletons)

    def kernel(self, kernel: KernelIdentity) -> Kallsyms | Missing:
        """As the source has it."""
        return self._source.kernel(kernel)

    def vdso(self, identity: ImageIdentity) -> ElfFile | Missing:
        """As the source has it."""
        return self._source.vdso(identity)

    def _completed(self, identity: ImageIdentity, found: Found) -> Found | None:
        """The file joined with what it needs, and itself closed; as it is, `incomplete`, if a build is to join it.

        None: it needs nothing, or that is not there.
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
    """That a program's other halves are missing, as a sentence; '' if it left nothing to others."""
    try:
        skeletons = (unit for unit in units(executable.elf) if unit.is_skeleton) if executable else iter(())
        first = next(skeletons, None)
    except MalformedElf:
        return ""
    if first is None:
        return ""
    return f"Its lines are in split files such as {first.dwo_name}, or in their .dwp, which are nowhere to be found. "
