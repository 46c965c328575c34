"""`fleetprof visit`: profile one machine now."""

import asyncio
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from services.command_line.durations import Duration, format_duration
from services.command_line.event_options import Cgroups, Counters, Events, Flat, InTurn, counted_of, events_of
from services.configuration.settings import Settings, read_settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from rich.console import Console

    from collector.schedule_round import ScheduledVisit
    from collector.visit import VisitResult
    from storage.captures import Due
    from storage.query.answers.table import TableAnswer
    from storage.visit_history import Ingestion


def visit(  # noqa: PLR0917 - the command line is its signature
    host: Annotated[str, typer.Argument(help="Name of the machine, as in `fleetprof machines list`.")],
    for_: Annotated[
        float, typer.Option("--for", parser=Duration, metavar="DURATION", help="Duration of sampling.")
    ] = "10s",  # type: ignore[assignment]  # typer parses it
    rate: Annotated[
        float, typer.Option(min=1, max=999, metavar="RATE", help="Samples per second and CPU.")
    ] = 99.0,
    event: Events = None,
    in_turn: InTurn = False,
    flat: Flat = False,
    counter: Counters = None,
    cgroups: Cgroups = None,
    rows: Annotated[
        int, typer.Option(min=1, max=1000, metavar="ROWS", help="Functions in the printed table.")
    ] = 20,
    wait: Annotated[
        float,
        typer.Option(
            parser=Duration, metavar="DURATION", help="Maximum time to wait for symbols and the table."
        ),
    ] = "60s",  # type: ignore[assignment]  # typer parses it
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")] = False,
) -> None:
    """Profile one machine now and print its top functions.

    The visit belongs to no round and never counts in results of the fleet. Its profile is stored under the campaign
    `by-hand`. The table shows the first event; events that could not be sampled are listed. The exit code is 1 if there is
    no profile.
    """
    from rich.console import Console  # noqa: PLC0415 - a command imports what it runs

    from collector import by_hand  # noqa: PLC0415
    from collector.visit import Visitor  # noqa: PLC0415
    from services.configuration.gateway_credentials import gateway_credentials  # noqa: PLC0415
    from storage.archive import Archive  # noqa: PLC0415
    from storage.campaigns import Counted  # noqa: PLC0415
    from storage.captures import Due  # noqa: PLC0415
    from storage.database import open_engine  # noqa: PLC0415
    from storage.ingest.decode_capture import decode_capture  # noqa: PLC0415

    settings = read_settings()
    console = Console(stderr=True, highlight=False)
    events = events_of(event or ["cpu"], seconds=for_, rate=rate, in_turn=in_turn, flat=flat)
    engine = open_engine(settings.needed_database_url(), application="visit", pool_size=2)
    try:
        visitor = Visitor(gateway_credentials(settings))
        scheduled = by_hand.schedule(engine, host, visitor)
        with _progress(console, f"Sampling {host} for {format_duration(for_)}") as on_progress:
            visited = asyncio.run(
                by_hand.run_visit(
                    engine,
                    Archive(settings.archive),
                    visitor,
                    scheduled,
                    events=events,
                    counted=counted_of(counter, cgroups, Counted()),
                    on_progress=on_progress,
                )
            )
        for change in visited.changes:
            console.print(f"The gateway changed the plan: {change}", style="yellow")
        ingestion = None
        if visited.received is not None:
            for note in decode_capture(visited.received.blob).notes:
                if note not in visited.changes:
                    console.print(note, style="yellow")
            due = Due(scheduled.visit_id, 1, visited.received.partition, again=False)
            _send(settings, due, console)
            with console.status("Symbolizing and ingesting …"):
                ingestion = by_hand.wait_for_ingestion(engine, scheduled.visit_id, seconds=wait)
    finally:
        engine.dispose()
    table = (
        _hottest(settings, scheduled, events[0].event, rows)
        if ingestion is not None and ingestion.ingested
        else None
    )
    if as_json:
        import json  # noqa: PLC0415

        typer.echo(json.dumps(_plain(scheduled, visited, ingestion, table)))
    else:
        _print(host, visited, ingestion, table, rows=rows, wait=wait)
    if table is None:
        raise typer.Exit(1)


