"""The options of `fleetprof-gateway` and the settings they give; docs/cli.md is generated from them."""

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
    SourceFramesMode,
    SymbolSharing,
    Tls,
    parse_address,
)

_DESCRIPTION: Final = """\
The fleetprof gateway, the agent on each node. It opens no perf events until a collector
calls it. Then it samples the whole machine for some seconds, unwinds stacks locally (stack
memory never leaves the machine), and returns one compressed capture.
"""
_EPILOG: Final = """\
examples:
  fleetprof-gateway --listen unix:/run/fleetprof/gateway.sock
      for callers on this machine with the same user; the socket has mode 0600
  fleetprof-gateway --listen 0.0.0.0:7411 --tls-cert gw.pem --tls-key gw.key --tls-client-ca ca.pem
      for a collector elsewhere; only callers whose certificate is signed by ca.pem
      and has the role collector get captures (`fleetprof certs` creates them)

privileges:
  Root, or CAP_PERFMON to sample, SYS_PTRACE, CHECKPOINT_RESTORE and DAC_READ_SEARCH to read other
  users' processes, SYSLOG for kernel addresses, IPC_LOCK for rings of 1 MiB per CPU. Without any of them
  it samples only its own user's processes, if kernel.perf_event_paranoid is 2 or less.

It runs until SIGTERM or SIGINT and logs to stderr, one line per event. Exit status: 0 after a signal,
1 if it cannot work here, 2 for invalid arguments.
"""


