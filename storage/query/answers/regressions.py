"""The answer of regressions: the kept results of a night."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from storage.query.answers.answer import Answer, Share
from storage.query.answers.diff import IntervalLevel
from storage.query.answers.inputs import Because
from storage.query.answers.releases import ReleaseComparison, Tested


@dataclass(frozen=True, slots=True)
class Regression(Answer):
    """One application of a night."""

    application: str
    share: Annotated[Share, Field(description="Estimated share of the fleet in the week.")]
    comparison: ReleaseComparison


@dataclass(frozen=True, slots=True)
class RegressionsAnswer(Answer):
    """The regressions of a night, computed once from the seven days up to the end of `day`."""

    day: Annotated[str | None, Field(description="UTC day, ISO 8601. Null: no night has been computed yet.")]
    computed_at: Annotated[str | None, Field(description="RFC 3339. Null: this night has no results.")]
    next_run: Annotated[
        str,
        Field(
            description="When the next night is computed, RFC 3339: two hours after the end of its UTC day, or later if "
            "captures of the day are not ingested. In the past: it is due."
        ),
    ]
    failure: Annotated[
        str | None, Field(description="Why the last attempt to compute this night failed. Null: it did not.")
    ]
    days: Annotated[tuple[str, ...], Field(description="Days with results, the newest first.")]
    applications: Annotated[
        tuple[Regression, ...],
        Field(
            description="Applications with a significant change first, by the change of their worst function as a share of "
            "the fleet; then the others, heaviest first."
        ),
    ]
    tested: Tested
    interval_level: IntervalLevel
    because: Because
