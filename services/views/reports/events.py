"""The events that determine an application's instructions per cycle, in a terminal."""

from rich.console import Group, RenderableType
from rich.text import Text

from services.views.reports.report_envelope import AnswerJson, columns, left_out, render_report, unavailable
from services.views.terminal import share


def events(answer: AnswerJson, *, rows: int = 10) -> RenderableType:
    """The rows of /analysis/events and its couplings, `rows` of each."""
    return Group(render_report(answer, lambda: _body(answer, rows)), *left_out(answer["left_out"]))


def _body(answer: AnswerJson, rows: int) -> RenderableType:
    lines = [
        Text(
            f"instructions per cycle of {answer['application']} in new runs: these events err by {share(answer['error'])}, "
            f"all events by {share(answer['all_events_error'])}, always the mean by {share(answer['baseline_error'])}"
        ),
        Text(f"learned and tested by {answer['intervals']:,} visits in {answer['runs']:,} runs", "dim"),
    ]
    if answer["error"] >= answer["baseline_error"]:
        lines.append(
            Text("It says no more than the mean does: these events do not tell. Count others.", "bold yellow")
        )
    table = columns("importance", "counted in", "stands out", "event", wide=("event",))
    for row in answer["rows"][:rows]:
        counted = share(row["counted"])
        table.add_row(
            share(row["importance"]), counted, "yes" if row["dominates"] else "", Text(row["event"])
        )
    notes = _left(len(answer["rows"]) - rows, "events")
    if not any(row["dominates"] for row in answer["rows"]):
        notes.append(Text("none stands out: importance falls off evenly", "dim"))
    steps = ", ".join(f"{step['events']:,}: {share(step['error'])}" for step in answer["steps"])
    notes.append(Text(f"error by the number of events: {steps}", "dim"))
    return Group(*lines, table, *notes, *_couplings(answer, rows))


def _couplings(answer: AnswerJson, rows: int) -> list[RenderableType]:
    if answer["coupling_because"] is not None:
        return [Text.assemble("What to tune: ", unavailable(answer["coupling_because"]))]
    table = columns("coupling", "dependence", "parameter", "event", wide=("parameter", "event"))
    for pair in answer["pairs"][:rows]:
        table.add_row(
            f"{pair['coupling']:.3f}",
            share(pair["dependence"]),
            Text(pair["parameter"]),
            Text(pair["event"] if pair["significant"] else f"{pair['event']}, by chance"),
        )
    tune = answer["tune"]
    verdict = (
        Text("No setting moves them by more than chance.", "yellow")
        if tune is None
        else Text.assemble("the setting that moves them most: ", (tune, "bold"))
    )
    return [verdict, table, *_left(len(answer["pairs"]) - rows, "pairs")]


def _left(count: int, of: str) -> list[Text]:
    return [Text(f"{count:,} more {of}", "dim")] if count > 0 else []
