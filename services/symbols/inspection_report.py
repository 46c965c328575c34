"""A description of one file with symbols, for a terminal.

pyelftools reads the sections, including those that the symbolizer's own reader skips.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from services.symbols.terminal_tables import KINDS, QUALITIES, size
from storage.symbols.keys import sentence
from symbolizer.inspection.inspection import Inspection

_TOLD: Final = (
    ".debug_",
    ".zdebug_",
    ".gnu_debug",
    ".symtab",
    ".dynsym",
    ".eh_frame",
    ".gopclntab",
    ".note.gnu.build-id",
    ".text",
)
"""Prefixes of the names of sections with symbols."""


def described(path: Path, found: Inspection) -> RenderableType:
    """The inspection of a file, and its sections with symbols."""
    lines: list[RenderableType] = [
        Text(
            f"{sentence(path.name)}: {KINDS[found.kind]}, {QUALITIES[found.quality.name.lower()]}",
            style="bold",
        )
    ]
    lines += [Text(f"  {name:<12} {sentence(value)}") for name, value in _facts(found) if value]
    sections = list(_sections(path))
    if sections:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for heading in ("section", "size", ""):
            table.add_column(heading, justify="right" if heading == "size" else "left")
        for name, count, packed in sections:
            table.add_row(Text(sentence(name)), size(count), "compressed" if packed else "")
        lines.append(table)
    return Group(*lines)


def _facts(found: Inspection) -> Iterator[tuple[str, str]]:
    yield "key", found.key or "none: the file does not identify its kernel"
    yield "machine", f"{found.machine}, {found.bits} bits" if found.machine else ""
    yield "functions", f"{found.functions:,} in its symbol tables"
    dwarf = f"version {found.dwarf_version}, {found.units:,} units read" if found.dwarf_version else ""
    yield "DWARF", dwarf
    yield "compiler", found.producer
    yield "compressed", ", ".join(found.compression)
    link, alternate = found.debug_link, found.alt_link
    yield "debug link", f"{link.name} (CRC-32 {link.crc32:08x})" if link else ""
    yield "dwz file", f"{alternate.path} ({alternate.build_id.hex()})" if alternate else ""
    yield "split", f"{found.split_name} and more" if found.split_name else ""
    yield "SHA-256", found.sha256


def _sections(path: Path) -> Iterator[tuple[str, int, bool]]:
    """(name, bytes, compressed) of sections with symbols; empty for a file that is not ELF."""
    try:
        with path.open("rb") as file:
            for section in ELFFile(file).iter_sections():
                if section.name.startswith(_TOLD) and section["sh_type"] != "SHT_NOBITS":
                    yield (
                        section.name,
                        section["sh_size"],
                        bool(section.compressed) or section.name.startswith(".zdebug"),
                    )
    except (ELFError, OSError):
        return
