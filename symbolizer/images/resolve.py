"""Resolves a capture's frames: one batch per image, every distinct address looked up once.

No frame is dropped and no name is guessed. Each frame becomes at least one entry. A frame without a name is
rendered by its binary and position, so that all samples of one nameless function are one row:

    named by debug data           inlined calls innermost first, then the function itself
    named by symbols, perf map    the function; from a perf map also file and first line, if present
    read in a language runtime    the function with file and line, as a function of [python]
    nameless, in a known image    lib.so+0x1234: the function's start by the unwind table, else the address itself
    code without a file           [jit]
    no image                      [unknown]
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from fleetpb import capture_pb2
from storage.ingest.symbolized import BinaryReport, FunctionName, ResolvedFrames, Status
from symbolizer.addresses import U64, FileOffsets, RecordedPointers
from symbolizer.builds.build import BuildLimits
from symbolizer.builds.symcaches import SymCaches, local_symcaches
from symbolizer.identity import ImageIdentity, identity_of
from symbolizer.images.calls import CallTable, ranges
from symbolizer.images.image import NO_MEMORY, Image, UnknownImage
from symbolizer.images.images import Images
from symbolizer.jit_names import JitName, parse
from symbolizer.kernel.identity import kernel_of
from symbolizer.sources.source import SymbolSource
from symbolizer.tables.address_table import Indexes

log = logging.getLogger(__name__)

KERNEL: Final = "[kernel]"
"""Path of the kernel's mappings; code generated at run time (BPF) is anonymous, with names."""
PYTHON: Final = "[python]"
"""Path of the mappings of Python frames, and the binary of their functions."""
JAVA: Final = "[java]"
"""Likewise of Java frames."""
SOURCE_LEVEL: Final = {"python": PYTHON, "java": JAVA}
"""Binary of the functions by the source of an excerpt, if it states files and lines."""
EXACT: Final = 1
"""Bit of FrameTable.flags: the pointer is of the instruction itself."""

JIT: Final = FunctionName("[jit]", "[jit]", "", "[jit]", Status.UNKNOWN)
UNKNOWN: Final = FunctionName("[unknown]", "[unknown]", "", "[unknown]", Status.UNKNOWN)

_WITH_IMAGE: Final = frozenset(
    {
        capture_pb2.Mapping.FILE,
        capture_pb2.Mapping.KERNEL,
        capture_pb2.Mapping.MODULE,
        capture_pb2.Mapping.VDSO,
    }
)


class Resolver:
    """Names the frames of captures; caches images between captures. For one thread."""

    def __init__(
        self,
        symbols: SymbolSource,
        caches: SymCaches | Path,
        *,
        limits: BuildLimits | None = None,
        request_build: Callable[[ImageIdentity], None] | None = None,
    ) -> None:
        """`caches` hold the symbols built from debug data; a folder: this machine's own, within `limits`.

        `request_build` is called with binaries whose debug data is too large to be read during ingestion; their
        frames are named by symbol tables, and their report is pending. None: everything is read at once.
        """
        if isinstance(caches, Path):
            caches = local_symcaches(caches, limits=limits)
        self._images = Images(symbols, caches, request_build=request_build)

    def forget(self, binary_key: str) -> None:
        """Look up a binary's symbols again on its next use: others were uploaded or built."""
        self._images.forget(binary_key)

    def resolve(self, capture: capture_pb2.Capture) -> ResolvedFrames:
        """Resolve every frame of a checked capture. Missing symbols are never an error."""
        columns = capture.frames
        mapping = np.array(columns.mapping, np.int64)
        exact = (np.array(columns.flags, np.uint32) & EXACT) != 0
        offsets = RecordedPointers(np.array(columns.offset, np.uint64), exact).looked_up().values
        starts = _function_starts(offsets, np.array(columns.into_function, np.uint64))
        given = _names_in(capture)
        kernel = kernel_of(capture)
        calls = CallTable(len(mapping))
        reports: dict[str, BinaryReport] = {}
        for index, positions in _by_mapping(mapping):
            at = capture.mappings[index]
            if at.kind in _WITH_IMAGE:
                identity = identity_of(capture, at)
                image = self._images.open(at.kind, identity, kernel)
                try:
                    rest = _add_named(calls, image, identity.name, positions, offsets)
                except (
                    MemoryError
                ):  # of one image that is too large; a process without memory fails here again
                    log.warning("frames left unnamed: binary=%s why=no memory", identity.key)
                    image.forget_names()
                    image = UnknownImage(NO_MEMORY)
                    rest = _add_named(calls, image, identity.name, positions, offsets)
                reports[identity.key] = BinaryReport(identity.key, image.status, image.reason)
                nameless = [_nameless(identity, start) for start in starts[rest].tolist()]
                where = identity.name
            else:
                rest = positions
                nameless = [JIT if at.kind == capture_pb2.Mapping.ANONYMOUS else UNKNOWN] * len(rest)
                where = KERNEL if capture.strings[at.path] == KERNEL else JIT.binary_name
            found = [
                given[frame].function(where) if frame in given else name
                for frame, name in zip(rest.tolist(), nameless, strict=True)
            ]
            calls.add_single(
                rest, found, [given[frame].line if frame in given else 0 for frame in rest.tolist()]
            )
        return replace(calls.finish(), binaries=tuple(reports.values()))


