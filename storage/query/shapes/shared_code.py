"""Code that is cold in each program and hot across the fleet, and its cost (DIGEST G23).

A function, file or binary is cold in an application unless its share there is above a threshold with confidence: an
application with one of three samples in `malloc` need not spend a third of its time there. So the lower end of the
share's binomial interval is compared with the threshold. Samples are taken as independent.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from analysis import estimate
from storage.arrays import Bool, Float, Int64, distinct, sum_at, weight_at
from storage.errors import BadSelection
from storage.ingest.marker_frames import Kind
from storage.query.answers.answer import extended
from storage.query.answers.figures import Interval, in_units
from storage.query.answers.shared_code import Cost, SharedCodeAnswer, SharedRow
from storage.query.estimation.visit_evidence import Visits
from storage.query.facts.selection_echo import selection_echo
from storage.query.reading import Reading
from storage.query.samples import Samples
from storage.query.selections.matchers import APPLICATION
from storage.query.selections.selection import Selection
from storage.query.shapes.cost import HOUR_S, YEAR_H, mean_price
from storage.query.shapes.table import grouped, shown_rows
from storage.query.shapes.table_frames import FrameGroup, frame_rows
from storage.query.shapes.table_rows import Grouping
from storage.query.shapes.totals import totals
from storage.query.stacks.function_names import Functions
from storage.snapshots import query_budget

MOST_ROWS = 1000
_NOT_KNOWN = 0
"""Number of the empty file and binary in `Functions`."""
FRAMES = ("function", "file", "binary")


@dataclass(frozen=True, slots=True)
class SharedCodeQuestion:
    """The code of the selection that at least `applications` applications share and that is cold in each of them."""

    selection: Selection
    by: str = "function"
    """One of `FRAMES`."""
    own: bool = True
    """Use shares of self; else of totals."""
    cold: float = 0.05
    """Largest share in an application, 0…1."""
    applications: int = 2
    limit: int = 100
    saving: float = 0.1
    """Part of the cost that counts as saved, 0…1."""
    price_per_core_hour: float | None = None

    def answer(self, reading: Reading) -> SharedCodeAnswer:
        """The shared code. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        if self.by not in FRAMES:
            raise BadSelection(
                f"Unknown grouping {self.by!r}: shared code is grouped by function, file or binary.",
                parameter="by",
            )
        samples = reading.visits(self.selection, (APPLICATION,))
        grouping = grouped(reading, samples.profiles, (APPLICATION,))
        uses = _uses(reading, samples, grouping, self)
        chosen, weight = _chosen(uses, self)
        whole = samples.whole
        shares = weight / whole if whole > 0 else np.zeros(len(chosen))
        behind = totals(reading.functions, samples)
        price = mean_price(reading, self.selection, self.price_per_core_hour)
        return SharedCodeAnswer(
            selection=selection_echo(self.selection, samples.kind),
            totals=behind,
            by=(self.by,),
            rows=_rows(reading, samples, uses, chosen[: self.limit], self, (behind.estimated_seconds, price)),
            rows_total=len(chosen),
            share=min(float(shares.sum()) if self.own else float(shares.max(initial=0.0)), 1.0),
            applications=len(np.unique(grouping.of[samples.facts.profile])),
            saving=self.saving,
            price_per_core_hour=price,
        )


@dataclass(frozen=True, slots=True)
class Uses:
    """Columns over pairs of an application and a function (file, binary)."""

    names: tuple[str, ...]
    """Names of all applications."""
    application: Int64
    key: Int64
    weight: Float
    """Units of the fleet."""
    share: Float
    """Share of the application, 0…1."""
    samples: Int64
    """Samples of the application that the share was computed from."""

    def of(self, keep: Bool | Int64) -> "Uses":
        """Some of the pairs."""
        return Uses(
            self.names,
            self.application[keep],
            self.key[keep],
            self.weight[keep],
            self.share[keep],
            self.samples[keep],
        )

    def lower(self) -> Float:
        """The lower ends of the shares' intervals."""
        return estimate.share_interval(self.share, np.maximum(self.samples, 1.0))[0]


def _chosen(uses: Uses, question: SharedCodeQuestion) -> tuple[Int64, Float]:
    """The keys of shared and cold code and the units of the fleet in it, the largest first."""
    keys, of_key = distinct(uses.key)
    cold = np.ones(len(keys), np.bool_)
    above = uses.share > question.cold
    warm = uses.of(above)
    cold[of_key[above][warm.lower() > question.cold]] = False
    spread = np.bincount(of_key, minlength=len(keys))
    weight = weight_at(of_key, uses.weight, len(keys))
    chosen = np.flatnonzero(cold & (spread >= question.applications) & (weight > 0))
    chosen = chosen[np.argsort(-weight[chosen], kind="stable")]
    return keys[chosen], weight[chosen]


