"""Answers which instructions a function consists of, and how many samples each has."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from services.disassembly import document
from services.disassembly.capture_reading import read_captures
from storage.archive import Archive
from storage.query.answers.disassembly import DisassemblyAnswer
from storage.query.query_engine import QueryEngine
from storage.query.selections.selection import Selection
from storage.query.shapes.function_visits import FunctionVisits, FunctionVisitsQuestion
from storage.query.subject import Subject

if TYPE_CHECKING:
    from storage.ingest.leaf_addresses import SummedAddresses
    from symbolizer.disassembly.disassembler import Disassembler, Listing


@dataclass(frozen=True, slots=True)
class DisassemblyQuestion:
    """The instructions of the heaviest of some functions."""

    selection: Selection
    subject: Subject
    build_id: str = ""
    """Key of the build; '': the heaviest."""
    captures: int = 200
    """Largest number of captures to read."""


MEMORY_BYTES: Final = 1 << 30
"""That one listing takes: the symbol table of an image without built symbols, or a capture of 128 MiB."""


class DisassemblyService:
    """Answers questions; threads may share it."""

    def __init__(
        self, queries: QueryEngine, archive: Archive, make: Callable[[], "Disassembler"] | None = None
    ) -> None:
        """`make` opens the symbolizer's files; the first answer calls it. None: no file is available."""
        self._queries = queries
        self._archive = archive
        self._disassembler = None if make is None else cache(make)
        self._lock = threading.Lock()

    def answer(self, question: DisassemblyQuestion) -> DisassemblyAnswer:
        """The instructions. Raises what queries raise, and `ArchiveUnavailable`."""
        found = self._queries.ask(
            FunctionVisitsQuestion(question.selection, question.subject, question.build_id, question.captures)
        )
        if found.shown is None:
            return document.without_build(found)
        captures = read_captures(self._archive, found.chosen, found.shown.key)
        return document.answer_of(found, captures, self._listing(found, captures.addresses))

    def _listing(self, found: FunctionVisits, addresses: "SummedAddresses") -> "Listing":
        # Imported by the first answer: capstone and the readers of symbol files take 20 MB.
        from symbolizer.disassembly.disassembler import SampledOffsets, without_files  # noqa: PLC0415
        from symbolizer.disassembly.function_ranges import SoughtFunction  # noqa: PLC0415
        from symbolizer.identity import identity_of_key  # noqa: PLC0415

        shown, function = found.shown, found.functions[0]
        assert shown is not None, "the caller checks it"
        leaves = addresses.leaves
        sampled = SampledOffsets(
            leaves.offset.astype(np.uint64),
            leaves.function_start.astype(np.uint64),
            leaves.samples,
            leaves.units,
            addresses.weight,
        )
        sought = SoughtFunction(function.name, shown.raw_name, function.file, shown.start)
        if self._disassembler is None:
            return without_files(sought, sampled, "This server reads no files of binaries.")
        with self._lock:
            identity = identity_of_key(shown.key, shown.path)
            return self._disassembler().listing(shown.kind, identity, sought, sampled)
