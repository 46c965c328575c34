"""What the query engine answers of a snapshot, beside what the ingested captures add up to."""

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Engine

from storage.errors import BadSelection
from storage.query.access_path import Costs, Planner
from storage.query.answers.totals import Totals
from storage.query.query_engine import QueryEngine
from storage.query.selections.grammar import parse_matchers
from storage.query.selections.selection import Selection
from storage.query.shapes.flame import FlameTreeQuestion
from storage.query.shapes.row_order import Page
from storage.query.shapes.table import TableQuestion
from tests.access_paths import BY_CELLS
from tests.integration.exactly_once.made import Names, pattern, plain
from tests.integration.exactly_once.truth import Checked, Ingested
from tests.integration.exactly_once.world import CAMPAIGNS, CLOSED, MIDNIGHT, NOON, OLD

_ALL = Page(limit=10_000)
_PLANNERS = (BY_CELLS, Planner(costs=Costs(stacks=8, stacks_of_all=4)))
_DAY = timedelta(days=1)


def _midnight(moment: datetime) -> datetime:
    return datetime(moment.year, moment.month, moment.day, tzinfo=UTC)


WINDOWS = (
    (_midnight(OLD[0]), _midnight(NOON) + _DAY),
    (_midnight(CLOSED), _midnight(CLOSED) + 2 * _DAY),
    (_midnight(MIDNIGHT), _midnight(MIDNIGHT) + _DAY),
    (_midnight(NOON), _midnight(NOON) + _DAY),
    (MIDNIGHT - timedelta(hours=1), NOON + timedelta(minutes=30)),
    (CLOSED + timedelta(minutes=1), NOON),
)
"""Whole days, several days, and stretches that begin within an hour."""
SELECTS = (
    "{}",
    '{application="web"}',
    '{application="web",version="v2"}',
    '{machine="m1"}',
    '{application!="search"}',
)


@dataclass
class Sums:
    """What a selection adds up to, by loops."""

    units: int = 0
    samples: int = 0
    visits: set[UUID] = field(default_factory=set)
    machines: set[str] = field(default_factory=set)
    own: Counter[str] = field(default_factory=Counter)
    total: Counter[str] = field(default_factory=Counter)
    applications: Counter[str] = field(default_factory=Counter)


def add_up(ingested: Iterable[Ingested], selection: Selection) -> Sums:
    """The sums of a selection over the ingested captures."""
    chosen = [
        fact
        for one in ingested
        if one.visit.campaign == selection.campaign and selection.start <= one.visit.drawn_at < selection.end
        for fact in _facts(one, selection)
    ]
    # Profiles with stacks where there are any: flat ones among them would all be roots.
    with_stacks = any(stacks for *_, stacks in chosen)
    sums = Sums()
    for one, application, names, samples, period, stacks in chosen:
        if stacks is not with_stacks:
            continue
        units = samples * period
        sums.units += units
        sums.samples += samples
        sums.visits.add(one.visit.visit_id)
        sums.machines.add(one.visit.machine)
        sums.own[names[-1]] += units
        for name in set(names):
            sums.total[name] += units
        sums.applications[application] += units
    return sums


def _facts(one: Ingested, selection: Selection) -> Iterable[tuple[Ingested, str, Names, int, int, bool]]:
    segments = pattern(one.visit.seed, better=False).segments
    for (number, application, version, names), samples in one.facts.items():
        segment = segments[number]
        labels = {"application": application, "version": version, "machine": one.visit.machine}
        if segment.event == selection.event and _matches(selection, labels):
            yield one, application, names, samples, segment.period, segment.stacks


def _matches(selection: Selection, labels: Mapping[str, str]) -> bool:
    return all(
        (labels[matcher.label] == matcher.value) is not matcher.operator.negative
        for matcher in selection.matchers
    )


