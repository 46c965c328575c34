"""Counters of several processes in shared memory, for a pool whose children come and go.

prometheus-client's own method keeps a file for every process that ever ran, and reads all of them at each scrape.
Here every slot of the pool has a row. A child adds to the row of its slot, and its successor continues there: counts
never fall while the parent lives, and memory does not grow. Only one process writes a row at a time, and a number is
stored atomically, so there is no lock that a killed child could hold.
"""

import mmap
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

_BYTES = 8


@dataclass(frozen=True, slots=True)
class CounterFamily:
    """A counter, by one label with known values or without a label."""

    name: str
    """Without `_total`."""
    text: str
    label: str = ""
    """Empty if there is none."""
    values: Sequence[str] = ("",)


@dataclass(frozen=True, slots=True)
class HistogramFamily:
    """A histogram of seconds by one label with known values."""

    name: str
    text: str
    label: str
    values: Sequence[str]
    bounds: Sequence[float]
    """Upper bounds, ascending, without infinity."""


@dataclass(slots=True, eq=False)
class SharedCounters(Collector):
    """Rows for `slots` processes. Create before they fork, and call `use_slot` in each of them."""

    families: Sequence[CounterFamily | HistogramFamily]
    slots: int
    _at: dict[tuple[str, str], int] = field(init=False, default_factory=dict)
    _width: int = field(init=False, default=0)
    _cells: "memoryview[float]" = field(init=False)
    _row: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        for family in self.families:
            # A histogram has a cell for each bucket, one beyond the last bound, and the sum.
            cells = 1 if isinstance(family, CounterFamily) else len(family.bounds) + 2
            for value in family.values:
                self._at[family.name, value] = self._width
                self._width += cells
        self._cells = memoryview(mmap.mmap(-1, self.slots * self._width * _BYTES)).cast("d")

    def use_slot(self, slot: int) -> None:
        """Assign this process to a slot of the pool, from 0; a process beyond the last shares the last slot."""
        self._row = min(slot, self.slots - 1)

    def add(self, name: str, value: str = "", amount: float = 1.0) -> None:
        """Count for a value of the label; an unknown value counts as the last."""
        self._cells[self._cell(name, value)] += amount

    def observe(self, name: str, value: str, seconds: float) -> None:
        """Record a duration."""
        family = self._family(name)
        assert isinstance(family, HistogramFamily)
        start = self._cell(name, value)
        self._cells[start + bisect_left(family.bounds, seconds)] += 1
        self._cells[start + len(family.bounds) + 1] += seconds

    def collect(self) -> Iterator[Metric]:
        """All metrics, summed over the slots."""
        for family in self.families:
            yield self._counter(family) if isinstance(family, CounterFamily) else self._histogram(family)

    def _counter(self, family: CounterFamily) -> Metric:
        metric = CounterMetricFamily(family.name, family.text, labels=[family.label] if family.label else ())
        for value in family.values:
            metric.add_metric([value] if family.label else [], self._sum(self._at[family.name, value]))
        return metric

    def _histogram(self, family: HistogramFamily) -> Metric:
        metric = HistogramMetricFamily(family.name, family.text, labels=[family.label])
        for value in family.values:
            start, count = self._at[family.name, value], len(family.bounds)
            upto = accumulate(self._sum(start + bucket) for bucket in range(count + 1))
            bounds = [*(f"{bound:g}" for bound in family.bounds), "+Inf"]
            metric.add_metric(
                [value], list(zip(bounds, upto, strict=True)), sum_value=self._sum(start + count + 1)
            )
        return metric

    def _family(self, name: str) -> CounterFamily | HistogramFamily:
        return next(family for family in self.families if family.name == name)

    def _cell(self, name: str, value: str) -> int:
        column = self._at.get((name, value))
        if column is None:
            column = self._at[name, self._family(name).values[-1]]
        return self._row * self._width + column

    def _sum(self, column: int) -> float:
        return float(sum(self._cells[row * self._width + column] for row in range(self.slots)))
