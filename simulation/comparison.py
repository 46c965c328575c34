"""fleetprof's estimates of a simulated fleet beside the true values, as a table for the terminal."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from simulation.ground_truth import Truth
from storage.query.answers.table import TableAnswer


def compared(answer: TableAnswer, found: Truth, *, rows: int = 20) -> RenderableType:
    """The hottest functions: shares of self time by `/api/v1/table`, their intervals, and the true values."""
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    table.add_column("self", justify="right", no_wrap=True, width=7)
    table.add_column("95 % interval", justify="right", no_wrap=True, width=15, style="dim")
    table.add_column("true", justify="right", no_wrap=True, width=7)
    table.add_column("", no_wrap=True, width=1)
    table.add_column("function", no_wrap=True, overflow="ellipsis", ratio=3)
    table.add_column("binary", no_wrap=True, overflow="ellipsis", ratio=1, style="dim")
    held = given = 0
    for row in answer.rows[:rows]:
        key, low, high = row.key, row.self_lo, row.self_hi
        known = found.functions.get((key["function"], key.get("binary", "")))
        true = known.self_share if known else 0.0
        mark = Text("")
        if low is not None and high is not None:
            given += 1
            held += low <= true <= high
            mark = Text("✓", style="green") if low <= true <= high else Text("✗", style="red")
        interval = "" if low is None or high is None else f"{low * 100:.2f} – {high * 100:.2f} %"
        table.add_row(
            f"{row.self_share * 100:.2f} %",
            interval,
            f"{true * 100:.2f} %",
            mark,
            Text(key["function"]),
            Text(key.get("binary", "")),
        )
    lines = [Text("Ground truth of the simulated fleet", style="bold")]
    if (cores := answer.totals.cores) is not None:
        lines.append(
            Text(
                f"{cores.value:,.0f} CPUs busy ({cores.lo:,.0f} – {cores.hi:,.0f}); ground "
                f"truth: {found.cores:,.0f}."
            )
        )
    if given:
        lines.append(Text(f"{held} of {given} intervals contain the ground truth; 19 of 20 should."))
    return Group(*lines, table)
