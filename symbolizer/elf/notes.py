"""Note sections of ELF files (gABI chapter 5, "Note Section"), which contain build-ids.

Strategy: bytes in, values out; the first note that does not fit ends the list.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from symbolizer.elf.records import NT_GNU_BUILD_ID


@dataclass(frozen=True, slots=True)
class Note:
    """One entry of a note section: owner without its NUL, type, payload."""

    owner: bytes
    type: int
    payload: bytes


def notes_in(data: bytes, *, align: int = 4, order: str = "<") -> list[Note]:
    """The notes in a note section's bytes, up to the first that does not fit."""
    pad = 8 if align == 8 else 4
    words = np.dtype([("name_size", order + "u4"), ("size", order + "u4"), ("type", order + "u4")])
    found, at = [], 0
    while at + words.itemsize <= len(data):
        name_size, size, kind = np.frombuffer(data, words, 1, at)[0].tolist()
        name_at = at + words.itemsize
        start = at - (-(words.itemsize + name_size) // pad) * pad
        if start + size > len(data):
            break
        found.append(
            Note(data[name_at : name_at + name_size].rstrip(b"\0"), kind, data[start : start + size])
        )
        at = start - (-size // pad) * pad
    return found


def build_id_in(notes: Iterable[Note]) -> bytes:
    """The GNU build-id among notes; b"" if there is none. Compares owners: Xen's notes use the same number."""
    return next(
        (note.payload for note in notes if note.owner == b"GNU" and note.type == NT_GNU_BUILD_ID), b""
    )
