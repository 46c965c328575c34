"""The session of `fleetprof simulate`: start the fleet, write its inventory, serve, then write the true values."""

import csv
import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

import typer

from services.deployment.fleet_processes import parts
from services.deployment.supervisor import Child
from services.errors import CannotStart
from services.process_setup.stop_signals import StopRequest
from simulation.fleet_plan import FleetPlan, inventory
from simulation.ground_truth import Truth, Wanted, truth
from simulation.outcomes import NEVER, Failures
from storage.inventory import NewMachine

_LOOK_S = 0.5


def run(
    plan: FleetPlan,
    *,
    seconds: float | None,
    inventory_file: Path | None,
    truth_file: Path | None,
    logs: Path,
) -> None:
    """Serve until Ctrl-C or for the given number of seconds. Raises CannotStart."""
    try:
        plan.model()  # reports an invalid plan here, not in a process's log
    except ValueError as error:
        raise CannotStart(str(error)) from error
    stop_request = StopRequest()
    with stop_request.handling_signals(), ExitStack() as running:
        children = [Child(part) for part in parts(plan, logs)]
        for child in children:
            running.callback(child.stop)
            child.start()
        for child in children:
            child.wait_until_ready(lambda: _go_on(stop_request))
        if inventory_file is not None:
            with _open(inventory_file) as file:
                write_inventory(inventory(plan), file)
        typer.echo(
            f"{plan.machines:,} simulated machines listen below {plan.sockets}. All their data is simulated. "
            "Ctrl-C stops them.",
            err=True,
        )
        begun = time.time()
        deadline = None if seconds is None else time.monotonic() + seconds
        while not stop_request.event.wait(_LOOK_S) and (deadline is None or time.monotonic() < deadline):
            for child in children:
                if sentence := child.tend():
                    typer.echo(sentence, err=True)
        ended = time.time()
    if truth_file is not None:
        found = truth(plan.model(), Wanted(begun, ended), failures=Failures() if plan.failures else NEVER)
        with _open(truth_file) as file:
            json.dump(as_json(found, begun, ended), file, indent=1)
            file.write("\n")


def write_inventory(machines: Sequence[NewMachine], file: TextIO) -> None:
    """Write the machines as CSV for `fleetprof machines import`."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(("name", "address", "datacenter", "cluster"))
    writer.writerows((m.name, m.address, m.datacenter, m.cluster) for m in machines)


def as_json(found: Truth, start: float, end: float) -> dict[str, Any]:
    """The true values as plain data; functions as rows, most self time first."""
    values = {
        name: getattr(found, name)
        for name in ("units", "core_seconds", "cores", "machines", "utilisation", "answering", "applications")
    }
    return {
        "from": start,
        "to": end,
        **values,
        "versions": [{"application": a, "version": v, "units": u} for (a, v), u in found.versions.items()],
        "functions": [
            {"function": name, "binary": binary, **asdict(row)}
            for (name, binary), row in found.functions.items()
        ],
    }


def _go_on(stop_request: StopRequest) -> None:
    if stop_request.event.is_set():
        raise CannotStart("Stopped before every machine was ready.")


@contextmanager
def _open(path: Path) -> Iterator[TextIO]:
    if str(path) == "-":
        yield sys.stdout
        return
    try:
        with path.open("w", encoding="utf-8") as file:
            yield file
    except OSError as error:
        raise CannotStart(f"Cannot write {path}: {error.strerror}.") from error
