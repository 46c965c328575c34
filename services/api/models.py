"""The answers of /api/v1 as OpenAPI describes them; the web client's types are generated from it.

Answers are built as plain dictionaries (`services.api.answers`) and not validated on the way out: a
test holds the two together.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Share = Field(ge=0, le=1)
StatusName = Literal["full", "symtab", "binary_only", "unknown"]
KindName = Literal["user", "kernel", "marker"]


class Answer(BaseModel):
    """Base of all answers: no member beyond those described."""

    model_config = ConfigDict(extra="forbid")


class ProblemDocument(Answer):
    """Why there is no answer (RFC 9457)."""

    type: str = Field(
        description="Names the problem for programs.", examples=["urn:fleetprof:problem:bad-selection"]
    )
    title: str = Field(examples=["Bad Request"])
    status: int = Field(examples=[400])
    detail: str = Field(
        description="What is wrong, a sentence.",
        examples=["Expected a closing brace at character 5, found the end."],
    )
    hint: str = Field(description="What to change; may be empty.")
    request_id: str = Field(description="Stands in the server's log, too.", examples=["9f86d081884c"])
    at: int | None = Field(
        default=None, description="Position of the mistake in `select`, from 0; only for those."
    )


class SelectionEcho(Answer):
    """What was asked, with every default and relative time filled in."""

    event: str = Field(examples=["cpu"])
    unit: str = Field(description="What a sample's value is counted in.", examples=["nanoseconds"])
    start: str = Field(
        alias="from", description="RFC 3339, UTC; inclusive.", examples=["2026-11-21T04:00:00Z"]
    )
    to: str = Field(description="RFC 3339, UTC; exclusive.", examples=["2026-11-21T05:00:00Z"])
    select: str = Field(description="The label matchers.", examples=['{application="nginx"}'])
    campaign: str = Field(examples=["fleet"])
    focus: str = Field(description="Empty: not asked for.")
    ignore: str = Field(description="Empty: not asked for.")


class IntervalAnswer(Answer):
    """An estimate for the fleet with its 95 % interval."""

    value: float
    lo: float
    hi: float


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
        description="Estimated share of the selection that focus and ignore left; 1 without them.", ge=0, le=1
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
        description="Of those, the hours in which the campaign drew visits; estimates speak of them only."
    )
    population: float = Field(
        description="Machines the campaign draws from, a mean over the covered seconds."
    )
    uncovered_share: float = Field(
        description="Share of the covered machine-time in strata and days without a landed visit.", ge=0, le=1
    )
    visits_drawn: int = Field(description="Visits drawn in the selection's time, whatever came of them.")
    visits_landed: int = Field(
        description="Of those, landed and having watched the event, idle machines too."
    )
    core_seconds: IntervalAnswer | None = Field(
        description="CPU time of the whole fleet in the covered time; null without a random design, or for events "
        "not counted in time."
    )
    cores: IntervalAnswer | None = Field(description="The same as cores busy on average.")
    estimate: IntervalAnswer | None = Field(
        description="The whole fleet's units of the event in the covered time, for a gauge its mean level; null "
        "without a random design."
    )


class TableRow(Answer):
    """One row; a sample counts once in a row's total, recursion or not."""

    key: dict[str, str] = Field(
        description="One member for each key of `by`; with function also file, binary, status and kind. "
        "The empty text: the profile has no such label.",
        examples=[
            {
                "function": "malloc",
                "file": "malloc.c",
                "binary": "libc.so.6",
                "status": "full",
                "kind": "user",
            }
        ],
    )
    function_id: int | None = Field(description="Null unless the table goes by function.")
    self: int = Field(description="Units of the samples whose innermost function is in this row.")
    total: int = Field(
        description="Units of the samples with a function of this row anywhere in their stack."
    )
    self_samples: int | None = Field(description="Null where merged cells do not know, like total_samples.")
    total_samples: int | None
    self_seconds: float | None = Field(
        description="As observed; null for events not counted in time, like total_seconds."
    )
    total_seconds: float | None
    self_share: float = Field(
        description="Estimated share of the whole selection, before focus and ignore; without a random design the "
        "share observed. Likewise total_share.",
        ge=0,
        le=1,
    )
    self_lo: float | None = Field(
        description="95 % interval of the share; null without a random design, like all intervals.",
        ge=0,
        le=1,
    )
    self_hi: float | None = Field(ge=0, le=1)
    total_share: float = Share
    total_lo: float | None = Field(ge=0, le=1)
    total_hi: float | None = Field(ge=0, le=1)
    self_core_seconds: IntervalAnswer | None = Field(
        description="CPU time of the whole fleet in the covered time; null for events not counted in time, like "
        "total_core_seconds."
    )
    total_core_seconds: IntervalAnswer | None
    few: bool = Field(
        description="Too few visits contribute for a narrow interval to be honest: this one was widened."
    )
    visits: int | None = Field(description="Visits with a sample in the row's total.")
    machines: int | None = Field(
        description="Machines with a sample in the row's total; null where merged cells do not know."
    )


