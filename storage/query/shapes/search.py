"""A search for names: functions, files, binaries, applications and machines, those with the largest share first.

All names of the store are searched, also those without samples in the selection. Shares are estimated from a random
part of the selection's visits. A function with a share of 0.1 % is in nearly every such part, and lighter ones follow
by name.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from sqlalchemy import Column, Select, func, select

from storage.arrays import Float, Int64, distinct, weight_at
from storage.ingest.marker_frames import Kind
from storage.query.answers.search import SearchAnswer, SearchHit
from storage.query.facts.selection_echo import selection_echo
from storage.query.samples import Samples
from storage.query.selections.label_names import MACHINE
from storage.query.selections.matchers import APPLICATION
from storage.query.selections.selection import Selection
from storage.query.selections.texts import require_text
from storage.query.shapes.call_edges import functions_of
from storage.query.shapes.frame_tree import Borne
from storage.query.store_reading import StoreReading
from storage.schema import dim_value, function, machine

LONGEST = 200
"""Characters of a text that is searched for."""
MOST_HITS = 50
VISITS = 200
"""Visits that shares are estimated from: 40 ms, and 4,700 of a fleet's 5,000 functions."""


@dataclass(frozen=True, slots=True)
class SearchQuestion:
    """The names that contain `text`, regardless of case; at most `limit` of each kind."""

    selection: Selection
    text: str
    limit: int = 10

    def answer(self, reading: StoreReading) -> SearchAnswer:
        """The hits. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        require_text(self.text, longest=LONGEST, what="The text", parameter="q")
        samples = reading.some_visits(self.selection, (APPLICATION,), VISITS)
        names = _Names(reading, samples, self.text, self.limit)
        kinds = (
            names.functions(),
            names.files(),
            names.binaries(),
            names.applications(),
            names.machines(),
        )
        return SearchAnswer(
            selection=selection_echo(self.selection, samples.kind),
            q=self.text,
            visits_read=len(samples.evidence),
            hits=tuple(chain.from_iterable(kinds)),
        )


class _Names:
    """The names that contain a text, in some samples and in the store."""

    def __init__(self, reading: StoreReading, samples: Samples, text: str, limit: int) -> None:
        self._reading = reading
        self._samples = samples
        self._text = text
        self._limit = limit
        self._called = functions_of(Borne.of(samples.shape, samples.facts.units, samples.weighted))

    def functions(self) -> Iterator[SearchHit]:
        """Functions by name; those without self follow by total."""
        functions, called, c = self._reading.functions, self._called, function.c
        code = functions.kind(called.function) != Kind.MARKER
        matching = np.flatnonzero(code & functions.matching(called.function, self._contains))
        order = np.lexsort((called.total_weight[matching], called.own_weight[matching]))[::-1]
        heaviest = matching[order[: self._limit]]
        shares = dict(
            zip(
                called.function[heaviest].tolist(),
                map(self._share, called.own_weight[heaviest].tolist()),
                strict=True,
            )
        )
        for row in map(functions.row, shares):
            yield SearchHit("function", row.name, row.id, row.file, row.binary, None, shares[row.id])
        others = (
            select(c.function_id, c.name, c.file, c.binary_name)
            .where(c.alias_of.is_(None), c.kind != int(Kind.MARKER), c.function_id.not_in(shares))
            .order_by(func.length(c.name), c.name, c.function_id)
        )
        for id_, name, file, binary in self._stored(others, c.name, self._limit - len(shares)):
            yield SearchHit("function", name, id_, file, binary, None, None)

    def files(self) -> Iterator[SearchHit]:
        """Source files, by the self of their functions."""
        for file, share in self._by_function(self._reading.functions.file, function.c.file):
            yield SearchHit("file", file, None, file, None, None, share)

    def binaries(self) -> Iterator[SearchHit]:
        """Binaries, by the self of their functions."""
        for binary, share in self._by_function(self._reading.functions.binary, function.c.binary_name):
            yield SearchHit("binary", binary, None, None, binary, None, share)

    def applications(self) -> Iterator[SearchHit]:
        """Applications."""
        facts, profiles = self._samples.facts, self._samples.profiles
        ids, which = distinct(profiles.label(APPLICATION))
        weights = weight_at(which[facts.profile], self._samples.weighted, len(ids))
        values = self._reading.label_values(APPLICATION, ids)
        stored = select(dim_value.c.value).where(dim_value.c.dim == APPLICATION)
        for value, share in self._heaviest(values, weights, stored, dim_value.c.value):
            yield SearchHit("application", value, None, None, None, APPLICATION, share)

    def machines(self) -> Iterator[SearchHit]:
        """Machines of the inventory."""
        stored = select(machine.c.name).where(machine.c.removed_at.is_(None))
        for name, share in self._heaviest((), np.zeros(0), stored, machine.c.name):
            yield SearchHit("machine", name, None, None, None, MACHINE, share)

    def _by_function(
        self, number: Callable[[Int64], Int64], column: Column[Any]
    ) -> Iterator[tuple[str, float | None]]:
        """Files or binaries; `number` gives those of functions."""
        numbers, which = distinct(number(self._called.function))
        weights = weight_at(which, self._called.own_weight, len(numbers))
        texts = [self._reading.functions.text(each) for each in numbers.tolist()]
        return self._heaviest(texts, weights, select(column).distinct(), column)

    def _heaviest(
        self, texts: Sequence[str], weights: Float, stored: Select[Any], column: Column[Any]
    ) -> Iterator[tuple[str, float | None]]:
        """The heaviest matching texts of the samples with their shares, then matching texts of the store."""
        found = sorted(
            (-self._share(weight), text)
            for text, weight in zip(texts, weights.tolist(), strict=True)
            if self._contains(text)
        )[: self._limit]
        yield from ((text, -share) for share, text in found)
        others = stored.where(column.not_in([text for _, text in found])).order_by(column)
        for (text,) in self._stored(others, column, self._limit - len(found)):
            yield text, None

    def _stored(self, names: Select[Any], column: Column[Any], most: int) -> Sequence[Any]:
        """At most so many of the names of the store that contain the text."""
        if not most:
            return ()
        contain = column.icontains(self._text, autoescape=True)
        return self._reading.connection.execute(names.where(contain).limit(most)).all()

    def _contains(self, name: str) -> bool:
        return self._text.casefold() in name.casefold()

    def _share(self, weight: float) -> float:
        return min(weight / self._samples.whole, 1.0) if self._samples.whole > 0 else 0.0
