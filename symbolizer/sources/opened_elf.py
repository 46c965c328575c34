"""Opens a source's file and reads it as ELF, or returns the reason why not."""

from pathlib import Path

from symbolizer.elf.file import ElfFile
from symbolizer.errors import MalformedElf
from symbolizer.files import OpenedFile
from symbolizer.sources.source import Found, Missing


def open_elf(path: Path) -> Found | Missing:
    """An ELF file on this machine."""
    try:
        content = OpenedFile(path)
    except FileNotFoundError:
        return Missing(f"{path} is not on this machine.")
    except (OSError, ValueError) as error:
        return Missing(f"Cannot read {path}: {getattr(error, 'strerror', None) or error}.")
    return as_elf(content, str(path))


def as_elf(content: OpenedFile, origin: str, sha256: bytes = b"") -> Found | Missing:
    """An opened file as ELF; closes it if it is not ELF."""
    try:
        elf = ElfFile(content)
        # Reading names now ensures that only later reads of content can fail.
        assert elf.section_names is not None
        assert elf.notes is not None
        assert elf.segment_map is not None
        return Found(content, elf, origin, sha256)
    except MalformedElf as error:
        content.close()
        return Missing(f"{origin} is unusable. {error}")
    except OSError as error:
        content.close()
        return Missing(f"Cannot read {origin}: {error.strerror}.")
    except MemoryError:
        content.close()
        raise
