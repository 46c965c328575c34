"""The options of `fleetprof-gateway`, and the settings they make; docs/cli.md is written from them."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path
from typing import Final

from gateway.containers.label_settings import (
    LabelSettings,
    parse_environment_label,
    parse_kubelet,
    parse_pod_label,
)
from gateway.roles import Role, parse_caller
from gateway.settings import (
    Address,
    CalibrationSettings,
    Limits,
    OwnProcesses,
    PassedSockets,
    Settings,
    Share,
    SymbolSharing,
    Tls,
    parse_address,
)

_DESCRIPTION: Final = """\
The fleetprof gateway: a daemon for every machine. It opens nothing until a collector
asks; then it samples the whole machine for some seconds, unwinds the stacks here (stack
memory never leaves the machine), and hands back one compressed capture.
"""
_EPILOG: Final = """\
examples:
  fleetprof-gateway --listen unix:/run/fleetprof/gateway.sock
      for callers on this machine that run as the same user; the socket has mode 0600
  fleetprof-gateway --listen 0.0.0.0:7411 --tls-cert gw.pem --tls-key gw.key --tls-client-ca ca.pem
      for a collector elsewhere; only callers whose certificate is signed by ca.pem
      and names the role of a collector get captures (`fleetprof certs` makes them)

privileges:
  Root, or CAP_PERFMON to sample, SYS_PTRACE, CHECKPOINT_RESTORE and DAC_READ_SEARCH to read the
  processes of others, SYSLOG for kernel addresses, IPC_LOCK for rings of 1 MiB per CPU. Without any of them
  it samples its user's own processes, if kernel.perf_event_paranoid is 2 or less.

