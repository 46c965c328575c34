"""The code of a synthetic fleet: programs, their functions, and all possible stacks.

The shape is that of real captures: 18 frames per stack, three call tree nodes per stack, lines that repeat, a fifth of
the frames with an inlined call. A program's stacks grow with its rank in the fleet, as do its samples (Zipf). The last
part of each program's stacks is reserved as unknown to the store.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from storage.ingest.symbolized import FunctionName, Status

Ints = npt.NDArray[np.int64]

APPLICATIONS: Final = 200
_MEAN_DEPTH, _DEPTH_SPREAD, _DEEPEST = 17, 5.0, 40
_STACKS_A_FUNCTION: Final = 8
_LEAST_FUNCTIONS: Final = 20
_LEAST_STACKS: Final = 50
_LEAST_NEW: Final = 10
_LINES_A_FUNCTION: Final = 3
_SHARED_FUNCTIONS: Final = 3000
_KERNEL_FUNCTIONS: Final = 1500
_KINDS: Final = ("inflate", "alloc", "memcpy", "serialize", "hash", "parse", "crc32", "write", "read", "lock")
LIBRARIES: Final = ("libc.so.6", "libprotobuf.so", "libgrpc.so", "libz.so.1", "libssl.so.3", "libstdc++.so.6")


@dataclass(frozen=True)
class Vocabulary:
    """Frames are places in the code; stack s is frames[offsets[s]:offsets[s + 1]], leaf first."""

    functions: list[FunctionName]
    frame_function: Ints
    """Function of each frame."""
    frame_line: Ints
    frame_inlined: Ints
    """Function inlined at each frame, or −1."""
    frame_image: Ints
    """Image of each frame: 0 kernel, 1… libraries, then one per program."""
    offsets: Ints
    frames: npt.NDArray[np.int32]
    first: Ints
    """Program a has stacks first[a]:first[a + 1]."""
    known: Ints
    """Number of known stacks of each program."""
    popularity: npt.NDArray[np.float64]
    """Share of each program in the fleet's process groups."""

    @property
    def stacks(self) -> int:
        """Number of distinct stacks."""
        return len(self.offsets) - 1

    def frames_of(self, stacks: Ints) -> tuple[Ints, npt.NDArray[np.int32]]:
        """(depths, frames stack by stack)."""
        depth = self.offsets[stacks + 1] - self.offsets[stacks]
        at = np.repeat(self.offsets[stacks] - (np.cumsum(depth) - depth), depth) + np.arange(int(depth.sum()))
        return depth, self.frames[at]

    def functions_of(self, stacks: Ints) -> tuple[Ints, Ints]:
        """(depths, functions stack by stack, innermost first), including inlined calls."""
        depth, frame = self.frames_of(stacks)
        inlined = self.frame_inlined[frame]
        calls = 1 + (inlined >= 0)
        ends = np.cumsum(calls)
        function = np.empty(int(ends[-1]), np.int64)
        function[ends - 1] = self.frame_function[frame]
        function[(ends - 2)[inlined >= 0]] = inlined[inlined >= 0]
        return np.add.reduceat(calls, np.cumsum(depth) - depth), function


