"""`fleetprof campaigns`: which machines are visited, how often, and which events are sampled."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from services.command_line.durations import Duration, format_duration
from services.command_line.event_options import Cgroups, Counters, Events, Flat, InTurn, events_of
from services.configuration.settings import read_settings

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from storage.campaigns import Campaign, Counted, EventPlan

app = typer.Typer(
    no_args_is_help=True,
    help=(
        "Sampling plans: which machines are visited, how often, and which events are sampled.\n\n`fleet` is "
        "the default campaign of every query. A campaign stops itself if too many of its visits fail."
    ),
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The campaign's name, e.g. fleet.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_THINNED = "Only {:.3g} of its planned visits are drawn, because ingestion is behind. Run more workers."


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List all campaigns with their rates and states."""
    from storage import campaigns  # noqa: PLC0415 - a command imports what it runs

    with _store() as connection:
        found = campaigns.list_(connection)
        drawn = _drawn_shares(connection)
    if as_json:
        _print_json([{**_plain(one), "drawn_share": drawn.get(one.campaign_id, 1.0)} for one in found])
        return
    if not found:
        typer.echo("There is no campaign. The collector creates `fleet` when it starts: fleetprof collector")
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("name", "state", "every", "visits", "samples", "why"):
        table.add_column(heading, overflow="fold")
    for campaign in found:
        definition = campaign.definition
        table.add_row(
            campaign.name,
            campaign.state,
            format_duration(definition.period_s),
            f"{definition.visits_per_round:g}",
            ", ".join(_sampled(event) for event in definition.events),
            campaign.state_why
            or (
                _THINNED.format(drawn[campaign.campaign_id])
                if drawn.get(campaign.campaign_id, 1.0) < 1
                else ""
            ),
        )
    Console(highlight=False).print(table)


@app.command()
def show(name: Name, as_json: AsJson = False) -> None:
    """Show one campaign and the outcomes of its visits in the last hour."""
    from datetime import UTC, datetime, timedelta  # noqa: PLC0415

    from storage import campaigns, visit_history  # noqa: PLC0415

    with _store() as connection:
        campaign = campaigns.get(connection, name)
        since = datetime.now(UTC) - timedelta(hours=1)
        outcomes = visit_history.outcomes(connection, campaign.campaign_id, since)
        drawn = _drawn_shares(connection).get(campaign.campaign_id, 1.0)
    if as_json:
        _print_json({**_plain(campaign), "last_hour": outcomes, "drawn_share": drawn})
        return
    definition = campaign.definition
    typer.echo(f"{campaign.name} is {campaign.state} since {campaign.state_at:%Y-%m-%d %H:%M:%S} UTC")
    if campaign.state_why:
        typer.echo(f"  why         {campaign.state_why}")
    typer.echo(
        f"  a round     {format_duration(definition.period_s)}, with {definition.visits_per_round:g} expected visits"
    )
    if drawn < 1:
        typer.echo(f"  thinned     {_THINNED.format(drawn)}")
    typer.echo(f"  samples     {', '.join(_sampled(event) for event in definition.events)}")
    if more := _counted(definition.counted):
        typer.echo(f"  counts too  {more}")
    selected = ", ".join(f"{key}={value}" for key, value in definition.select_machines.items())
    typer.echo(f"  machines    {selected or 'all enabled machines'}")
    typer.echo(
        f"  stops when  {definition.failure_threshold:.0%} of the last {definition.failure_window} visits failed"
    )
    counts = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())
    typer.echo(f"  last hour   {counts or 'no visit'}")


