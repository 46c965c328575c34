"""`fleetprof-gateway`: parses arguments, binds sockets, drops privileges, and waits for connections."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gateway.errors import CannotConfine, GatewayError
from gateway.log_format import configure_logging
from gateway.machine.kernel_map_cache import KernelMapCache
from gateway.options import build_parser, settings_of
from gateway.perf.descriptors import raise_descriptor_limit
from gateway.privileges.drop_privileges import User, confine, find_user, only_root
from gateway.runtimes.python.programs import ProgramPool, load_programs
from gateway.served_visits import ServedVisits
from gateway.serving.connections import Listener
from gateway.serving.grpc_environment import set_grpc_environment
from gateway.serving.listeners import listen, require_private, take_passed
from gateway.serving.runtime_folder import runtime_folder
from gateway.serving.socket_activation import SocketActivator, close_queued
from gateway.settings import Address, OwnProcesses, PassedSockets, Settings, SourceFramesMode, UnixAddress
from gateway.symbols.seen_builds import SeenBuilds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from socket import socket

_FAILED: Final = 1
# Captures may sample several events at once, each of which uses a BPF program.
_SPARE_PROGRAMS: Final = 2

_log: Final = logging.getLogger("gateway.daemon")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the daemon; returns the exit status."""
    parser = build_parser()
    options = parser.parse_args(arguments)
    configure_logging(options.log_level)
    if options.events is not None:
        return _print_events(options.events, parser)
    if options.doctor:
        return _run_doctor(as_json=options.json)
    try:
        settings = settings_of(options, parser)
        return _run(settings)
    except (GatewayError, OSError) as error:
        print(f"fleetprof-gateway: {error}", file=sys.stderr)  # noqa: T201 - to the person who starts it
        return _FAILED


def _print_events(names: Sequence[str], parser: argparse.ArgumentParser) -> int:
    """Print the table of events and their availability on this machine."""
    from gateway.capture.host import Access, find_access  # noqa: PLC0415
    from gateway.errors import BadEventName  # noqa: PLC0415 - imported on request; the daemon stays small
    from gateway.perf.event_availability import check_events, table  # noqa: PLC0415

    try:
        own = find_access(OwnProcesses.AUTO) is Access.OWN
    except GatewayError:
        own = True  # the table then shows every event as denied
    try:
        for line in table(check_events(names, own=own)):
            print(line)  # noqa: T201 - to the person who asks
    except BadEventName as error:
        parser.error(str(error))
    return 0


def _run_doctor(*, as_json: bool) -> int:
    """Print what limits the gateway on this machine; 1 if something is bad."""
    from gateway.doctor import findings  # noqa: PLC0415 - a waiting daemon has no use for it
    from gateway.doctor.node_checks import check_node  # noqa: PLC0415

    found = check_node()
    print(findings.as_json(found) if as_json else findings.as_text(found))  # noqa: T201 - what was asked for
    return findings.exit_status(found)