class Remainder(Answer):
    """All rows of the selection that are not shown, so that what is shown and this add up to the whole."""

    rows: int
    self: int = Field(description="Units.")
    self_seconds: float | None
    self_share: float = Field(description="Estimated, like those of the rows.", ge=0, le=1)


class TableAnswer(Answer):
    """The samples of a selection, grouped."""

    selection: SelectionEcho
    totals: TotalsAnswer
    by: list[str]
    rows: list[TableRow]
    rows_total: int = Field(description="Rows that match `find`; all rows without it.")
    remainder: Remainder


class FlameFunction(Answer):
    """A function that nodes of the flame graph refer to."""

    id: int = Field(description="0: the root, which stands for all samples.")
    name: str
    file: str = Field(description="Empty: not known.")
    binary: str
    status: StatusName
    kind: KindName = Field(description="marker: no code; it says what is missing from the stack there.")
    effective: float | None = Field(
        description="How many independent samples the function's share is worth. Its nodes borrow that for their "
        "intervals: the design effect is the function's. Null for the root, light functions, and without a "
        "random design."
    )


class Pruned(Answer):
    """What was cut off the flame graph."""

    nodes: int
    share: float = Field(description="Share of all units that is self of a node cut off.", ge=0, le=1)


class FlameNodes(Answer):
    """Columns over the nodes, in depth-first preorder, children by descending total; node 0 is the root."""

    total: list[float] = Field(
        description="Estimated core-seconds of the fleet, units for events not counted in time; without a random "
        "design what was observed."
    )
    self: list[float] = Field(description="Likewise. Total − self − children's totals was cut off.")
    parent: list[int] = Field(description="-1 for the root.")
    function: list[int] = Field(description="Index into `functions`.")


class FlameSummary(Answer):
    """The JSON part of a flame graph."""

    selection: SelectionEcho
    totals: TotalsAnswer
    functions: list[FlameFunction]
    pruned: Pruned


class FlameAnswer(FlameSummary):
    """The samples of a selection as a tree of calls."""

    nodes: FlameNodes


class DiffRow(Answer):
    """One row of both selections; null evidence: one of them is no random sample."""

    key: dict[str, str] = Field(description="As in /table.")
    function_id: int | None = Field(description="Null unless the rows are functions.")
    a_share: float = Field(description="Estimated share of the selection.", ge=0, le=1)
    b_share: float = Field(description="Estimated share of its base.", ge=0, le=1)
    delta: float = Field(description="a_share - b_share: positive is heavier now.", ge=-1, le=1)
    lo: float | None = Field(description="95 % interval of delta.", ge=-1, le=1)
    hi: float | None = Field(ge=-1, le=1)
    p: float | None = Field(
        description="How often chance among visits alone makes a difference as large: visits shuffled within strata.",
        ge=0,
        le=1,
    )
    q: float | None = Field(
        description="Smallest rate of false discoveries at which the row is significant (Benjamini and Hochberg).",
        ge=0,
        le=1,
    )
    significant: bool = Field(description="q ≤ 0.05: of rows called so at most 5 % are chance, on average.")
    few: bool = Field(description="Too few visits contribute on one side for a narrow interval to be honest.")


class Power(Answer):
    """What the visits are enough for."""

    factor: float = Field(description="A row became so many times as large …")
    share: float = Field(description="… from this share …", ge=0, le=1)
    power: float = Field(description="… and is called significant with this probability.", ge=0, le=1)