def build_parser() -> argparse.ArgumentParser:
    """All options with their defaults; docs/cli.md is generated from it."""
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
        help=(
            "unix:/PATH, HOST:PORT, or systemd for sockets passed by a socket unit; repeatable; addresses that "
            "other machines can reach need the three --tls options"
        ),
    )
    parser.add_argument(
        "--events",
        metavar="EVENT",
        nargs="*",
        help=(
            "instead of listening, print the events that this machine has and why others are missing: those "
            "named, or all generic ones"
        ),
    )
    tls = parser.add_argument_group("mutual TLS")
    tls.add_argument("--tls-cert", metavar="FILE", type=Path, help="certificate chain of this gateway, PEM")
    tls.add_argument("--tls-key", metavar="FILE", type=Path, help="private key of that certificate, PEM")
    tls.add_argument(
        "--tls-client-ca", metavar="FILE", type=Path, help="authority that signs callers' certificates, PEM"
    )
    tls.add_argument(
        "--allow-caller",
        metavar="NAME[=ROLE]",
        type=_caller,
        action="append",
        default=[],
        help=(
            "for certificates of an authority without fleetprof's roles: a common name or alternative name that "
            "may call, as collector or viewer; repeatable. Roles in certificates are then ignored (default: "
            "only roles count)"
        ),
    )
    caps = parser.add_argument_group("limits, enforced on every plan")
    caps.add_argument(
        "--max-rate-hz",
        metavar="HZ",
        type=_positive,
        default=limits.max_rate_hz,
        help="samples per second and CPU; higher rates are divided by a whole factor (default: %(default)g)",
    )
    caps.add_argument(
        "--max-seconds",
        metavar="S",
        type=_positive,
        default=limits.max_seconds,
        help="duration of one capture; longer ones are shortened (default: %(default)g)",
    )
    caps.add_argument(
        "--max-concurrent",
        metavar="N",
        type=_count,
        default=limits.max_concurrent,
        help="captures at the same time; more are refused (default: %(default)d)",
    )
    caps.add_argument(
        "--max-cpu-percent",
        metavar="P",
        type=_percent,
        default=limits.cpu_share * 100,
        help="CPU time of a capture as a share of all CPUs; above it samples are thinned (default: %(default)g)",
    )
    _add_names(parser)
    caps.add_argument(
        "--max-mib",
        metavar="MIB",
        type=_positive,
        default=limits.max_bytes / (1 << 20),
        help=(
            "size of one capture before compression; at the limit it ends early, records that, and keeps its "
            "data so far (default: %(default)g)"
        ),
    )
    caps.add_argument(
        "--max-memory-mib",
        metavar="MIB",
        type=_positive,
        default=limits.max_memory_bytes / (1 << 20),
        help=(
            "memory of the sampling process, without rings and mapped files; at the limit a capture ends early, "
            "and a new process takes the next (default: %(default)g)"
        ),
    )
    caps.add_argument(
        "--allow-event",
        metavar="PATTERN",
        action="append",
        default=[],
        help=(
            "events that may be sampled and counted, e.g. cpu, 'tracepoint:sched:*', 'raw:*', 'pmu:msr:*'; "
            "generic means all names without a colon; repeatable (default: generic)"
        ),
    )
    sharing = parser.add_argument_group("symbols, for collectors without this machine's files")
    sharing.add_argument(
        "--share-symbols",
        choices=[choice.value for choice in Share],
        default=Share.NO.value,
        help=(
            "what to share of recently sampled binaries, by build-id: nothing; symbol tables and the kernel's "
            "function offsets; whole files too (default: %(default)s)"
        ),
    )
    sharing.add_argument(
        "--share-max-mib",
        metavar="MIB",
        type=_count,
        default=SymbolSharing().max_bytes >> 20,
        help="size of one binary before compression; larger ones are refused (default: %(default)d)",
    )
    _add_calibration(parser)
    parser.add_argument(
        "--own-processes",
        choices=[choice.value for choice in OwnProcesses],
        default=OwnProcesses.AUTO.value,
        help="sample only this user's processes; auto: only if the kernel allows no more (default: %(default)s)",
    )
    parser.add_argument(
        "--label",
        metavar="KEY=VALUE",
        type=_label,
        action="append",
        default=[],
        help="label of this machine, e.g. rack=b7; repeatable",
    )
    parser.add_argument(
        "--idle-seconds",
        metavar="S",
        type=_positive,
        default=60.0,
        help=(
            "time after the last call until the server part ends; the next call starts it within about half a "
            "second (default: %(default)g)"
        ),
    )
    parser.add_argument(
        "--exit-when-idle",
        action="store_true",
        help="exit when idle; systemd starts the service again at the next call. Only with --listen systemd",
    )
    parser.add_argument(
        "--state-dir",
        metavar="DIR",
        type=Path,
        help=(
            "folder below /run that keeps served visit ids and seen binaries between runs, until the machine "
            "reboots (default: none)"
        ),
    )
    parser.add_argument(
        "--user",
        metavar="NAME",
        help=(
            "if started as root: listen, then become this user and keep only the capabilities for sampling "
            "(default: keep the user, with only these capabilities)"
        ),
    )
    parser.add_argument(
        "--metrics-listen",
        metavar="ADDRESS",
        help=(
            "serve /healthz, /readyz and /metrics over HTTP at unix:/PATH or HOST:PORT; requests start no "
            "process. Not with --exit-when-idle (default: nowhere)"
        ),
    )
    parser.add_argument(
        "--metrics-allow-remote",
        action="store_true",
        help="allow an --metrics-listen address that other machines can reach",
    )
    parser.add_argument(
        "--source-frames",
        choices=[mode.value for mode in SourceFramesMode],
        default=SourceFramesMode.ON.value,
        help=(
            "read the functions and lines of Java programs, and those of Python programs by a BPF program, where this "
            "machine permits it; with-interpreter: keep the interpreter's C functions that run them, too (default: %(default)s)"
        ),
    )
    parser.add_argument(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        default="info",
        help="minimum severity of logged events (default: %(default)s)",
    )
    parser.add_argument(
        "--doctor",
        action="store_true",
        help=(
            "do not listen; print what a gateway with these options cannot sample on this machine, "
            "the consequence, and the fix. Exit status 1 if a finding is bad"
        ),
    )
    parser.add_argument("--json", action="store_true", help="with --doctor: print the findings as JSON")
    return parser


def settings_of(options: argparse.Namespace, parser: argparse.ArgumentParser) -> Settings:
    """Settings from the options; ends the process by `parser.error` if they are invalid."""
    limits = Limits()
    if not options.listen:
        parser.error("--listen is required, e.g. --listen unix:/run/fleetprof/gateway.sock")
    try:
        addresses = tuple(parse_address(text) for text in options.listen)
    except ValueError as error:
        parser.error(str(error))
    if options.exit_when_idle and not all(isinstance(address, PassedSockets) for address in addresses):
        parser.error(
            "--exit-when-idle needs a socket that systemd holds: use --listen systemd, and no other address"
        )
    metrics_listen = _metrics_address(options, parser)
    files = (options.tls_cert, options.tls_key, options.tls_client_ca)
    if any(files) and not all(files):
        parser.error("--tls-cert, --tls-key and --tls-client-ca must be given together")
    for file in filter(None, files):
        if not os.access(file, os.R_OK):
            parser.error(f"cannot read {file}: check that it exists and that this user may read it")
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
        source_frames=SourceFramesMode(options.source_frames),
        callers=tuple(options.allow_caller),
        sharing=SymbolSharing(Share(options.share_symbols), options.share_max_mib << 20),
        calibration=CalibrationSettings(
            options.allow_calibration,
            options.calibration_seconds,
            options.calibration_mib << 20,
            options.calibration_busy_percent / 100,
        ),
        names=_names(options, parser),
        metrics_listen=metrics_listen,
        metrics_allow_remote=options.metrics_allow_remote,
    )


