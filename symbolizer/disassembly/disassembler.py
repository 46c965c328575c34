"""Lists one function of a binary: where its code is, what it consists of, and the samples at each instruction."""

from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from symbolizer.addresses import NOWHERE, U64, FileOffsets
from symbolizer.builds.symcaches import SymCaches
from symbolizer.disassembly.code_file import CodeFile, NoInstructions, open_code
from symbolizer.disassembly.function_ranges import CodeRange, SoughtFunction, ranges_of
from symbolizer.disassembly.instructions import architecture_of
from symbolizer.disassembly.listing import Rows, address_rows, instruction_rows
from symbolizer.disassembly.sampled_addresses import Counts, SampledAddresses, Weights, shown_ranges
from symbolizer.elf.symtab import read_symbols
from symbolizer.errors import MalformedImage
from symbolizer.identity import ImageIdentity
from symbolizer.images.elf_image import ElfImage
from symbolizer.images.file_images import FileImages
from symbolizer.kernel.identity import KernelIdentity
from symbolizer.sources.chain import Chain
from symbolizer.sources.source import Missing

MAX_SHOWN_BYTES: Final = 64 << 10
"""Code of one listing: some 16,000 instructions."""

Space = Literal["virtual", "file", "kernel"]


@dataclass(frozen=True, slots=True)
class SampledOffsets:
    """Columns over distinct offsets of a binary, ascending, with samples."""

    offset: U64
    function_start: U64
    """Offset of the function's start by the unwind table; the offset itself if it is not known."""
    samples: Counts
    units: Counts
    weight: Weights

    def at(self, address: U64, keep: npt.NDArray[np.bool_]) -> SampledAddresses:
        """Those where `keep` is set, at these addresses."""
        order = np.flatnonzero(keep)[np.argsort(address[keep], kind="stable")]
        return SampledAddresses(address[order], self.samples[order], self.units[order], self.weight[order])


@dataclass(frozen=True, slots=True)
class Listing:
    """A function's code."""

    space: Space
    """What addresses are: virtual ones of the ELF file, offsets in the file, or offsets from the kernel's `_stext`."""
    sampled: SampledAddresses
    """All samples in the function's code."""
    ranges: tuple[CodeRange, ...] = ()
    shown: tuple[CodeRange, ...] = ()
    rows: Rows = field(default_factory=lambda: Rows(()))
    origin: str = ""
    """Place of the file with the instructions, for a person; '' without instructions."""
    architecture: str = ""
    """'' without instructions."""
    missing: str = ""
    """Why there are no instructions, as sentences; '' if there are."""
    upload_helps: bool = False
    """An upload of the binary would provide them."""