def _print(
    host: str,
    visited: "VisitResult",
    ingestion: "Ingestion | None",
    table: "TableAnswer | None",
    *,
    rows: int,
    wait: float,
) -> None:
    from rich.console import Console  # noqa: PLC0415

    from services.views import terminal  # noqa: PLC0415

    if table is not None:
        console = Console(highlight=False)
        console.print(terminal.totals_line(table))
        console.print(terminal.top_table(table, rows=rows))
    elif visited.received is None:
        _complain(f"{host}: {visited.outcome}. {visited.detail}")
    elif ingestion is not None and ingestion.quarantined is not None:
        _complain(f"The capture is archived but quarantined: {ingestion.quarantined}")
    else:
        last = (
            f" The last attempt failed: {ingestion.failure}"
            if ingestion is not None and ingestion.failure
            else ""
        )
        _complain(
            f"The capture is archived but was not ingested within {format_duration(wait)}.{last} "
            "A running worker ingests it later. To start one: fleetprof worker"
        )


def _complain(sentence: str) -> None:
    typer.secho(f"fleetprof: {sentence}", err=True, fg="red")


def _plain(
    scheduled: "ScheduledVisit",
    visited: "VisitResult",
    ingestion: "Ingestion | None",
    table: "TableAnswer | None",
) -> dict[str, Any]:
    from storage.query.answers.answer import as_document  # noqa: PLC0415

    received = visited.received
    return {
        "visit_id": str(scheduled.visit_id),
        "machine": scheduled.machine.name,
        "outcome": str(visited.outcome),
        "detail": visited.detail,
        "seconds": visited.seconds,
        "utilisation": visited.utilisation,
        "clock_skew_s": visited.clock_skew_s,
        "changes": list(visited.changes),
        "samples": received.samples if received else None,
        "bytes": len(received.blob) if received else None,
        "ingested": ingestion is not None and ingestion.ingested,
        "table": None if table is None else as_document(table),
    }


def _send(settings: Settings, due: "Due", console: "Console") -> None:
    """Queue the capture for ingestion; without a broker the collector's sweep does it."""
    from services.errors import SettingsProblem  # noqa: PLC0415
    from symbolizer.worker.broker import make_sender  # noqa: PLC0415

    try:
        make_sender(settings.needed_redis_url())(due)
    except SettingsProblem:
        console.print(
            "No broker is configured; the collector sends the capture to a worker later.", style="yellow"
        )
    except Exception as error:  # noqa: BLE001 - kombu and redis have no common base class
        console.print(
            f"The broker is unavailable ({error}); the collector sends the capture to a worker later.",
            style="yellow",
        )


def _hottest(settings: Settings, scheduled: "ScheduledVisit", event: str, rows: int) -> "TableAnswer":
    """Table of exactly this visit: its machine, at the microsecond for which it was drawn."""
    from services.queries.local_queries import hottest_functions  # noqa: PLC0415

    moment = scheduled.visit.drawn_at
    return hottest_functions(
        settings.needed_database_url(),
        event=event,
        since=moment.isoformat(),
        until=(moment + timedelta(microseconds=1)).isoformat(),
        select=f'{{machine="{scheduled.machine.name}"}}',
        campaign=scheduled.campaign.name,
        rows=rows,
    )


def _progress(console: "Console", what: str) -> "AbstractContextManager[Callable[[float, int], None]]":
    """A progress bar on a terminal; nothing elsewhere, because a log cannot show it."""
    from contextlib import contextmanager, nullcontext  # noqa: PLC0415

    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    if not sys.stderr.isatty():
        return nullcontext(lambda _done, _samples: None)

    @contextmanager
    def bar() -> "Iterator[Callable[[float, int], None]]":
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[samples]:,} samples"),
        )
        with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
            task = progress.add_task(what, total=1.0, samples=0)
            yield lambda done, samples: progress.update(task, completed=done, samples=samples)

    return bar()