@app.command("set")
def set_(  # noqa: PLR0917 - the command line is its signature
    name: Name,
    every: Annotated[
        float | None, typer.Option(parser=Duration, metavar="DURATION", help="Length of a round, e.g. 60s.")
    ] = None,
    visits: Annotated[
        float | None,
        typer.Option(
            min=0, metavar="N", help="Expected visits per round over all machines; may be below 1, e.g. 0.5."
        ),
    ] = None,
    for_: Annotated[
        float | None,
        typer.Option("--for", parser=Duration, metavar="DURATION", help="Duration of sampling."),
    ] = None,
    rate: Annotated[
        float | None, typer.Option(min=0.1, metavar="RATE", help="Samples per second and CPU.")
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="File with several events: a JSON array of {event, duration_ms, rate_hz or period, stacks, turn}.",
        ),
    ] = None,
    event: Events = None,
    in_turn: InTurn = False,
    flat: Flat = False,
    counter: Counters = None,
    cgroups: Cgroups = None,
    machines: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="Only machines with this label (or datacenter, cluster, platform, kernel); repeatable.",
        ),
    ] = None,
    all_machines: Annotated[bool, typer.Option("--all-machines", help="Select all machines.")] = False,
    stop_at: Annotated[
        float | None,
        typer.Option(
            min=1, max=100, metavar="N", help="Percentage of failed visits that stops the campaign."
        ),
    ] = None,
    window: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Number of latest visits that this percentage is computed from."
        ),
    ] = None,
) -> None:
    """Change a campaign, or create one. Omitted options keep their values; a new campaign takes the values of `fleet`.

    Example: sample all machines of one kernel at ten times the rate:

        fleetprof campaigns set new-kernel --machines kernel=6.18.1 --visits 10 --rate 999

    Example: sample the places where threads of search machines wait, and count the cycles per instruction of ten control
    groups:

        fleetprof campaigns set waits --machines cluster=search --event context-switches --cgroups 10
    """
    from services.fleet import campaign_changes  # noqa: PLC0415
    from services.fleet.errors import BadCampaign, DrawsNothing  # noqa: PLC0415
    from storage import campaigns  # noqa: PLC0415

    if plan is not None and (rate is not None or for_ is not None):
        raise typer.BadParameter("--plan contains duration and rate: remove --rate and --for.")
    if plan is not None and event:
        raise typer.BadParameter("--plan and --event both choose the events: give only one of them.")
    if not event and (in_turn or flat):
        raise typer.BadParameter("--in-turn and --flat apply to --event: add --event.")
    with _store() as connection:
        try:
            before, _ = campaign_changes.definition_of(connection, name)
            events = None
            if plan:
                events = _events_of(plan)
            elif event:
                longest = max(each.duration_ms for each in before.events) / 1000
                events = events_of(
                    event, seconds=longest if for_ is None else for_, rate=rate, in_turn=in_turn, flat=flat
                )
            changes = campaign_changes.CampaignChanges(
                period_s=every,
                visits_per_round=visits,
                events=events,
                duration_s=None if events else for_,
                rate_hz=None if events else rate,
                counted_events=None if counter is None else tuple(one for one in counter if one),
                counted_cgroups=cgroups,
                select_machines={}
                if all_machines
                else dict(_pair(text) for text in machines)
                if machines
                else None,
                failure_threshold=None if stop_at is None else stop_at / 100,
                failure_window=window,
            )
            campaign = campaigns.create_or_update(connection, campaign_changes.changed(before, changes))
        except (BadCampaign, DrawsNothing) as error:
            raise typer.BadParameter(str(error)) from error
    typer.echo(
        f"Stored {campaign.name}; it is {campaign.state}. Show it: fleetprof campaigns show {campaign.name}"
    )
    if note := campaign_changes.note_on_pace(before, campaign):
        typer.echo(note)


@app.command()
def stop(
    name: Name,
    why: Annotated[str, typer.Option(help="Reason, shown to other users.")] = "Stopped by hand.",
) -> None:
    """Pause a campaign, and cancel its visits that have not begun."""
    from storage import campaigns  # noqa: PLC0415
    from storage.campaigns import State  # noqa: PLC0415

    with _store() as connection:
        changed = campaigns.set_state(connection, name, State.PAUSED, why)
    if changed:
        typer.echo(f"{name} is paused. Resume it: fleetprof campaigns resume {name}")
    else:
        typer.echo(f"{name} was already paused.")


@app.command()
def resume(name: Name) -> None:
    """Resume a campaign, including one that stopped itself. Earlier failures no longer count."""
    from services.fleet.campaign_changes import check_resumable  # noqa: PLC0415
    from services.fleet.errors import DrawsNothing  # noqa: PLC0415
    from storage import campaigns  # noqa: PLC0415
    from storage.campaigns import State  # noqa: PLC0415

    try:
        check_resumable(name)
    except DrawsNothing as error:
        raise typer.BadParameter(str(error)) from error
    with _store() as connection:
        changed = campaigns.set_state(connection, name, State.RUNNING, "")
    typer.echo(
        f"{name} is running. Its next round is drawn when the round begins."
        if changed
        else f"{name} was already running."
    )


def _events_of(plan: Path) -> "tuple[EventPlan, ...]":
    import json  # noqa: PLC0415

    from storage.campaigns import EventPlan  # noqa: PLC0415

    try:
        return tuple(EventPlan(**event) for event in json.loads(plan.read_text()))
    except (ValueError, TypeError) as error:
        raise typer.BadParameter(f"Invalid plan {plan}: {error}.") from error


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise typer.BadParameter(f"Invalid --machines {text!r}: expected KEY=VALUE, e.g. datacenter=fra.")
    return key, value


def _sampled(event: "EventPlan") -> str:
    how = f" {event.rate_hz:g} Hz" if event.rate_hz else f" every {event.period:,}" if event.period else ""
    return f"{event.event}{how} for {format_duration(event.duration_ms / 1000)}"


def _counted(counted: "Counted") -> str:
    groups = [f"{counted.cgroups} control groups"] if counted.cgroups else []
    return ", ".join([*counted.events, *groups])


def _plain(campaign: "Campaign") -> dict[str, Any]:
    from dataclasses import asdict  # noqa: PLC0415

    plain = asdict(campaign)
    return {**plain.pop("definition"), **plain}


def _print_json(value: object) -> None:
    import json  # noqa: PLC0415

    typer.echo(json.dumps(value, default=str, indent=2))


def _drawn_shares(connection: "Connection") -> dict[int, float]:
    """Share of the planned visits that is drawn, by campaign id."""
    import time  # noqa: PLC0415

    from storage import thinning  # noqa: PLC0415

    halved = thinning.latest(connection, int(time.time() // 3600))
    return {campaign_id: thinning.share(times) for campaign_id, times in halved.items()}


@contextmanager
def _store() -> "Iterator[Connection]":
    """One transaction on the database."""
    from storage.database import open_engine  # noqa: PLC0415

    engine = open_engine(read_settings().needed_database_url(), application="campaigns", pool_size=1)
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()