def _run(settings: Settings) -> int:
    with contextlib.ExitStack() as resources:
        user = find_user(settings.user) if settings.user else None
        bound = [pair for address in settings.listen for pair in resources.enter_context(_listening(address))]
        metrics_sockets = (
            resources.enter_context(_listening(settings.metrics_listen)) if settings.metrics_listen else []
        )
        resources.enter_context(_closing_queued_connections([socket for _, socket in bound]))
        # Validates again: only now is known whether a passed socket needs TLS.
        settings = replace(settings, listen=tuple(address for address, _ in bound))
        if user is not None:
            _chown_sockets([*bound, *metrics_sockets], user)
        frame_programs, no_programs = _frame_programs(settings)
        # From here on the process can gain nothing that sampling does not need.
        capabilities = confine(user)
        folder = resources.enter_context(runtime_folder())
        served_visits, seen_builds = _open_state(settings.state_dir)
        kernel_map_cache = KernelMapCache()
        inner = [folder.path / f"{number}.sock" for number in range(len(bound))]

        def serve(ready_pipe: int) -> int:
            set_grpc_environment()
            # Imported in the child: the waiting process stays small.
            from gateway.serving.server import serve  # noqa: PLC0415

            try:
                return serve(
                    settings,
                    inner,
                    served_visits,
                    seen_builds,
                    kernel_map_cache,
                    frame_programs=frame_programs,
                    ready_pipe=ready_pipe,
                )
            except (GatewayError, OSError) as error:
                print(f"fleetprof-gateway: {error}", file=sys.stderr)  # noqa: T201
                return _FAILED

        def on_ready() -> None:
            for address, socket in bound:
                _log.info("listening on %s", _bound_address(address, socket))
            for address, socket in metrics_sockets:
                _log.info("answering probes on %s", _bound_address(address, socket))
            fields = {"uid": os.geteuid(), "capabilities": ",".join(each.name for each in capabilities)}
            _log.info("confined", extra={"fields": fields})
            if no_programs:
                _log.info("no source-level frames", extra={"fields": {"why": no_programs}})

        raise_descriptor_limit()
        listeners = [Listener(socket, path) for (_, socket), path in zip(bound, inner, strict=True)]
        return SocketActivator(
            listeners,
            serve,
            idle_s=settings.idle_s,
            busy=lambda: served_visits.is_working,
            on_ready=on_ready,
            prepare=folder.restore,
            exit_when_idle=settings.exit_when_idle,
            metrics_socket=metrics_sockets[0][1] if metrics_sockets else None,
            extra_metrics=lambda: _capture_metrics(served_visits),
        ).run()


def _frame_programs(settings: Settings) -> tuple[ProgramPool | None, str]:
    """The programs that read source-level frames; None with the reason, for a person."""
    if settings.source_frames is SourceFramesMode.OFF:
        return None, "--source-frames is off"
    return load_programs(settings.limits.max_concurrent + _SPARE_PROGRAMS)


def _capture_metrics(served_visits: ServedVisits) -> dict[str, tuple[str, str, float]]:
    """Metrics of captures."""
    return {
        "fleetprof_gateway_captures_total": (
            "counter",
            "Captures delivered since the start.",
            served_visits.finished,
        ),
        "fleetprof_gateway_captures_active": ("gauge", "Captures in progress.", served_visits.active),
        "fleetprof_gateway_uptime_seconds": (
            "gauge",
            "Time since the daemon started.",
            served_visits.uptime_s,
        ),
    }


def _open_state(folder: Path | None) -> tuple[ServedVisits, SeenBuilds]:
    """State that outlives a server process; raises UnsafeAddress, OSError."""
    if folder is None:
        return ServedVisits(), SeenBuilds()
    require_private(folder)
    return ServedVisits(folder / "visits"), SeenBuilds(file=folder / "sightings")


@contextlib.contextmanager
def _listening(address: Address | PassedSockets) -> Iterator[list[tuple[Address, socket]]]:
    """The sockets. A socket file of ours is removed at the end; a passed socket stays for the next process."""
    if isinstance(address, PassedSockets):
        yield take_passed()
        return
    with listen(address) as bound:
        try:
            yield [(address, bound)]
        finally:
            if isinstance(address, UnixAddress):
                # Its folder may belong to another user by now; the next daemon removes a stale file.
                with contextlib.suppress(OSError):
                    address.path.unlink()


@contextlib.contextmanager
def _closing_queued_connections(sockets: Sequence[socket]) -> Iterator[None]:
    """Close waiting connections if the start fails: in a socket unit's socket they would start the service again."""
    try:
        yield
    except (GatewayError, OSError):
        close_queued(sockets)
        raise


def _chown_sockets(bound: Sequence[tuple[Address, socket]], user: User) -> None:
    """Give sockets of mode 0600 that root created to the user that the daemon becomes; raises CannotConfine."""
    for address, _ in bound:
        if isinstance(address, UnixAddress):
            try:
                os.chown(address.path, user.uid, user.gid, follow_symlinks=False)
            except PermissionError as error:
                raise CannotConfine(only_root(user)) from error


def _bound_address(address: Address, bound: socket) -> str:
    """The bound address: for port 0 the system chooses a free one."""
    if isinstance(address, UnixAddress):
        return str(address)
    host, port = bound.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


if __name__ == "__main__":
    sys.exit(main())