class DiffAnswer(Answer):
    """Two selections compared row by row."""

    selection: SelectionEcho
    base: SelectionEcho
    totals: TotalsAnswer
    base_totals: TotalsAnswer
    by: list[str]
    rows: list[DiffRow] = Field(description="The heaviest of either, by descending difference.")
    rows_total: int = Field(description="Rows that either has.")
    power: Power | None = Field(description="Null without a random design.")
    part: float = Field(
        description="Share of the visits that p-values and power are of: a random part where shuffling all of them "
        "would take too long. Shares and intervals are of all.",
        ge=0,
        le=1,
    )


class FitPoint(Answer):
    """Random subsets of the visits."""

    samples: float = Field(description="Samples they have on average.")
    distance: float = Field(description="Their mean Manhattan distance from the whole, 0…2.")


class Fit(Answer):
    """How a profile converges: distance = constant / √samples."""

    constant: IntervalAnswer
    exponent: float = Field(description="Slope when it is fitted too: near -0.5 where the law holds.")
    samples_per_visit: float = Field(description="Mean over `visits`.")
    visits: int = Field(
        description="Visits with a sample of a row: what the fit is of. `totals.visits_landed` also counts those "
        "that watched and saw nothing of the selection."
    )
    points: list[FitPoint]


class ReliabilityAnswer(Answer):
    """How far a profile can be trusted as a whole, over the self shares of its rows."""

    selection: SelectionEcho
    totals: TotalsAnswer
    by: list[str]
    rows_total: int
    entropy: IntervalAnswer | None = Field(
        description="In nats: the same between representative profiles. Null like the next ones: too few visits, "
        "or no random design."
    )
    manhattan: IntervalAnswer | None = Field(
        description="Distance of two random halves of the visits, 0…2, and where 95 % of splits lie."
    )
    fit: Fit | None = Field(description="Null where fewer than 8 visits have a sample of a row.")


class LabelValue(Answer):
    """A value of a label."""

    value: str = Field(description="The empty text: the profile has no such label.")
    seconds: float | None = Field(description="As observed; null for events not counted in time.")
    share: float = Field(description="Estimated, of the selection.", ge=0, le=1)


class LabelAnswer(Answer):
    """A label that some profile of the selection has."""

    name: str = Field(examples=["application"])
    values: list[LabelValue] = Field(description="By descending share.")
    more: int = Field(description="Values beyond `limit`.")


class LabelsAnswer(Answer):
    """The labels of a selection."""

    selection: SelectionEcho
    labels: list[LabelAnswer]


class MachinesStatus(Answer):
    """The inventory."""

    enabled: int
    total: int


class CampaignStatus(Answer):
    """A campaign."""

    name: str
    state: Literal["running", "paused", "stopped"]
    why: str = Field(description="Why it is in that state, a sentence; may be empty.")
    since: str
    period_s: float = Field(description="Length of a round.")
    last_round: int = Field(description="Number of the last round drawn; -1 before the first.")
    drawn_share: float = Field(
        description="Part of its planned visits that is drawn now: less than 1 while captures wait too long to be landed."
    )


class VisitsStatus(Answer):
    """Outcomes of visits."""

    last_hour: dict[str, int] = Field(
        description="Visits by outcome.", examples=[{"answered": 58, "unreachable": 2}]
    )


class CapturesStatus(Answer):
    """What has been brought back and not landed."""

    waiting: int = Field(description="To be landed for the first time.")
    oldest_waiting_s: float | None = Field(description="Null: nothing waits.")
    again: int = Field(description="Landed already, and to be landed once more with better symbols.")
    set_aside: int = Field(description="Failed too often to be tried again.")


class EventStatus(Answer):
    """Something that has been sampled."""

    event: str
    unit: str


class MissingSymbols(Answer):
    """A binary whose code ran without names."""

    binary: str
    path: str
    reason: str = Field(description="Why there are none, a sentence; may be empty.")
    share: float = Field(
        description="Share of the last day's samples with a nameless frame there.", ge=0, le=1
    )


class SymbolsStatus(Answer):
    """What could not be named."""

    missing: list[MissingSymbols]


class StatusAnswer(Answer):
    """How the fleet is covered, and what is wrong."""

    now: str
    machines: MachinesStatus
    campaigns: list[CampaignStatus]
    visits: VisitsStatus
    captures: CapturesStatus
    events: list[EventStatus]
    price_per_core_hour: float | None = Field(
        description="FLEETPROF_PRICE_PER_CORE_HOUR, to show core-seconds as money; null: not set."
    )
    latest: str | None = Field(description="Draw of the newest visit that has landed; null before the first.")
    symbols: SymbolsStatus
