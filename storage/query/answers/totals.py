"""The totals of an answer: its samples, the part of the fleet they represent, and their quality."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from storage.query.answers.answer import Answer, Share
from storage.query.answers.figures import Interval

Path = Literal["cells", "chunks", "mixed"]
"""The source of an answer: merged cells, every visit's own chunks, or both."""


@dataclass(frozen=True, slots=True)
class Span(Answer):
    """A stretch of time."""

    begin: Annotated[str, Field(description="RFC 3339, UTC.", examples=["2026-11-01T00:00:00Z"])]
    end: Annotated[str, Field(description="RFC 3339, UTC; exclusive.", examples=["2026-11-10T00:00:00Z"])]


@dataclass(frozen=True, slots=True)
class Totals(Answer):
    """The samples and visits of an answer, after all filters."""

    samples: Annotated[int, Field(description="Samples taken.")]
    units: Annotated[
        int,
        Field(
            description="Sum of the units that each sample stands for. Table and flame graph add up to it."
        ),
    ]
    seconds: Annotated[
        float | None,
        Field(description="The units in core-seconds, as observed. Null for events not counted in time."),
    ]
    machines: Annotated[
        int | None,
        Field(
            description="Machines with at least one of the samples. An estimate if merged cells were read; then null if "
            "they are too many to estimate."
        ),
    ]
    visits: Annotated[int | None, Field(description="Visits with at least one of the samples.")]
    profiles: Annotated[int, Field(description="Process groups with at least one of the samples.")]
    kept: Annotated[
        Share,
        Field(
            description="Estimated share of the label matchers' samples that remains after filters on frames. 1 "
            "without such filters."
        ),
    ]
    symbolized: Annotated[Share, Field(description="Share of the samples with a name for every function.")]
    leaf_symbolized: Annotated[
        Share, Field(description="Share of the samples with a name for the innermost function.")
    ]
    complete: Annotated[
        Share, Field(description="Share of the samples whose stack reaches the thread's start.")
    ]
    design: Annotated[
        Literal["random", "none"],
        Field(
            description="random: visits were drawn at random, so each figure is an estimate of the fleet with an "
            "interval; none: observations only (a campaign of visits by hand)."
        ),
    ]
    path: Annotated[
        Path,
        Field(
            description="Source of the figures: merged cells, chunks of each visit, or both. The figures are the same."
        ),
    ]
    approximate: Annotated[
        bool,
        Field(
            description="The selection exceeds the read limit of one response. A random part of its visits was read "
            "and represents all of them. Observed figures are those of the part."
        ),
    ]
    selected_seconds: Annotated[float, Field(description="Length of the selection.")]
    covered_seconds: Annotated[
        float, Field(description="Seconds of the selection in which the campaign's rounds drew visits.")
    ]
    missing: Annotated[
        tuple[Span, ...],
        Field(
            description="Parts of the selection without data: they are older than PostgreSQL's retention, and the "
            "lake (`FLEETPROF_LAKE_URL`) is not set or lacks their days. They are not covered."
        ),
    ]
    estimated_seconds: Annotated[
        float,
        Field(
            description="Covered seconds on UTC days with ingested visits. Estimates are for this time, and "
            "core-seconds divided by it are cores."
        ),
    ]
    population: Annotated[
        float, Field(description="Machines that the campaign draws from, as a mean over the covered seconds.")
    ]
    uncovered_share: Annotated[
        Share, Field(description="Share of the covered machine-time on days without an ingested visit.")
    ]
    visits_drawn: Annotated[int, Field(description="Visits drawn in the selection's time, with any outcome.")]
    visits_ingested: Annotated[
        int,
        Field(
            description="Drawn visits that are ingested and watched the event, including visits of idle machines."
        ),
    ]
    visits_waiting: Annotated[
        int,
        Field(
            description="Drawn visits without an outcome yet: under way, or archived and not ingested. Estimates use "
            "the ingested visits, which represent the others."
        ),
    ]
    core_seconds: Annotated[
        Interval | None,
        Field(
            description="CPU time of the whole fleet in `estimated_seconds`. Null without a random design, or for "
            "events not counted in time."
        ),
    ]
    cores: Annotated[
        Interval | None,
        Field(description="Mean number of busy cores in `estimated_seconds`. Null also if that is 0."),
    ]
    estimate: Annotated[
        Interval | None,
        Field(
            description="The whole fleet's units of the event in `estimated_seconds`; for a gauge its mean level. It is "
            "0, at most hi, if no visit saw any of it. Null, like cores, without a random design, and if no "
            "ingested visit watched the event."
        ),
    ]
