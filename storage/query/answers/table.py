"""The answer of a table: samples grouped by any keys."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from storage.query.answers.answer import Answer, Share
from storage.query.answers.figures import Interval
from storage.query.answers.selection_echo import SelectionEcho
from storage.query.answers.totals import Totals


@dataclass(frozen=True, slots=True)
class TableRow(Answer):
    """One row; a sample counts once in a row's total, recursion or not."""

    key: Annotated[
        dict[str, str],
        Field(
            description="One member for each key of `by`. With function also file, binary, status and kind; with line also "
            "file. The empty text: the profile does not have the label. Line 0: the part of a function without "
            "a known line.",
            examples=[
                {
                    "function": "malloc",
                    "file": "malloc.c",
                    "binary": "libc.so.6",
                    "status": "full",
                    "kind": "user",
                }
            ],
        ),
    ]
    function_id: Annotated[int | None, Field(description="Null unless `by` contains function.")]
    self: Annotated[int, Field(description="Units of the samples whose innermost function is in this row.")]
    total: Annotated[
        int, Field(description="Units of the samples with a function of this row anywhere in their stack.")
    ]
    self_samples: Annotated[
        int | None,
        Field(
            description="Null if merged cells were read, which do not count samples; likewise total_samples."
        ),
    ]
    total_samples: int | None
    self_seconds: Annotated[
        float | None,
        Field(description="Observed seconds. Null for events not counted in time, like total_seconds."),
    ]
    total_seconds: float | None
    self_share: Annotated[
        Share,
        Field(
            description="Estimated share of the whole selection, before focus and ignore. Without a random design, the "
            "observed share. Likewise total_share."
        ),
    ]
    self_lo: Annotated[
        Share | None,
        Field(description="95 % interval of the share. Null without a random design, like all intervals."),
    ]
    self_hi: Share | None
    total_share: Share
    total_lo: Share | None
    total_hi: Share | None
    self_core_seconds: Annotated[
        Interval | None,
        Field(
            description="CPU time of the whole fleet in `estimated_seconds`. Null for events not counted in time, like "
            "total_core_seconds."
        ),
    ]
    total_core_seconds: Interval | None
    low_confidence: Annotated[
        bool,
        Field(
            description="Low confidence: too few visits contribute for a narrow interval, so it is widened."
        ),
    ]
    visits: Annotated[int | None, Field(description="Visits with a sample in the row's total.")]
    machines: Annotated[
        int | None,
        Field(
            description="Machines with a sample in the row's total. An estimate if merged cells were read; then null if "
            "they are too many to estimate."
        ),
    ]


@dataclass(frozen=True, slots=True)
class Remainder(Answer):
    """The rows that are not shown. With the shown rows they add up to the whole."""

    rows: int
    self: Annotated[int, Field(description="Units.")]
    self_seconds: float | None
    self_share: Annotated[Share, Field(description="Estimated share, like those of the rows.")]


@dataclass(frozen=True, slots=True)
class TableAnswer(Answer):
    """The samples of a selection, grouped."""

    selection: SelectionEcho
    totals: Totals
    by: tuple[str, ...]
    rows: tuple[TableRow, ...]
    rows_total: Annotated[
        int, Field(description="Rows that match `find` and `find_regex`. Without both: all rows.")
    ]
    remainder: Remainder
