"""Rows of two selections in answers."""

from pydantic import Field

from services.api.answer import Answer, Json
from services.api.profiles.estimates import IntervalAnswer, interval_document
from storage.query.shapes.diff import DiffRow as FoundRow


class DiffRow(Answer):
    """One row of both selections; null evidence: one of them is no random sample."""

    key: dict[str, str] = Field(description="As in /table.")
    function_id: int | None = Field(description="Null unless the rows are functions.")
    a_share: float = Field(description="Estimated share of the selection.", ge=0, le=1)
    b_share: float = Field(description="Estimated share of its base.", ge=0, le=1)
    delta: float = Field(description="a_share - b_share. Positive: heavier in the selection.", ge=-1, le=1)
    lo: float | None = Field(
        description="Interval of delta at `interval_level`. It excludes 0 exactly if the row is significant.",
        ge=-1,
        le=1,
    )
    hi: float | None = Field(ge=-1, le=1)
    p: float | None = Field(
        description="Probability that chance among visits alone causes a difference as large: visits are shuffled "
        "within strata.",
        ge=0,
        le=1,
    )
    q: float | None = Field(
        description="Smallest false discovery rate at which the row is significant (Benjamini and Hochberg).",
        ge=0,
        le=1,
    )
    significant: bool = Field(
        description="The interval excludes 0 (q ≤ 0.05). On average, chance causes at most 5 % of the significant rows."
    )
    low_confidence: bool = Field(
        description="Low confidence: too few visits of one side contribute for a narrow interval."
    )
    a_cores: IntervalAnswer | None = Field(
        description="Mean number of cores busy with the row in the selection's `weighed_seconds`. Null for events not "
        "counted in time, and without a random design, like the next two fields."
    )
    b_cores: IntervalAnswer | None = Field(
        description="Mean number of cores busy with the row in the base's `weighed_seconds`."
    )
    cores: IntervalAnswer | None = Field(
        description="a_cores - b_cores with the 95 % interval of the difference. p and q are for the difference of "
        "shares."
    )


def diff_row_document(row: FoundRow, scale: float | None) -> Json:
    """One row of two selections."""
    evidence, levels = row.evidence, row.levels
    return {
        "key": row.key,
        "function_id": row.function_id,
        "a_share": row.a_share,
        "b_share": row.b_share,
        "delta": row.delta,
        "lo": evidence and evidence.lo,
        "hi": evidence and evidence.hi,
        "p": evidence and evidence.p,
        "q": evidence and evidence.q,
        "significant": evidence is not None and evidence.significant,
        "low_confidence": evidence is not None and evidence.low_confidence,
        "a_cores": levels and interval_document(levels.a, scale),
        "b_cores": levels and interval_document(levels.b, scale),
        "cores": levels and interval_document(levels.delta, scale),
    }
