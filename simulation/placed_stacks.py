"""Stacks of an application as a gateway sees them: addresses in builds, without function names."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from fleetpb import capture_pb2
from gateway.capture.packer import EXACT, KERNEL, Image
from simulation.binaries import Build, build_of
from simulation.calls import JIT
from simulation.calls import KERNEL as KERNEL_IMAGE
from simulation.catalogue import Application
from simulation.seeded_random import Indexes, uniform
from simulation.stack_table import stack_table

_LEAF_PLACES: Final = 3
"""Number of instructions of one function at which samples of one stack are found."""
JIT_IMAGE: Final = Image(capture_pb2.Mapping.ANONYMOUS)


@dataclass(frozen=True, slots=True)
class PlacedStacks:
    """Stacks of one release of an application on one kernel: columns over all frames of all its stacks."""

    builds: tuple[Build, ...]
    images: tuple[Image, ...]
    image: npt.NDArray[np.int16]
    """Index into `images`; as narrow as the other columns, since a fleet holds hundreds of such tables."""
    offset: npt.NDArray[np.int32]
    into_function: npt.NDArray[np.int32]
    flags: npt.NDArray[np.int8]
    name: npt.NDArray[np.int16]
    """Index into `names`; 0 if the image has the name."""
    names: tuple[str, ...]
    starts: Indexes
    """n + 1 positions in the columns."""
    end: Indexes
    """How each unwinding ended (StackEnd)."""


@lru_cache(maxsize=256)
def placed(application: Application, seed: int, release: int, on: int) -> PlacedStacks:
    """The stacks of a release on kernel number `on`; stack k is that of `stack_table.stack_table`."""
    table = stack_table(application, seed)
    builds = [build_of(function, application, seed, release, on) for function in table.functions]
    distinct = tuple({build.build_id: build for build in builds if build is not None}.values())
    number = {build.build_id: index for index, build in enumerate(distinct)}
    start, size = (np.zeros(len(builds), np.int64) for _ in range(2))
    for index, (build, function) in enumerate(zip(builds, table.functions, strict=True)):
        start[index], size[index] = build.places[function.symbol] if build else (0, 0)
    names = ("", *sorted({f.symbol for f in table.functions if f.image == JIT}))
    named = {name: index for index, name in enumerate(names)}
    image = np.array([number[b.build_id] if b else len(distinct) for b in builds], np.int64)
    name = np.array([named[f.symbol] if f.image == JIT else 0 for f in table.functions], np.int64)
    in_kernel = np.array([f.image == KERNEL_IMAGE for f in table.functions])

    frames = table.frames
    position = np.arange(len(frames))
    is_leaf = np.zeros(len(frames), np.bool_)
    is_leaf[table.starts[:-1]] = True
    inner = np.where(
        is_leaf,
        -1 - (np.repeat(np.arange(len(table)), np.diff(table.starts)) % _LEAF_PLACES),
        np.roll(frames, 1),
    )
    # The user part of a stack begins at the kernel entry with the recorded instruction pointer, not a return address.
    entered = ~is_leaf & ~in_kernel[frames] & in_kernel[np.roll(frames, 1)] & (position > 0)
    exact = is_leaf | entered
    has_file = image[frames] < len(distinct)
    span = np.maximum(size[frames] - 6, 1)
    within = 5 + (uniform(seed, "site", frames, inner) * span).astype(np.int64)
    flags = EXACT * exact + KERNEL * in_kernel[frames]
    kernel_only = np.logical_and.reduceat(in_kernel[frames], table.starts[:-1])
    return PlacedStacks(
        distinct, (*(_image(build) for build in distinct), JIT_IMAGE), image[frames].astype(np.int16),
        offset=np.where(has_file, start[frames] + within, 0).astype(np.int32),
        into_function=np.where(has_file, within + exact, 0).astype(np.int32), flags=flags.astype(np.int8),
        name=name[frames].astype(np.int16), names=names,
        starts=table.starts,
        end=np.where(kernel_only, capture_pb2.STACK_END_KERNEL_ONLY, capture_pb2.STACK_END_COMPLETE),
    )  # fmt: skip


def _image(build: Build) -> Image:
    kind = capture_pb2.Mapping.KERNEL if build.path == "[kernel]" else capture_pb2.Mapping.FILE
    return Image(kind, build.path, build.build_id)