def make_vocabulary(known: int, unknown: int, rng: np.random.Generator) -> Vocabulary:
    """Create about `known` known stacks and `unknown` unknown ones."""
    rank = np.arange(1, APPLICATIONS + 1)
    size = rank**-0.7
    popularity = rank**-0.9
    popularity = (popularity / popularity.sum()).astype(np.float64)
    known_of = np.maximum(_LEAST_STACKS, (known * size / size.sum()).astype(np.int64))
    unknown_of = np.maximum(_LEAST_NEW, (unknown * popularity).astype(np.int64))
    functions_of = np.maximum(_LEAST_FUNCTIONS, known_of // _STACKS_A_FUNCTION)

    names, images = _functions(functions_of)
    frame_function = np.repeat(np.arange(len(names)), _LINES_A_FUNCTION)
    lines = 10 + rng.integers(0, 2000, len(names))[frame_function] + rng.integers(1, 60, len(frame_function))
    own = _KERNEL_FUNCTIONS + _SHARED_FUNCTIONS
    lines[frame_function < _KERNEL_FUNCTIONS] = 0
    inlines = (rng.random(len(frame_function)) < 0.2) & (frame_function >= own)
    inlined = np.where(inlines, _KERNEL_FUNCTIONS + rng.integers(0, _SHARED_FUNCTIONS, len(inlines)), -1)
    first_function = own + np.concatenate(([0], np.cumsum(functions_of)))

    offsets, frames, first = [np.zeros(1, np.int64)], [], [0]
    for a in range(APPLICATIONS):
        count = int(known_of[a] + unknown_of[a])
        depth, flat = _stacks(count, first_function[a], int(functions_of[a]), rng)
        offsets.append(offsets[-1][-1] + np.cumsum(depth))
        frames.append(flat)
        first.append(first[-1] + len(depth))
    return Vocabulary(
        names, frame_function, lines, inlined, images[frame_function],
        np.concatenate(offsets), np.concatenate(frames), np.array(first), known_of, popularity,
    )  # fmt: skip


def _functions(functions_of: Ints) -> tuple[list[FunctionName], Ints]:
    names, images = [], []
    for i in range(_KERNEL_FUNCTIONS):
        name = f"sys_{_KINDS[i % 10]}_{i}"
        names.append(FunctionName(name, name, "", "[kernel]", Status.SYMTAB))
        images.append(0)
    for i in range(_SHARED_FUNCTIONS):
        library = i % len(LIBRARIES)
        name = f"{LIBRARIES[library].partition('.')[0]}::{_KINDS[i % 10]}_{i}(char const*, unsigned long)"
        names.append(FunctionName(name, name, f"src/{i % 50}.cc", LIBRARIES[library], Status.FULL))
        images.append(1 + library)
    for a, count in enumerate(functions_of.tolist()):
        for i in range(count):
            name = f"app{a:03d}::ns{i % 17}::Class{i % 97}::method_{i}(std::vector<int> const&)"
            names.append(FunctionName(name, name, f"app{a:03d}/src/f{i % 97}.cc", f"app{a:03d}", Status.FULL))
            images.append(1 + len(LIBRARIES) + a)
    return names, np.array(images, np.int64)


def _stacks(
    count: int, first_function: int, functions: int, rng: np.random.Generator
) -> tuple[Ints, npt.NDArray[np.int32]]:
    """(depths, frames leaf first) of a program's stacks, in random order: a tree grown level by level, with tails."""
    level = np.arange(1, _DEEPEST + 1)
    weight = np.exp(-((level - _MEAN_DEPTH) ** 2) / (2 * _DEPTH_SPREAD**2))
    per_level = np.ceil(count * weight / weight.sum()).astype(np.int64)
    paths = np.full((1, 1), first_function * _LINES_A_FUNCTION, np.int32)
    depths, parts = [], []
    for d in range(1, _DEEPEST + 1):
        if d > 1:
            nodes = max(2, int(per_level[d - 1]) // 2)
            parents = paths[(rng.random(nodes) ** 2 * len(paths)).astype(np.int64)]
            paths = np.concatenate(
                (parents, _frames(nodes, 0.3, first_function, functions, rng)[:, None]), axis=1
            )
        here = int(per_level[d - 1])
        tail = 1
        leaves = [_frames(here, 0.65, first_function, functions, rng) for _ in range(tail)]
        chosen = paths[rng.integers(0, len(paths), here)]
        parts.append(np.column_stack([*leaves, chosen[:, ::-1]]))
        depths.append(np.full(here, d + tail))
    order = rng.permutation(int(per_level.sum()))[:count]
    depth = np.concatenate(depths)
    flat = np.concatenate([part.ravel() for part in parts])
    start = (np.cumsum(depth) - depth)[order]
    ordered = depth[order]
    at = np.repeat(start - (np.cumsum(ordered) - ordered), ordered) + np.arange(int(ordered.sum()))
    return ordered, flat[at]


def _frames(
    count: int, foreign: float, first_function: int, functions: int, rng: np.random.Generator
) -> npt.NDArray[np.int32]:
    """Frames of the program itself, or of a library or the kernel with probability `foreign`; few are hot."""
    own = first_function + (rng.random(count) ** 6 * functions).astype(np.int64)
    other = (rng.random(count) ** 8 * (_KERNEL_FUNCTIONS + _SHARED_FUNCTIONS)).astype(np.int64)
    function = np.where(rng.random(count) < foreign, other, own)
    return (function * _LINES_A_FUNCTION + rng.integers(0, _LINES_A_FUNCTION, count)).astype(np.int32)
