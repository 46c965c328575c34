"""Checkouts on this machine: maps a build's source paths to local files.

A build on another machine states /build/app-1.2/src/main.c; its checkout is /srv/checkouts/app. Files are
read only below a root, by their real path, and only if compilers read such files: other files of a
checkout (keys, settings) must not be readable through a profile.
"""

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from symbolizer.files import OpenedFile

SOURCE_ENDINGS: Final = frozenset(
    [
        ".c",
        ".cc",
        ".cpp",
        ".cxx",
        ".c++",
        ".h",
        ".hh",
        ".hpp",
        ".hxx",
        ".h++",
        ".inc",
        ".inl",
        ".ipp",
        ".tcc",
        ".def",
        ".s",
        ".asm",
        ".m",
        ".mm",
        ".go",
        ".rs",
        ".zig",
        ".d",
        ".nim",
        ".v",
        ".swift",
        ".kt",
        ".java",
        ".scala",
        ".cs",
        ".fs",
        ".ml",
        ".mli",
        ".hs",
        ".adb",
        ".ads",
        ".f",
        ".for",
        ".f77",
        ".f90",
        ".f95",
        ".f03",
        ".f08",
        ".pas",
        ".cu",
        ".cuh",
        ".cl",
        ".y",
        ".l",
        ".yy",
        ".ll",
        ".rl",
        ".re",
        ".py",
        ".pyx",
        ".pxd",
        ".rb",
        ".php",
        ".js",
        ".ts",
        ".lua",
        ".pl",
        ".pm",
        ".jl",
        ".ex",
        ".erl",
        ".td",
        ".proto",
        ".cob",
    ]
)


@dataclass(frozen=True, slots=True)
class SourceRoot:
    """Maps paths that begin with `stated` in debug data to the same place below `here`."""

    stated: str
    """Absolute, normalized."""
    here: Path

    @classmethod
    def parse(cls, text: str) -> "SourceRoot":
        """`FROM=TO`, both absolute. Raises ValueError."""
        stated, separator, here = text.partition("=")
        if not separator or not stated.startswith("/") or not here.startswith("/"):
            raise ValueError(f"{text!r} is not FROM=TO with two absolute paths")
        return cls(posixpath.normpath(stated), Path(here))


def open_source(roots: Sequence[SourceRoot], path: str) -> OpenedFile | None:
    """The file of a stated path, from the first root that has it; None: there is none, or it is not a source."""
    for root in sorted(roots, key=lambda root: -len(root.stated)):
        below = posixpath.relpath(path, root.stated) if path.startswith("/") and "\0" not in path else ".."
        if below.split("/")[0] == ".." or not _is_source(below):
            continue
        try:
            base = root.here.resolve(strict=True)
            real = Path(base, below).resolve(strict=True)
            if real.is_relative_to(base) and _is_source(real.relative_to(base).as_posix()):
                return OpenedFile(real)
        except (OSError, RuntimeError):  # RuntimeError: a loop of links
            continue
    return None


def _is_source(path: str) -> bool:
    """Whether the ending is one of compilers' inputs and no part of the path is hidden."""
    hidden = any(part.startswith(".") for part in path.split("/"))
    return not hidden and posixpath.splitext(path)[1].lower() in SOURCE_ENDINGS