class Answers:
    """A query engine that lives as long as a reader does, and is asked about given snapshots."""

    def __init__(self, engine: Engine) -> None:
        self.asked = 0
        self.paths: Counter[str] = Counter()
        self._query = QueryEngine(engine)
        self._snapshot = ""
        engine.dialect.do_begin = self._join  # type: ignore[method-assign,assignment]  # before a transaction's first statement

    def _join(self, connection: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"SET TRANSACTION SNAPSHOT '{self._snapshot}'")

    def wrong(self, snapshot: str, checked: Checked, rng: random.Random, questions: int) -> list[str]:
        """Ask about the snapshot of this name; the fleet's totals, then others at random."""
        self._snapshot = snapshot
        wrong = []
        for n in range(questions):
            start, end = WINDOWS[0] if n == 0 else rng.choice(WINDOWS)
            selection = Selection(
                start=start,
                end=end,
                event="cpu" if n == 0 else rng.choice(("cpu", "cpu", "cpu", "page-faults")),
                campaign=CAMPAIGNS[0] if n == 0 else rng.choice(CAMPAIGNS),
                matchers=parse_matchers("{}" if n == 0 else rng.choice(SELECTS)),
            )
            self.asked += 1
            # Few visits are read one by one unless cells are asked for; here either answers.
            self._query.planner = rng.choice(_PLANNERS)
            wrong += [
                f"{_told(selection)}: {difference}" for difference in self._differences(selection, checked)
            ]
        return wrong

    def _differences(self, selection: Selection, checked: Checked) -> Iterable[str]:
        kept = add_up(checked.ingested.values(), selection)
        ever = add_up([*checked.ingested.values(), *checked.dropped.values()], selection)
        try:
            by_function = self._query.ask(TableQuestion(selection, ("function",), _ALL))
            by_application = self._query.ask(TableQuestion(selection, ("application",), _ALL))
            flame = self._query.ask(FlameTreeQuestion(selection, 100_000))
        except BadSelection:
            if kept.units:  # an event is unknown until its first capture is ingested
                raise
            return
        for name, answer in (("functions", by_function), ("applications", by_application), ("flame", flame)):
            self.paths[answer.totals.path] += 1
            expected = kept if answer.totals.path == "chunks" else ever  # cells live longer than facts
            for what in _totals(answer.totals, expected):
                yield f"{name} from {answer.totals.path}: {what}"
        expected = kept if by_function.totals.path == "chunks" else ever
        rows = by_function.rows
        own, total = Counter[str](), Counter[str]()
        for row in rows:
            own[plain(row.key["function"])] += row.self
            total[plain(row.key["function"])] += row.total
        yield from _compare("functions", len(rows), len({row.key["function"] for row in rows}))
        yield from _compare("self", +own, +expected.own)
        yield from _compare("total", total, expected.total)
        expected = kept if by_application.totals.path == "chunks" else ever
        applications = {row.key["application"]: row.total for row in by_application.rows}
        yield from _compare("applications", applications, dict(expected.applications))


def _totals(found: Totals, expected: Sums) -> Iterable[str]:
    yield from _compare("units", found.units, expected.units)
    yield from _compare("samples", found.samples, expected.samples)
    if found.path == "chunks":  # cells count machines by a sketch, and a visit in each of its parts
        yield from _compare("visits", found.visits, len(expected.visits))
        yield from _compare("machines", found.machines, len(expected.machines))


def _compare(what: str, found: object, expected: object) -> Iterable[str]:
    if found != expected:
        if isinstance(found, dict) and isinstance(expected, dict):
            keys = [key for key in found.keys() | expected.keys() if found.get(key) != expected.get(key)]
            found, expected = ({key: side.get(key) for key in keys[:3]} for side in (found, expected))
        yield f"{what} {found}, {expected} expected"


def _told(selection: Selection) -> str:
    return (
        f"{selection.campaign} {selection.event} {selection.select}"
        f" {selection.start:%m-%dT%H:%M} to {selection.end:%m-%dT%H:%M}"
    )