def _add_named(calls: CallTable, image: Image, binary: str, positions: Indexes, offsets: U64) -> Indexes:
    """Add the frames at `positions` that the image names; the remaining positions.

    Images are cached by content, so the image's own name may be that of a copy at another path.
    """
    distinct, inverse = np.unique(offsets[positions], return_inverse=True)
    frames = image.frames(FileOffsets(distinct))
    depth = np.diff(frames.offsets)[inverse]
    named = depth > 0
    which = inverse[named]
    entries = frames.entries[ranges(frames.offsets[which], depth[named])]
    names = [
        (function if function.binary_name == binary else replace(function, binary_name=binary), line)
        for function, line in frames.names
    ]
    calls.add_chains(positions[named], depth[named], entries, names, frames.status[which])
    return positions[~named]


@dataclass(frozen=True, slots=True)
class _Given:
    """What the machine itself says of a frame."""

    name: str
    source: str
    file: str = ""
    line: int = 0
    first_line: int = 0

    def function(self, where: str) -> FunctionName:
        """The function; `where` is the binary of names without a file.

        Kernel names are used unchanged. Code made from a source file is shown with that file: else `run` of a hundred
        scripts would be one name.
        """
        binary = SOURCE_LEVEL.get(self.source)
        if binary is not None:
            return FunctionName(
                self.name, self.name, self.file, binary, Status.FULL, start_line=self.first_line
            )
        read = JitName(self.name) if where == KERNEL else parse(self.name)
        return FunctionName(
            read.name, read.name, read.file, read.file or where, Status.SYMTAB, start_line=read.line
        )


def _nameless(identity: ImageIdentity, start: int) -> FunctionName:
    name = f"{identity.name}+{start:#x}"
    return FunctionName(
        name, name, "", identity.name, Status.BINARY_ONLY, binary_key=identity.key, start=start
    )


def _function_starts(offsets: U64, into_function: U64) -> U64:
    """Start of the function around each offset, if an unwind entry states it; else the offset."""
    back = np.maximum(into_function, 1) - np.uint64(1)
    return np.where(back <= offsets, offsets - back, offsets)


def _by_mapping(mapping: Indexes) -> Iterator[tuple[int, Indexes]]:
    """Every mapping in use, with the positions of its frames ascending."""
    order = np.argsort(mapping, kind="stable")
    used, first = np.unique(mapping[order], return_index=True)
    ends = [*first[1:].tolist(), len(order)]
    for index, start, end in zip(used.tolist(), first.tolist(), ends, strict=False):
        yield index, order[start:end]


def _names_in(capture: capture_pb2.Capture) -> dict[int, _Given]:
    """Names of frames that only the machine can provide: from perf maps and runtimes, of BPF programs."""
    strings = capture.strings
    found = {}
    for excerpt in capture.excerpts:
        source = strings[excerpt.source]
        nothing = [0] * len(excerpt.frame)
        columns = zip(
            excerpt.frame,
            excerpt.name,
            excerpt.file or nothing,
            excerpt.line or nothing,
            excerpt.first_line or nothing,
            strict=True,
        )
        for frame, name, file, line, first_line in columns:
            if strings[name]:
                found[frame] = _Given(strings[name], source, strings[file], line, first_line)
    return found
