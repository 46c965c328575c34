"""The events that determine an application's instructions per cycle, in a terminal."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from services.views.reports.report_envelope import columns, inputs, left_out, render_report, unavailable
from services.views.terminal import share

if TYPE_CHECKING:
    from storage.query.answers.events import EventsAnswer


def events(answer: "EventsAnswer", *, rows: int = 10) -> RenderableType:
    """The rows of /analysis/events and its couplings, `rows` of each."""
    return Group(
        render_report(answer, lambda: _body(answer, rows), inputs(answer.inputs)), *left_out(answer.left_out)
    )


def _body(answer: "EventsAnswer", rows: int) -> RenderableType:
    lines = [
        Text(
            f"prediction error for instructions per cycle of {answer.application} in new runs: {share(answer.error)} with these "
            f"events, {share(answer.all_events_error)} with all events, {share(answer.baseline_error)} with the mean alone"
        ),
        Text(f"trained and tested on {answer.intervals:,} visits in {answer.runs:,} runs", "dim"),
    ]
    error, of_mean = answer.error, answer.baseline_error
    if error is not None and of_mean is not None and error >= of_mean:
        lines.append(
            Text(
                "The model is no better than the mean: these events do not predict it. Count other events.",
                "bold yellow",
            )
        )
    table = columns("importance", "counted in", "stands out", "event", wide=("event",))
    for row in answer.rows[:rows]:
        counted = share(row.counted)
        table.add_row(share(row.importance), counted, "yes" if row.dominates else "", Text(row.event))
    notes = _left(len(answer.rows) - rows, "events")
    if not any(row.dominates for row in answer.rows):
        notes.append(Text("no event stands out: importance decreases evenly", "dim"))
    steps = ", ".join(f"{step.events:,}: {share(step.error)}" for step in answer.steps)
    notes.append(Text(f"error by the number of events: {steps}", "dim"))
    return Group(*lines, table, *notes, *_couplings(answer, rows))


def _couplings(answer: "EventsAnswer", rows: int) -> list[RenderableType]:
    if answer.coupling_because is not None:
        return [Text.assemble("What to tune: ", unavailable(answer.coupling_because))]
    table = columns("coupling", "dependence", "parameter", "event", wide=("parameter", "event"))
    for pair in answer.pairs[:rows]:
        table.add_row(
            f"{pair.coupling:.3f}",
            share(pair.dependence),
            Text(pair.parameter),
            Text(pair.event if pair.significant else f"{pair.event}, not significant"),
        )
    tune = answer.tune
    verdict = (
        Text("No setting affects these events significantly.", "yellow")
        if tune is None
        else Text.assemble("the setting with the largest effect on these events: ", (tune, "bold"))
    )
    return [verdict, table, *_left(len(answer.pairs) - rows, "pairs")]


def _left(count: int, of: str) -> list[Text]:
    return [Text(f"{count:,} more {of}", "dim")] if count > 0 else []
