"""A file at hand, as a source gives it: opened, read as ELF, or the reason why it is neither."""

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
        return Missing(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.")
    return as_elf(content, str(path))


def as_elf(content: OpenedFile, origin: str, sha256: bytes = b"") -> Found | Missing:
    """An opened file as ELF; closed if it is none."""
    try:
        elf = ElfFile(content)
        # What tells files apart is read now and kept, so that only asking for content can fail later.
        assert elf.section_names is not None
        assert elf.notes is not None
        assert elf.segment_map is not None
        return Found(content, elf, origin, sha256)
    except MalformedElf as error:
        content.close()
        return Missing(f"{origin} cannot be used. {error}")
    except OSError as error:
        content.close()
        return Missing(f"{origin} cannot be read: {error.strerror}.")
    except MemoryError:
        content.close()
        raise