def _uses(reading: Reading, samples: Samples, grouping: Grouping, question: SharedCodeQuestion) -> Uses:
    size = len(grouping.labels)
    whole, taken = application_wholes(samples, grouping)
    parts: list[tuple[Int64, Int64, Float]] = []
    for number, part in enumerate(samples.in_groups(grouping.of, size)):
        if not len(part.facts.profile):
            continue
        group = FrameGroup(reading.functions, part, {}, (question.by,))
        weight, units = (group.own_weight, group.own) if question.own else (group.total_weight, group.total)
        used = np.flatnonzero(units)
        parts.append((np.full(len(used), number, np.int64), group.keys[used], weight[used]))
    empty = np.zeros(0, np.int64)
    application = np.concatenate([empty, *(part[0] for part in parts)])
    key = np.concatenate([empty, *(part[1] for part in parts)])
    weight = np.concatenate([np.zeros(0), *(part[2] for part in parts)])
    of_whole = whole[application]
    share = np.divide(weight, of_whole, out=np.zeros(len(weight)), where=of_whole > 0)
    names = tuple(labels[APPLICATION] for labels in grouping.labels)
    found = Uses(names, application, key, weight, np.minimum(share, 1.0), taken[application])
    return found.of(_is_code(reading.functions, key, question.by))


def _is_code(functions: Functions, key: Int64, by: str) -> Bool:
    """Marks keys that are code: neither markers of missing frames nor unknown files and binaries."""
    found: Bool = functions.kind(key) != Kind.MARKER if by == "function" else key != _NOT_KNOWN
    return found


def application_wholes(samples: Samples, grouping: Grouping) -> tuple[Float, Int64]:
    """All units of the fleet and all samples by group, with those that the selection's stack filters drop."""
    profiles, evidence, size = samples.profiles, samples.evidence, len(grouping.labels)
    if not isinstance(evidence, Visits):
        raise TypeError("groups need the samples by visit")
    weights = weight_at(grouping.of, profiles.units * evidence.weight[profiles.visit], size)
    return weights, sum_at(grouping.of, profiles.samples, size)


def _by_key(uses: Uses, keys: Int64) -> Iterator[Uses]:
    """The pairs of each of these keys; sorted once, since there may be a million pairs."""
    order = np.flatnonzero(np.isin(uses.key, keys))
    order = order[np.argsort(uses.key[order], kind="stable")]
    sorted_keys = uses.key[order]
    first = np.searchsorted(sorted_keys, keys)
    last = np.searchsorted(sorted_keys, keys, side="right")
    for low, high in zip(first.tolist(), last.tolist(), strict=True):
        query_budget.checkpoint()
        yield uses.of(order[low:high])


def _rows(  # noqa: PLR0917 - all that rows show
    reading: Reading,
    samples: Samples,
    uses: Uses,
    keys: Int64,
    question: SharedCodeQuestion,
    rates: tuple[float, float | None],
) -> tuple[SharedRow, ...]:
    """The rows of these keys, in their order. `rates`: estimated seconds, and the price of a core-hour."""
    estimated_s, price = rates
    together = Grouping(np.zeros(len(samples.profiles), np.int64), ({},))
    fleet = frame_rows(reading.functions, samples, together, (question.by,))
    rows = shown_rows(samples, fleet, fleet.places(keys))
    found = []
    for mine, row in zip(_by_key(uses, keys), rows, strict=True):
        lower = mine.lower()
        surest = int(np.lexsort((mine.share, lower))[-1])
        parts = mine.weight[mine.weight > 0] / mine.weight.sum()
        seconds = row.self_core_seconds if question.own else row.total_core_seconds
        found.append(
            extended(
                SharedRow,
                row,
                applications=len(mine.key),
                effective_applications=float(np.exp(-(parts * np.log(parts)).sum())),
                largest_application=uses.names[int(mine.application[surest])],
                largest_share=float(mine.share[surest]),
                largest_lo=float(lower[surest]),
                cost=_cost(seconds, estimated_s, price),
                saved=_cost(seconds and seconds.scaled(question.saving), estimated_s, price),
            )
        )
    return tuple(found)


def _cost(seconds: Interval | None, estimated_s: float, price: float | None) -> Cost:
    """The cost; members are None without an estimate in core-seconds or without a price."""
    a_year = price and estimated_s and price * YEAR_H / estimated_s
    return Cost(
        cores=in_units(seconds, estimated_s and 1 / estimated_s),
        core_hours=in_units(seconds, 1 / HOUR_S),
        money=in_units(seconds, price and price / HOUR_S),
        money_a_year=in_units(seconds, a_year),
    )
