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
    end: str = Field(description="RFC 3339, UTC; exclusive.", examples=["2026-11-10T00:00:00Z"])


class TotalsAnswer(Answer):
    """The samples and visits of an answer, after all filters."""

    samples: int = Field(description="Samples taken.")
    units: int = Field(
        description="Sum of the units that each sample stands for. Table and flame graph add up to it."
    )
    seconds: float | None = Field(
        description="The units in core-seconds, as observed. Null for events not counted in time."
    )
    machines: int | None = Field(
        description="Machines with at least one of the samples. Null if merged cells were read, which do not count "
        "machines; likewise visits."
    )
    visits: int | None = Field(description="Visits with at least one of the samples.")
    profiles: int = Field(description="Process groups with at least one of the samples.")
    kept: float = Field(
        description="Estimated share of the label matchers' samples that remains after filters on frames. 1 without "
        "such filters.",
        ge=0,
        le=1,
    )
    symbolized: float = Field(description="Share of the samples with a name for every function.", ge=0, le=1)
    leaf_symbolized: float = Field(
        description="Share of the samples with a name for the innermost function.", ge=0, le=1
    )
    complete: float = Field(
        description="Share of the samples whose stack reaches the thread's start.", ge=0, le=1
    )
    design: Literal["random", "none"] = Field(
        description="random: visits were drawn at random, so each figure is an estimate of the fleet with an interval; "
        "none: observations only (a campaign of visits by hand)."
    )
    path: Literal["cells", "chunks", "mixed"] = Field(
        description="Source of the figures: merged cells, chunks of each visit, or both. The figures are the same."
    )
    approximate: bool = Field(
        description="The selection exceeds the read limit of one response. A random part of its visits was read and "
        "represents all of them. Observed figures are those of the part."
    )
    asked_seconds: float = Field(description="Length of the selection.")
    covered_seconds: float = Field(
        description="Seconds of the selection in which the campaign's rounds drew visits."
    )
    missing: list[SpanAnswer] = Field(
        description="Parts of the selection without data: they are older than PostgreSQL's retention, and the lake "
        "(`FLEETPROF_LAKE_URL`) is not set or lacks their days. They are not covered."
    )
    weighed_seconds: float = Field(
        description="Covered seconds on UTC days with ingested visits. Estimates are for this time, and core-seconds "
        "divided by it are cores."
    )
    population: float = Field(
        description="Machines that the campaign draws from, as a mean over the covered seconds."
    )
    uncovered_share: float = Field(
        description="Share of the covered machine-time on days without an ingested visit.", ge=0, le=1
    )
    visits_drawn: int = Field(description="Visits drawn in the selection's time, with any outcome.")
    visits_ingested: int = Field(
        description="Drawn visits that are ingested and watched the event, including visits of idle machines."
    )
    visits_waiting: int = Field(
        description="Drawn visits without an outcome yet: under way, or archived and not ingested. Estimates use the "
        "ingested visits, which represent the others."
    )
    core_seconds: IntervalAnswer | None = Field(
        description="CPU time of the whole fleet in `weighed_seconds`. Null without a random design, or for events not "
        "counted in time."
    )
    cores: IntervalAnswer | None = Field(
        description="Mean number of busy cores in `weighed_seconds`. Null also if that is 0."
    )
    estimate: IntervalAnswer | None = Field(
        description="The whole fleet's units of the event in `weighed_seconds`; for a gauge its mean level. It is 0, at "
        "most hi, if no visit saw any of it. Null, like cores, without a random design, and if no ingested "
        "visit watched the event."
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
