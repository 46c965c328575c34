"""The data behind an answer: samples, visits, coverage and totals."""

from typing import Literal

from pydantic import Field

from services.api.answer import Answer, Json
from services.api.profiles.estimates import IntervalAnswer, as_seconds, interval_document
from storage.query.selections.times import format_time
from storage.query.shapes.totals import Totals


class SpanAnswer(Answer):
    """A stretch of time."""

    begin: str = Field(description="RFC 3339, UTC.", examples=["2026-11-01T00:00:00Z"])
    end: str = Field(description="Likewise; not part of it.", examples=["2026-11-10T00:00:00Z"])


class TotalsAnswer(Answer):
    """What stands behind an answer, after all filters."""

    samples: int = Field(description="Samples taken.")
    units: int = Field(
        description="Samples weighted with the units each stands for; table and flame graph add up to it."
    )
    seconds: float | None = Field(
        description="The same in CPU core-seconds, as observed; null for events not counted in time."
    )
    machines: int | None = Field(
        description="Machines with at least one of the samples; null where merged cells do not know, like visits."
    )
    visits: int | None = Field(description="Visits with at least one of the samples.")
    profiles: int = Field(description="Process groups with at least one of the samples.")
    kept: float = Field(
        description="Estimated share of what the labels choose that is left; 1 if nothing was asked of frames.",
        ge=0,
        le=1,
    )
    symbolized: float = Field(description="Share whose every function has a name.", ge=0, le=1)
    leaf_symbolized: float = Field(description="Share whose innermost function has a name.", ge=0, le=1)
    complete: float = Field(description="Share whose stack reaches the thread's start.", ge=0, le=1)
    design: Literal["random", "none"] = Field(
        description="random: visits were drawn at random, so every figure is an estimate of the fleet with an "
        "interval; none: observations only (a campaign of visits by hand)."
    )
    path: Literal["cells", "chunks", "mixed"] = Field(
        description="What was read: merged cells, every visit's own chunks, or both. Figures are the same."
    )
    approximate: bool = Field(
        description="The selection holds more than is read for one answer: a random part of its visits was, which "
        "stands for all of them. Observed figures are that part's."
    )
    asked_seconds: float = Field(description="Length of the selection.")
    covered_seconds: float = Field(
        description="Of those, the time that the campaign's rounds drew visits of."
    )
    missing: list[SpanAnswer] = Field(
        description="Parts of the selection of which nothing is kept: they are older than PostgreSQL keeps, and the lake "
        "(`FLEETPROF_LAKE_URL`) is not set or lacks their days. They are not covered."
    )
    weighed_seconds: float = Field(
        description="Of those, seconds of the UTC days with ingested visits: what estimates are of, and what core-seconds "
        "are divided by to be cores."
    )
    population: float = Field(
        description="Machines the campaign draws from, a mean over the covered seconds."
    )
    uncovered_share: float = Field(
        description="Share of the covered machine-time on days without an ingested visit.", ge=0, le=1
    )
    visits_drawn: int = Field(description="Visits drawn in the selection's time, whatever came of them.")
    visits_ingested: int = Field(
        description="Of those, ingested and having watched the event, idle machines too."
    )
    visits_waiting: int = Field(
        description="Of the visits drawn, those that have not come to an end: under way, or archived and not ingested yet. Estimates "
        "are of what ingested, which stands for them."
    )
    core_seconds: IntervalAnswer | None = Field(
        description="CPU time of the whole fleet in the weighed time; null without a random design, or for events "
        "not counted in time."
    )
    cores: IntervalAnswer | None = Field(
        description="The same as cores busy on average in the weighed time; null also if that is 0."
    )
    estimate: IntervalAnswer | None = Field(
        description="The whole fleet's units of the event in the weighed time, for a gauge its mean level. Of what no visit saw "
        "it is 0, at most hi; null, like cores, without a random design and where nothing ingested of the event."
    )


def totals_document(totals: Totals, scale: float | None) -> Json:
    """The totals of an answer; `scale` is the core-seconds of a unit, None: the event is not counted in time."""
    coverage = totals.coverage
    return {
        "samples": totals.samples,
        "units": totals.units,
        "seconds": as_seconds(totals.units, scale),
        "machines": totals.machines,
        "visits": totals.visits,
        "profiles": totals.profiles,
        "kept": totals.kept,
        "symbolized": totals.symbolized,
        "leaf_symbolized": totals.leaf_symbolized,
        "complete": totals.complete,
        "design": "random" if coverage.random else "none",
        "path": totals.path,
        "approximate": coverage.approximate,
        "asked_seconds": coverage.asked_s,
        "covered_seconds": coverage.covered_s,
        "missing": [
            {"begin": format_time(begin), "end": format_time(end)} for begin, end in coverage.missing
        ],
        "weighed_seconds": coverage.weighed_s,
        "population": coverage.population,
        "uncovered_share": coverage.uncovered,
        "visits_drawn": coverage.drawn,
        "visits_ingested": coverage.ingested,
        "visits_waiting": coverage.waiting,
        "core_seconds": interval_document(totals.estimate, scale),
        "cores": interval_document(
            totals.estimate, scale and coverage.weighed_s and scale / coverage.weighed_s
        ),
        "estimate": interval_document(totals.estimate, 1.0),
    }