def _metrics_address(options: argparse.Namespace, parser: argparse.ArgumentParser) -> Address | None:
    if options.metrics_listen is None:
        return None
    try:
        address = parse_address(options.metrics_listen)
    except ValueError as error:
        parser.error(str(error))
    if isinstance(address, PassedSockets):
        parser.error("--metrics-listen systemd is not possible: expected unix:/PATH or HOST:PORT")
    if options.exit_when_idle:
        parser.error(
            "--metrics-listen does not work with --exit-when-idle, because no process runs between captures: remove "
            "one of them"
        )
    return address


def _add_calibration(parser: argparse.ArgumentParser) -> None:
    usual = CalibrationSettings()
    group = parser.add_argument_group("calibration: measurements that keep idle CPUs busy (docs/models.md)")
    group.add_argument(
        "--allow-calibration",
        action="store_true",
        help="allow collectors to calibrate; captures interrupt it (default: refused)",
    )
    group.add_argument(
        "--calibration-seconds",
        metavar="S",
        type=_seconds_of_calibration,
        default=usual.max_seconds,
        help="measuring time of one request; longer ones are shortened (default: %(default)g)",
    )
    group.add_argument(
        "--calibration-mib",
        metavar="MIB",
        type=_count,
        default=usual.max_bytes >> 20,
        help="memory over which loads are spread; needs at least three times the last cache (default: %(default)d)",
    )
    group.add_argument(
        "--calibration-busy-percent",
        metavar="P",
        type=_percent,
        default=usual.quiet * 100,
        help=(
            "limit of other load on the machine and on the measured CPUs; above it calibration is refused "
            "(default: %(default)g)"
        ),
    )


def _add_names(parser: argparse.ArgumentParser) -> None:
    names = parser.add_argument_group("names of containers, pods and jobs (docs/containers.md)")
    names.add_argument(
        "--labels-file",
        metavar="FILE",
        type=Path,
        help=(
            "file of labels for containers, units and control groups, one rule per line; read again when it "
            "changes"
        ),
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
        help="file of a token with permission to get nodes/pods; read for each request",
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
        help="additional pod label to record, besides those for application, version and job; repeatable",
    )
    names.add_argument(
        "--env-label",
        metavar="NAME[=LABEL]",
        action="append",
        default=[],
        help=(
            "environment variable of processes to record as the label env.NAME, or LABEL; no other variable is "
            "read; repeatable"
        ),
    )
    names.add_argument(
        "--container-state",
        metavar="DIR",
        default="/",
        help=(
            "root of the file system with the container runtimes' state, for names of containers: the host's "
            'root if it is mounted elsewhere; "no" turns it off (default: %(default)s)'
        ),
    )


def _names(options: argparse.Namespace, parser: argparse.ArgumentParser) -> LabelSettings:
    try:
        kubelet = None
        if options.kubelet_url:
            kubelet = parse_kubelet(options.kubelet_url, options.kubelet_token, options.kubelet_ca)
        elif options.kubelet_token or options.kubelet_ca:
            parser.error("--kubelet-token and --kubelet-ca need --kubelet-url")
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
        raise argparse.ArgumentTypeError(f"invalid value {text!r}: expected a positive number")
    return value


def _seconds_of_calibration(text: str) -> float:
    value = _positive(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"invalid value {text!r}: expected at least 1 (second)")
    return value


def _percent(text: str) -> float:
    value = _positive(text)
    if value > 100:
        raise argparse.ArgumentTypeError(f"invalid value {text!r}: expected at most 100 (percent)")
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"invalid value {text!r}: expected an integer of at least 1")
    return value


def _label(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_.-]{0,62}", key):
        raise argparse.ArgumentTypeError(
            f"invalid label {text!r}: expected KEY=VALUE with a key such as rack or k8s_node"
        )
    return key, value


def _caller(text: str) -> tuple[str, Role]:
    try:
        return parse_caller(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
