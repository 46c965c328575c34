"""Finds the file with a binary's instructions: debug files and symbol files from gateways have none."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from symbolizer.disassembly.function_ranges import CodeRange
from symbolizer.disassembly.instructions import LONGEST, architecture_of, is_decodable
from symbolizer.elf.file import ElfFile
from symbolizer.elf.records import ET_REL
from symbolizer.errors import MalformedElf
from symbolizer.identity import ImageIdentity
from symbolizer.sources.chain import Chain
from symbolizer.sources.source import Missing

_FILLERS: Final = (b"\x00", b"\xcc")
_LEAST_FILLED: Final = 16
"""A shorter function may consist of a single repeated byte."""
_MOST_REASONS: Final = 1000


class NoInstructions(Missing):
    """Why a file of the build has no instructions to show: no other file of it would have any."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class CodeFile:
    """An opened ELF file with instructions."""

    elf: ElfFile
    origin: str
    """The file's place, for a person."""

    def read(self, ranges: Sequence[CodeRange]) -> list[bytes] | Missing:
        """The bytes of the ranges, each with those of an instruction that crosses its end."""
        if not is_decodable(self.elf):
            return NoInstructions(
                f"{self.origin} is for {self.elf.bits}-bit {architecture_of(self.elf)}: only the instructions of x86-64 "
                "and little-endian aarch64 can be shown."
            )
        if self.elf.type == ET_REL:
            return NoInstructions(
                f"{self.origin} is a kernel module: its instructions have no addresses before the kernel loads it."
            )
        found = []
        for one in ranges:
            try:
                code = self.elf.code_at(one.start, one.end - one.start + LONGEST)
            except MalformedElf as error:
                return Missing(f"{self.origin} is unusable. {error}")
            if len(code) < one.end - one.start:
                return Missing(
                    f"{self.origin} does not contain the addresses {one.start:#x} to {one.end:#x} of {one.symbol}."
                )
            body = code[: one.end - one.start]
            if len(body) >= _LEAST_FILLED and body[:1] in _FILLERS and body == body[:1] * len(body):
                return NoInstructions(
                    f"{self.origin} has no code of {one.symbol}: all its bytes are {body[0]:#04x}, a filler, as in the "
                    "files of a simulated fleet, where no binary exists."
                )
            found.append(code)
        return found


def open_code(sources: Chain, kind: str, identity: ImageIdentity, closing: ExitStack) -> CodeFile | Missing:
    """The first file of the sources with instructions; `closing` closes it.

    `kind` is `storage.schema.binary.kind`. Raises the errors of the sources.
    """
    if kind == "vdso":
        elf = sources.vdso(identity)
        return elf if isinstance(elf, Missing) else CodeFile(elf, "The vdso of the running kernel")
    reasons: dict[str, None] = {}
    for found in sources.executables(identity):
        if isinstance(found, Missing):
            reasons[found.reason] = None
            continue
        with ExitStack() as opened:
            opened.enter_context(found.content)
            try:
                if found.elf.has_code and not found.elf.is_emptied:
                    closing.push(opened.pop_all())
                    return CodeFile(found.elf, found.origin)
            except MalformedElf as error:
                reasons[f"{found.origin} is unusable. {error}"] = None
                continue
            reasons[f"{found.origin} has no code, only symbols."] = None
    return Missing(" ".join(reasons)[:_MOST_REASONS] or "No source has the binary.")
