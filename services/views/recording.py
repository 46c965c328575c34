"""A recording as terminal output."""

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from services.api.formats.stack_profile import StackProfile, Value
from services.recording.functions import FunctionSums, function_sums
from services.views.terminal import seconds, share
from storage.ingest.symbolized import Status


def summary(profile: StackProfile) -> Text:
    """One line: samples, their sum in the event's unit, the duration, processes."""
    samples = int(profile.of(Value.SAMPLES).of_row.sum())
    units = int(profile.of(Value.OBSERVED).of_row.sum())
    amount = (
        f"{seconds(units / 1e9)} s of CPU time"
        if profile.unit == "nanoseconds"
        else f"{units:,} {profile.event}"
    )
    processes = ", ".join(group[0] for group in profile.table.groups)
    return Text(f"{samples:,} samples · {amount} in {profile.duration_ns / 1e9:.1f} s · {processes}")


def hottest(profile: StackProfile, *, rows: int) -> RenderableType:
    """Table of the functions with the largest own share; the last line counts the functions not shown."""
    whole = int(profile.of(Value.OBSERVED).of_row.sum()) or 1
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    table.add_column("self", justify="right", no_wrap=True, width=7)
    table.add_column("total", justify="right", no_wrap=True, width=7)
    table.add_column("function", no_wrap=True, overflow="ellipsis", ratio=3)
    table.add_column("binary or file", no_wrap=True, overflow="ellipsis", ratio=1, style="dim")
    found = function_sums(profile)
    for each in found[:rows]:
        table.add_row(share(each.own / whole), share(each.total / whole), _name(each), _place(each))
    if left := found[rows:]:
        rest = sum(each.own for each in left)
        table.add_row(share(rest / whole), "", Text(f"{len(left):,} more functions", style="dim"), "")
    return table


def _name(each: FunctionSums) -> Text:
    named = each.function.status in {Status.FULL, Status.SYMTAB}
    return Text(each.function.name, style="" if named else "italic dim")


def _place(each: FunctionSums) -> Text:
    """The binary; a name in brackets is not rich's markup."""
    return Text(each.function.binary)
