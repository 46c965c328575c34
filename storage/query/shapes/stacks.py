"""The heaviest distinct stacks of a selection as rows with intervals."""

from collections.abc import Sequence
from dataclasses import dataclass

from storage.errors import BadSelection
from storage.query.answers.figures import as_seconds, in_units
from storage.query.answers.stacks import StackFrame, StackRow, StacksAnswer, StacksRemainder
from storage.query.facts.selection_echo import selection_echo
from storage.query.reading import Reading
from storage.query.selections.selection import Selection
from storage.query.shapes.stack_samples import MOST_ESTIMATED, StackSamples, StackSamplesQuestion
from storage.query.stacks.function_names import KINDS

DEFAULT_ROWS = 1000


@dataclass(frozen=True, slots=True)
class StacksQuestion:
    """The distinct stacks of a selection, at most the `most` heaviest, with an interval each."""

    selection: Selection
    labels: tuple[str, ...] = ()
    """Rows are also divided by the values of these labels."""
    most: int = DEFAULT_ROWS

    def __post_init__(self) -> None:
        if self.most > MOST_ESTIMATED:
            raise BadSelection(
                f"A response has at most {MOST_ESTIMATED:,} rows with intervals.",
                hint="Reduce `limit`, or get all stacks as pprof, speedscope or collapsed.",
                parameter="limit",
            )
        _ = self.samples  # refuses labels that cannot divide stacks

    @property
    def samples(self) -> StackSamplesQuestion:
        """The question of the same stacks as columns."""
        return StackSamplesQuestion(self.selection, self.labels, self.most, estimated=True)

    def answer(self, reading: Reading) -> StacksAnswer:
        """The stacks. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        found = self.samples.answer(reading)
        table, left = found.table, found.table.remainder
        frames = [StackFrame(row.name, row.file, row.binary, KINDS[row.kind]) for row in table.functions]
        return StacksAnswer(
            selection=selection_echo(self.selection, found.kind),
            totals=found.totals,
            by=table.labels,
            rows=tuple(_row(found, frames, place) for place in table.heaviest_first.tolist()),
            rows_total=len(table) + left.stacks,
            remainder=StacksRemainder(
                stacks=left.stacks,
                samples=left.samples,
                units=left.units,
                seconds=as_seconds(left.units, found.kind.seconds_per_unit),
                share=_share(left.weight, found.whole),
            ),
        )


def _row(found: StackSamples, frames: Sequence[StackFrame], place: int) -> StackRow:
    scale, table = found.kind.seconds_per_unit, found.table
    estimate = None if found.estimates is None else found.estimates[place]
    return StackRow(
        key=dict(zip(table.labels, table.groups[int(table.group[place])], strict=True)),
        frames=tuple(frames[function] for function in table.frames(place)),
        samples=int(table.samples[place]),
        units=int(table.units[place]),
        seconds=as_seconds(int(table.units[place]), scale),
        share=_share(float(table.weight[place]), found.whole),
        lo=None if estimate is None else estimate.share.lo,
        hi=None if estimate is None else estimate.share.hi,
        core_seconds=None if estimate is None else in_units(estimate.units, scale),
        low_confidence=estimate is not None and estimate.low_confidence,
    )


def _share(part: float, whole: float) -> float:
    return min(max(part / whole, 0.0), 1.0) if whole > 0 else 0.0