It runs until SIGTERM or SIGINT and logs to stderr, one line an event. Exit status: 0 after a signal,
1 if it cannot work here, 2 for arguments that make no sense.
"""


def build_parser() -> argparse.ArgumentParser:
    """Every option with its default; docs/cli.md is written from it."""
    parser = argparse.ArgumentParser(
        prog="fleetprof-gateway",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    limits = Limits()
    parser.add_argument(
        "--listen",
        metavar="ADDRESS",
        action="append",
        default=[],
        help="unix:/PATH, HOST:PORT, or systemd for the sockets a socket unit hands over; may be given several "
        "times; what others can reach needs the three --tls options",
    )
    parser.add_argument(
        "--events",
        metavar="EVENT",
        nargs="*",
        help="instead of listening, print which events this machine has and what is wrong with the others: of these "
        "names, or of all generic ones",
    )
    tls = parser.add_argument_group("mutual TLS")
    tls.add_argument("--tls-cert", metavar="FILE", type=Path, help="certificate chain of this gateway, PEM")
    tls.add_argument("--tls-key", metavar="FILE", type=Path, help="its private key, PEM")
    tls.add_argument("--tls-client-ca", metavar="FILE", type=Path, help="authority that signs callers, PEM")
    tls.add_argument(
        "--allow-caller",
        metavar="NAME[=ROLE]",
        type=_caller,
        action="append",
        default=[],
        help="for certificates of an authority that does not know fleetprof's roles: a common name or alternative "
        "name that may call, as collector or viewer; may be given several times. Roles in certificates then count "
        "no more (default: they count, and nothing else)",
    )
    caps = parser.add_argument_group("limits, kept whatever a caller asks")
    caps.add_argument(
        "--max-rate-hz",
        metavar="HZ",
        type=_positive,
        default=limits.max_rate_hz,
        help="samples per second and CPU; more is thinned by a whole factor (default: %(default)g)",
    )
    caps.add_argument(
        "--max-seconds",
        metavar="S",
        type=_positive,
        default=limits.max_seconds,
        help="length of one capture; longer ones are shortened (default: %(default)g)",
    )
    caps.add_argument(
        "--max-concurrent",
        metavar="N",
        type=_count,
        default=limits.max_concurrent,
        help="captures at a time; more are refused (default: %(default)d)",
    )
    caps.add_argument(
        "--max-cpu-percent",
        metavar="P",
        type=_percent,
        default=limits.cpu_share * 100,
        help="of all CPUs while a capture runs; dearer ones are thinned (default: %(default)g)",
    )
    _add_names(parser)
    caps.add_argument(
        "--max-mib",
        metavar="MIB",
        type=_positive,
        default=limits.max_bytes / (1 << 20),
        help="of one capture before compression; one that reaches it ends early, says so, and loses nothing "
        "(default: %(default)g)",
    )
    caps.add_argument(
        "--max-memory-mib",
        metavar="MIB",
        type=_positive,
        default=limits.max_memory_bytes / (1 << 20),
        help="of the process that samples, besides rings and mapped files; a capture that reaches it ends "
        "early, and a fresh process takes the next (default: %(default)g)",
    )
    caps.add_argument(
        "--allow-event",
        metavar="PATTERN",
        action="append",
        default=[],
        help="events that may be sampled and counted, e.g. cpu, 'tracepoint:sched:*', 'raw:*', 'pmu:msr:*'; generic "
        "stands for all names without a colon; may be given several times (default: generic)",
    )
    sharing = parser.add_argument_group("symbols, for callers that lack this machine's files")
    sharing.add_argument(
        "--share-symbols",
        choices=[choice.value for choice in Share],
        default=Share.NO.value,
        help="what may be had of binaries that a capture saw lately, by build-id: nothing; symbol tables and the "
        "kernel's function offsets; whole files too (default: %(default)s)",
    )
    sharing.add_argument(
        "--share-max-mib",
        metavar="MIB",
        type=_count,
        default=SymbolSharing().max_bytes >> 20,
        help="of one binary, before compression; larger ones are refused (default: %(default)d)",
    )
    _add_calibration(parser)
    parser.add_argument(
        "--own-processes",
        choices=[choice.value for choice in OwnProcesses],
        default=OwnProcesses.AUTO.value,
        help="sample this user's processes only; auto: where the kernel allows no more (default: %(default)s)",
    )
    parser.add_argument(
        "--label",
        metavar="KEY=VALUE",
        type=_label,
        action="append",
        default=[],
        help="label of this machine, e.g. rack=b7; may be given several times",
    )
    parser.add_argument(
        "--idle-seconds",
        metavar="S",
        type=_positive,
        default=60.0,
        help="after the last call the server part ends and costs nothing; the next call starts it "
        "within about half a second (default: %(default)g)",
    )
    parser.add_argument(
        "--exit-when-idle",
        action="store_true",
        help="then end altogether; systemd starts the service anew at the next call. Only with --listen systemd",
    )
    parser.add_argument(
        "--state-dir",
        metavar="DIR",
        type=Path,
        help="where served visit ids and seen binaries are remembered when the daemon ends, for as long as this "
        "boot lasts: below /run (default: nowhere)",
    )
    parser.add_argument(
        "--user",
        metavar="NAME",
        help="started as root: listen, then become this user and keep only the capabilities that sampling needs "
        "(default: stay who started it, with only those)",
    )
    parser.add_argument(
        "--observe",
        metavar="ADDRESS",
        help="answer /healthz, /readyz and /metrics over HTTP at unix:/PATH or HOST:PORT; asking starts nothing. "
        "Not with --exit-when-idle (default: nowhere)",
    )
    parser.add_argument(
        "--observe-openly",
        action="store_true",
        help="--observe may be an address that other machines can reach",
    )
    parser.add_argument(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        default="info",
        help="least severe events that are logged (default: %(default)s)",
    )
    parser.add_argument(
        "--doctor",
        action="store_true",
        help="do not listen; say what a gateway started this way would not see of this machine, what that costs, and "
        "how to change it. Exit status 1 if something is bad",
    )
    parser.add_argument("--json", action="store_true", help="with --doctor: print the findings as JSON")
    return parser


def settings_of(options: argparse.Namespace, parser: argparse.ArgumentParser) -> Settings:
    """What the options say; ends the process by `parser.error` where they make no sense."""
    limits = Limits()
    if not options.listen:
        parser.error("--listen is required: an address, e.g. unix:/run/fleetprof/gateway.sock")
    try:
        addresses = tuple(parse_address(text) for text in options.listen)
    except ValueError as error:
        parser.error(str(error))
    if options.exit_when_idle and not all(isinstance(address, PassedSockets) for address in addresses):
        parser.error("--exit-when-idle: nobody would listen; it goes with --listen systemd alone")
    observe = _observed(options, parser)
    files = (options.tls_cert, options.tls_key, options.tls_client_ca)
    if any(files) and not all(files):
        parser.error("--tls-cert, --tls-key and --tls-client-ca must be set together")
    for file in filter(None, files):
        if not os.access(file, os.R_OK):
            parser.error(f"{file} cannot be read")
    return Settings(
        listen=addresses,
        tls=Tls(*files) if all(files) else None,
        limits=Limits(
            max_rate_hz=options.max_rate_hz,
            max_seconds=options.max_seconds,
            max_concurrent=options.max_concurrent,
            cpu_share=options.max_cpu_percent / 100,
            max_bytes=round(options.max_mib * (1 << 20)),
            max_memory_bytes=round(options.max_memory_mib * (1 << 20)),
            events=tuple(options.allow_event) or limits.events,
        ),
        own_processes=OwnProcesses(options.own_processes),
        labels=tuple(options.label),
        idle_s=options.idle_seconds,
        exit_when_idle=options.exit_when_idle,
        user=options.user,
        state_dir=options.state_dir,
        callers=tuple(options.allow_caller),
        sharing=SymbolSharing(Share(options.share_symbols), options.share_max_mib << 20),
        calibration=CalibrationSettings(
            options.allow_calibration,
            options.calibration_seconds,
            options.calibration_mib << 20,
            options.calibration_busy_percent / 100,
        ),
        names=_names(options, parser),
        observe=observe,
        observe_openly=options.observe_openly,
    )


def _observed(options: argparse.Namespace, parser: argparse.ArgumentParser) -> Address | None:
    if options.observe is None:
        return None
    try:
        address = parse_address(options.observe)
    except ValueError as error:
        parser.error(str(error))
    if isinstance(address, PassedSockets):
        parser.error("--observe: must be unix:/PATH or HOST:PORT")
    if options.exit_when_idle:
        parser.error("--observe: with --exit-when-idle nobody would answer between captures")
    return address


def _add_calibration(parser: argparse.ArgumentParser) -> None:
    usual = CalibrationSettings()
    group = parser.add_argument_group("calibration: idle CPUs are kept busy to measure them (docs/models.md)")
    group.add_argument(
        "--allow-calibration",
        action="store_true",
        help="collectors may ask for it; captures break it off (default: it is refused)",
    )
    group.add_argument(
        "--calibration-seconds",
        metavar="S",
        type=_seconds_of_calibration,
        default=usual.max_seconds,
        help="of measuring for one request; longer ones are shortened (default: %(default)g)",
    )
    group.add_argument(
        "--calibration-mib",
        metavar="MIB",
        type=_count,
        default=usual.max_bytes >> 20,
        help="of memory that loads are spread over; at least three times the last cache is needed (default: %(default)d)",
    )
    group.add_argument(
        "--calibration-busy-percent",
        metavar="P",
        type=_percent,
        default=usual.quiet * 100,
        help="other work that the machine and the measured CPUs may have; busier, it is refused (default: %(default)g)",
    )


def _add_names(parser: argparse.ArgumentParser) -> None:
    names = parser.add_argument_group("names of containers, pods and jobs (docs/containers.md)")
    names.add_argument(
        "--labels-file",
        metavar="FILE",
        type=Path,
        help="labels for containers, units and control groups, one line each; read again when it changes",
    )
    names.add_argument(
        "--kubelet-url",
        metavar="URL",
        help="this machine's kubelet: http://HOST:10255 (read-only port) or https://HOST:10250",
    )
    names.add_argument(
        "--kubelet-token",
        metavar="FILE",
        type=Path,
        help="token that may get nodes/pods; read for each question",
    )
    names.add_argument(
        "--kubelet-ca",
        metavar="FILE",
        type=Path,
        help="authority that signs the kubelet's certificate, PEM (default: the system's)",
    )
    names.add_argument(
        "--pod-label",
        metavar="KEY",
        action="append",
        default=[],
        help="a label of pods that is taken besides those that name application, version and job; "
        "may be given several times",
    )
    names.add_argument(
        "--env-label",
        metavar="NAME[=LABEL]",
        action="append",
        default=[],
        help="a variable of processes' environments that becomes the label env.NAME, or LABEL; "
        "no other is looked at; may be given several times",
    )
    names.add_argument(
        "--container-state",
        metavar="DIR",
        default="/",
        help="root of the file system with the container runtimes' state, for names of containers: "
        'the host\'s root where that is mounted; "no": it is not looked at (default: %(default)s)',
    )


def _names(options: argparse.Namespace, parser: argparse.ArgumentParser) -> LabelSettings:
    try:
        kubelet = None
        if options.kubelet_url:
            kubelet = parse_kubelet(options.kubelet_url, options.kubelet_token, options.kubelet_ca)
        elif options.kubelet_token or options.kubelet_ca:
            parser.error("--kubelet-token and --kubelet-ca are of no use without --kubelet-url")
        return LabelSettings(
            labels_file=options.labels_file,
            kubelet=kubelet,
            pod_labels=tuple(map(parse_pod_label, options.pod_label)),
            environment=tuple(map(parse_environment_label, options.env_label)),
            state_root=None if options.container_state == "no" else Path(options.container_state),
        )
    except ValueError as error:
        parser.error(str(error))


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def _seconds_of_calibration(text: str) -> float:
    value = _positive(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text}: less than 1 s says nothing")
    return value


def _percent(text: str) -> float:
    value = _positive(text)
    if value > 100:
        raise argparse.ArgumentTypeError(f"{text} is more than 100 percent")
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a count of at least 1")
    return value


def _label(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_.-]{0,62}", key):
        raise argparse.ArgumentTypeError(f"{text} is not KEY=VALUE with a key like rack or k8s_node")
    return key, value


def _caller(text: str) -> tuple[str, Role]:
    try:
        return parse_caller(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
