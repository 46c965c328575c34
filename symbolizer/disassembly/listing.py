"""Rows of a disassembly: decoded instructions with their samples, source lines, and names of jump targets."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from symbolizer.addresses import U64, ElfVaddrs
from symbolizer.demangle import demangle
from symbolizer.disassembly.function_ranges import CodeRange
from symbolizer.disassembly.instructions import Instruction, decode
from symbolizer.disassembly.sampled_addresses import SampledAddresses
from symbolizer.errors import MalformedImage
from symbolizer.images.elf_image import ElfImage
from symbolizer.tables.symbol_table import MISS

_LONGEST_NAME: Final = 1000
"""Names may have 64 KiB, and a listing repeats them."""


@dataclass(frozen=True, slots=True)
class Place:
    """The source of an instruction."""

    file: str
    """'': not known."""
    line: int
    """0: not known."""
    inlined: str
    """Innermost inlined function that it belongs to; '': none."""


NO_PLACE: Final = Place("", 0, "")


@dataclass(frozen=True, slots=True)
class Row:
    """An instruction, or only a sampled address if no instructions are available."""

    address: int
    instruction: Instruction | None
    target_name: str
    """Function of the target, with the distance from its start (`work+0x10`); '' if not known."""
    place: Place
    samples: int
    units: int
    weight: float


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows by ascending address."""

    rows: tuple[Row, ...]
    inside: int = 0
    """Samples at an address within an instruction, not at its start; they count at that instruction."""


def instruction_rows(
    machine: int,
    ranges: Sequence[CodeRange],
    code: Sequence[bytes],
    sampled: SampledAddresses,
    image: ElfImage,
) -> Rows:
    """A row for each instruction of the ranges, which ascend; `code` are the bytes of each."""
    decoded = [
        instruction
        for one, content in zip(ranges, code, strict=True)
        for instruction in decode(machine, content, one.start)
        if instruction.address < one.end
    ]
    starts = np.array([one.address for one in decoded], np.uint64)
    place = np.searchsorted(starts, sampled.address, "right").astype(np.int64) - 1
    count = len(decoded)
    samples, units = np.zeros(count, np.int64), np.zeros(count, np.int64)
    weight = np.zeros(count)
    for into, values in ((samples, sampled.samples), (units, sampled.units), (weight, sampled.weight)):
        np.add.at(into, place, values)
    names = _target_names(image, [one.target for one in decoded if one.target is not None])
    columns = zip(
        decoded, _places(image, starts), samples.tolist(), units.tolist(), weight.tolist(), strict=True
    )
    return Rows(
        tuple(
            Row(one.address, one, names.get(one.target, ""), source, taken, amount, weighted)
            for one, source, taken, amount, weighted in columns
        ),
        int(sampled.samples[starts[place] != sampled.address].sum()) if count else 0,
    )


def address_rows(sampled: SampledAddresses, image: ElfImage | None) -> Rows:
    """A row for each sampled address, without instructions."""
    places = [NO_PLACE] * len(sampled.address) if image is None else _places(image, sampled.address)
    columns = zip(
        sampled.address.tolist(),
        places,
        sampled.samples.tolist(),
        sampled.units.tolist(),
        sampled.weight.tolist(),
        strict=True,
    )
    return Rows(
        tuple(
            Row(address, None, "", source, taken, amount, weighted)
            for address, source, taken, amount, weighted in columns
        )
    )


def _places(image: ElfImage, addresses: U64) -> list[Place]:
    try:
        _, chains = image.lookup(ElfVaddrs(addresses))
        known: dict[tuple[int, bool], Place] = {}
        places = []
        for first, after in zip(chains.offsets[:-1].tolist(), chains.offsets[1:].tolist(), strict=True):
            if after == first:
                places.append(NO_PLACE)
                continue
            key = int(chains.locations[first]), after > first + 1
            if key not in known:
                known[key] = _place(image, *key)
            places.append(known[key])
    except (MalformedImage, IndexError):  # a damaged file of built symbols: workers build it again
        return [NO_PLACE] * len(addresses)
    return places


def _place(image: ElfImage, identifier: int, is_inlined: bool) -> Place:
    location = image.location_of(identifier)
    name = image.name_of(identifier)[0].name[:_LONGEST_NAME] if is_inlined else ""
    return Place("", 0, name) if location is None else Place(location.file, location.line, name)


def _target_names(image: ElfImage, targets: Iterable[int]) -> dict[int | None, str]:
    distinct = np.unique(np.fromiter(targets, np.uint64))
    found = image.symbols.find(ElfVaddrs(distinct))
    names: dict[int | None, str] = {}
    for target, index in zip(distinct.tolist(), found.tolist(), strict=True):
        if index != MISS:
            symbol = image.symbols.symbol(index)
            distance = target - symbol.start
            names[target] = demangle(symbol.name)[:_LONGEST_NAME] + (f"+{distance:#x}" if distance else "")
    return names