class Disassembler:
    """Reads images and code of any binary. For one thread at a time: a large symbol table takes up to a gigabyte."""

    def __init__(self, sources: Chain, caches: SymCaches, *, most_bytes: int = MAX_SHOWN_BYTES) -> None:
        """`caches` are read; nothing is built. `most_bytes` of code are shown."""
        self._sources = sources
        # A build takes a process and minutes; workers build what captures contain.
        self._images = FileImages(sources, caches, request_build=lambda _: None, at_once_s=0.0)
        self._most_bytes = most_bytes

    def listing(
        self, kind: str, identity: ImageIdentity, function: SoughtFunction, sampled: SampledOffsets
    ) -> Listing:
        """The function's code. `kind` is `storage.schema.binary.kind`; `sampled` are the binary's samples.

        The state of files raises nothing; an unavailable database or archive raises the errors of `storage.errors`.
        """
        if kind not in {"file", "kernel", "module", "vdso"}:
            why = f"{identity.name} is no file, so its instructions are not kept."
            return replace(without_files(function, sampled, why), upload_helps=False)
        with ExitStack() as closing:
            code = open_code(self._sources, kind, identity, closing)
            image = self._image(kind, identity, code)
            if isinstance(image, Missing):
                if kind == "kernel":
                    return self._by_kernel_table(identity, function, sampled, image.reason)
                return without_files(function, sampled, image.reason)
            try:
                return self._of_image(image, code, function, sampled)
            except (MalformedImage, IndexError) as error:
                return without_files(
                    function, sampled, f"The symbols of {identity.name} are damaged. {error}"
                )

    def _image(self, kind: str, identity: ImageIdentity, code: CodeFile | Missing) -> ElfImage | Missing:
        if kind == "vdso":
            if isinstance(code, Missing):
                return code
            try:
                return ElfImage(identity.name, code.elf.segment_map, None, read_symbols(code.elf), "")
            except MalformedImage as error:
                return Missing(f"The vdso is unusable. {error}")
        image = self._images.open(identity)
        if isinstance(image, ElfImage):
            return image
        return Missing(code.reason if isinstance(code, Missing) and code.reason else image.reason)

    def _of_image(
        self,
        image: ElfImage,
        code: CodeFile | Missing,
        function: SoughtFunction,
        sampled: SampledOffsets,
    ) -> Listing:
        ranges = ranges_of(image, function, None if isinstance(code, Missing) else code.elf)
        address = image.vaddrs(FileOffsets(sampled.offset)).values
        mapped = address != NOWHERE
        if not ranges:
            here = sampled.at(address, mapped & _of_start(function, sampled))
            absent = isinstance(code, Missing) and function.start is not None
            why = code.reason if absent and isinstance(code, Missing) else _no_range(function)
            rows = address_rows(here, image)
            return Listing("virtual", here, rows=rows, missing=why, upload_helps=absent)
        everything = sampled.at(address, mapped).inside(ranges)
        shown = shown_ranges(ranges, everything, self._most_bytes)
        visible = everything.inside(shown)
        content = code if isinstance(code, Missing) else code.read(shown)
        if isinstance(code, Missing) or isinstance(content, Missing):
            why = content.reason if isinstance(content, Missing) else ""
            return Listing(
                "virtual",
                everything,
                ranges,
                ranges,
                address_rows(everything, image),
                missing=why,
                upload_helps=not isinstance(content, NoInstructions),
            )
        rows = instruction_rows(code.elf.machine, shown, content, visible, image)
        return Listing("virtual", everything, ranges, shown, rows, code.origin, architecture_of(code.elf))

    def _by_kernel_table(
        self, identity: ImageIdentity, function: SoughtFunction, sampled: SampledOffsets, why: str
    ) -> Listing:
        """Addresses of a kernel function by the kernel's own symbols, without instructions."""
        found = self._sources.kernel(KernelIdentity(identity.build_id)) if identity.build_id else None
        if found is None or isinstance(found, Missing):
            return without_files(function, sampled, why)
        table, raw_name = found.kernel, function.raw_name.encode()
        ranges = tuple(
            CodeRange(function.raw_name, int(table.starts[index]), int(table.ends[index]))
            for index, name in enumerate(table.names)
            if name == raw_name
        )
        here = sampled.at(sampled.offset, np.ones(len(sampled.offset), np.bool_)).inside(ranges)
        return Listing(
            "kernel", here, ranges, ranges, address_rows(here, None), missing=why, upload_helps=True
        )


def without_files(function: SoughtFunction, sampled: SampledOffsets, why: str) -> Listing:
    """The listing without any file of the binary: only a function without a name is known by its start."""
    here = sampled.at(sampled.offset, _of_start(function, sampled))
    if function.start is None:
        why = f"{why} Without a file of this build, the addresses of its functions are not known."
    return Listing("file", here, rows=address_rows(here, None), missing=why, upload_helps=True)


def _of_start(function: SoughtFunction, sampled: SampledOffsets) -> npt.NDArray[np.bool_]:
    if function.start is None:
        return np.zeros(len(sampled.offset), np.bool_)
    starts_there: npt.NDArray[np.bool_] = sampled.function_start == np.uint64(function.start)
    return starts_there


def _no_range(function: SoughtFunction) -> str:
    if function.start is not None:
        return "The unwind table does not say where the function ends."
    return (
        f"The binary has no symbol {function.raw_name[:200]}: the function is inlined wherever it is called, or its "
        "name is from debug information only. Its instructions are part of its callers."
    )
