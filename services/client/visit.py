"""One visit's profiles, decoded."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fleetpb import data_pb2
from services.client.fact_columns import Facts

Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Function:
    """A function in stacks."""

    name: str
    file: str
    """"" if unknown."""
    binary: str
    kind: str
    """`user`, `kernel`, or `marker`: a placeholder that names what is missing."""
    symbols: str
    """Source of the name: `full` (debug information), `symtab`, `binary_only`, `unknown`."""


@dataclass(frozen=True, slots=True)
class Profile:
    """The samples of one process group in one segment of a visit."""

    labels: Mapping[str, str]
    segment: int
    period: int
    """Units (nanoseconds, cycles, …) that one sample stands for."""
    stack: Int64
    """Indexes into the visit's stacks."""
    samples: Int64

    @property
    def units(self) -> int:
        """Units of the event in total."""
        return int(self.samples.sum()) * self.period


class Visit:
    """The samples of one visit and one event; `message` is the protobuf record (proto/fleetpb/data.proto)."""

    def __init__(self, message: data_pb2.VisitProfiles) -> None:
        self.message = message

    @property
    def id(self) -> str:
        """Id of the visit and of its capture."""
        return self.message.visit.visit_id

    @property
    def machine(self) -> str:
        """Name of the machine in the inventory."""
        return self.message.visit.machine

    @property
    def day(self) -> date:
        """UTC day of the draw."""
        return date.fromisoformat(self.message.visit.day)

    @property
    def drawn_at(self) -> datetime:
        """Time of the draw."""
        return self.message.visit.drawn_at.ToDatetime(UTC)

    @property
    def is_there(self) -> bool:
        """False: the visit's facts are expired, damaged or too large; see `status` and `detail`."""
        return self.message.status == data_pb2.RECORD_OK

    @property
    def status(self) -> str:
        """`ok`, `expired`, `corrupt` or `too_large`."""
        return data_pb2.RecordStatus.Name(self.message.status).removeprefix("RECORD_").lower()

    @property
    def detail(self) -> str:
        """Why the facts are missing, a sentence."""
        return self.message.detail

    @property
    def weight(self) -> float:
        """Units of the fleet that one observed unit stands for (docs/data-api.md)."""
        return self.message.weight

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """The functions of the visit's stacks."""
        text, table = self.message.strings, self.message.functions
        columns = zip(table.name, table.file, table.binary, table.kind, table.symbols, strict=True)
        return tuple(
            Function(
                text[name],
                text[file],
                text[binary],
                data_pb2.VisitProfiles.Kind.Name(kind).lower(),
                data_pb2.VisitProfiles.Symbols.Name(symbols).lower(),
            )
            for name, file, binary, kind, symbols in columns
        )

    @cached_property
    def stacks(self) -> tuple[tuple[int, ...], ...]:
        """Indexes into `functions`, leaf first."""
        flat = list(self.message.stacks.functions)
        ends = np.cumsum(np.array(self.message.stacks.length, np.int64)).tolist()
        return tuple(tuple(flat[first:end]) for first, end in zip([0, *ends], ends, strict=False))

    @cached_property
    def profiles(self) -> tuple[Profile, ...]:
        """By segment and process group; empty: the visit has no matching samples."""
        text = self.message.strings
        return tuple(
            Profile(
                labels={text[k]: text[v] for k, v in zip(p.labels[::2], p.labels[1::2], strict=True)},
                segment=p.segment,
                period=p.period,
                stack=np.array(p.stack, np.int64),
                samples=np.array(p.samples, np.int64),
            )
            for p in self.message.profiles
        )

    @property
    def units(self) -> int:
        """Units of the event in total: core time in nanoseconds for `cpu`."""
        return sum(profile.units for profile in self.profiles)

    def to_numpy(self) -> dict[str, npt.NDArray[Any]]:
        """The visit's facts as columns; see `Facts`."""
        return self._facts().to_numpy()

    def to_pandas(self) -> Any:
        """The visit's facts as a pandas.DataFrame; see `Facts`. Raises `NeedsPackage`."""
        return self._facts().to_pandas()

    def to_arrow(self) -> Any:
        """The visit's facts as a pyarrow.Table; see `Facts`. Raises `NeedsPackage`."""
        return self._facts().to_arrow()

    def _facts(self) -> Facts:
        facts = Facts()
        facts.add(self, self.weight)
        return facts
