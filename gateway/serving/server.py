"""The gRPC server: the process that samples. socket_activation starts it for the first call."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import logging
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

import grpc

from fleetpb import gateway_pb2_grpc
from gateway.calibration.calibration_service import CalibrationService
from gateway.capture.capture_resources import CaptureResources
from gateway.capture.host import find_access, require_supported
from gateway.capture.quota import Quota, limit_data, resident_memory
from gateway.serving.authorisation import Authorisation
from gateway.serving.call_clock import CallClock
from gateway.serving.malformed_requests import Malformed
from gateway.serving.service import GatewayService
from gateway.serving.tls import Certificates
from gateway.settings import Settings, SourceFramesMode, TcpAddress, UnixAddress
from gateway.symbols.symbol_service import SymbolService

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gateway.machine.kernel_map_cache import KernelMapCache
    from gateway.runtimes.python.programs import ProgramPool
    from gateway.served_visits import ServedVisits
    from gateway.symbols.seen_builds import SeenBuilds

# A capture or a calibration holds a thread; Describe, Health and refusals are short.
_SPARE_THREADS: Final = 4
_MAX_REQUEST_BYTES: Final = 64 << 10
# Concurrent calls, including those that wait for a thread.
_MAX_CALLS: Final = 64
_GRACE_S: Final = 5.0
# Allocations between two garbage collections. A capture creates tens of thousands of objects that live to its end
# and hardly a cycle: at the default of 700 the collector takes 6 % of its CPU time.
_COLLECTED_AFTER: Final = 10_000
_LOOK_S: Final = 0.1
_PR_SET_PDEATHSIG: Final = 1
_CONNECTION_AGE_S: Final = 600.0
"""A connection presents its certificate once: after this time it must reconnect with a valid one."""

_log: Final = logging.getLogger("gateway.server")


def serve(
    settings: Settings,
    inner: Sequence[Path],
    served_visits: ServedVisits,
    seen_builds: SeenBuilds,
    kernel_map_cache: KernelMapCache,
    *,
    frame_programs: ProgramPool | None = None,
    ready_pipe: int,
    connection_age_s: float = _CONNECTION_AGE_S,
) -> int:
    """Serve until SIGTERM or SIGINT; returns the exit status.

    Writes an empty line to `ready_pipe` when calls are accepted, then the peer's name for each permitted call
    (socket_activation.py). `inner` has one socket path per address of the settings. Connections older than
    `connection_age_s` (gRPC varies it by a tenth) accept no further calls; calls in progress continue. Raises
    GatewayError or OSError if it cannot start.
    """
    _die_with_parent()
    limit_data(settings.limits)
    names = os.uname()
    require_supported(names.sysname, names.release, names.machine)
    if frame_programs is not None:
        frame_programs.clear_processes()
    resources = CaptureResources(
        find_access(settings.own_processes),
        settings.limits,
        dict(settings.labels),
        settings.names,
        kernel_map_cache,
        frame_programs=frame_programs,
        keep_interpreter=settings.source_frames is SourceFramesMode.WITH_INTERPRETER,
        read_java=settings.source_frames is not SourceFramesMode.OFF,
    )
    symbol_service = SymbolService(settings.sharing, seen_builds, served_visits, resources.kernel_build_id)
    awake, signalled = threading.Event(), threading.Event()
    calibration_service = CalibrationService(
        settings.calibration, served_visits, resources.machine.platform, resources.machine.virtualization
    )
    service = GatewayService(resources, served_visits, symbol_service, calibration_service, retire=awake.set)
    has_sockets = any(isinstance(address, UnixAddress) for address in settings.listen)

    def report_verified(peer: str) -> None:
        # If the pipe is full, the client only stays unverified: no reason to block.
        with contextlib.suppress(OSError):
            os.write(ready_pipe, f"{peer}\n".encode())

    os.set_blocking(ready_pipe, False)
    server = grpc.server(
        ThreadPoolExecutor(settings.limits.max_concurrent + _SPARE_THREADS),
        interceptors=[
            CallClock(),
            Authorisation(settings.callers, sockets=has_sockets, on_permitted=report_verified),
            Malformed(),
        ],
        options=server_options(connection_age_s),
        # More calls would wait for a thread in an unbounded queue.
        maximum_concurrent_rpcs=_MAX_CALLS,
    )
    gateway_pb2_grpc.add_GatewayServicer_to_server(service, server)
    certificates: Certificates | None = None
    for address, path in zip(settings.listen, inner, strict=True):
        target = f"unix:{path}"
        if isinstance(address, TcpAddress):
            assert settings.tls is not None
            certificates = certificates or Certificates(settings.tls)
            server.add_secure_port(target, certificates.credentials())
        else:
            server.add_insecure_port(target)

    def stop(*_: object) -> None:
        signalled.set()
        awake.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    server.start()
    # What is loaded now lives until the end: the garbage collector need not scan it again.
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECTED_AFTER)
    os.write(ready_pipe, b"\n")
    if Quota(settings.limits).is_nearly_exceeded:
        _log.warning(
            "memory limit is too low: every capture will end early",
            extra={
                "fields": {
                    "used_mib": resident_memory() >> 20,
                    "limit_mib": settings.limits.max_memory_bytes >> 20,
                }
            },
        )
    _log.debug("server ready", extra={"fields": {"access": resources.access.value}})
    awake.wait()
    if not signalled.is_set():
        # Retiring: calls in progress finish, unless a signal arrives.
        ended = server.stop(settings.limits.max_seconds + _GRACE_S)
        while not signalled.is_set():
            if ended.wait(_LOOK_S):
                return 0
    service.stop()
    server.stop(_GRACE_S).wait()
    return 0


def server_options(connection_age_s: float = _CONNECTION_AGE_S) -> list[tuple[str, int]]:
    """Channel options of the gRPC server."""
    return [
        ("grpc.max_receive_message_length", _MAX_REQUEST_BYTES),
        ("grpc.so_reuseport", 0),
        # A ping detects a client whose machine vanished during a capture.
        ("grpc.keepalive_time_ms", 10_000),
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.keepalive_permit_without_calls", 0),
        # For a client that is silent after the handshake; places are limited (unverified_clients.py).
        ("grpc.server_handshake_timeout_ms", 10_000),
        ("grpc.max_concurrent_streams", _MAX_CALLS),
        ("grpc.max_connection_age_ms", round(connection_age_s * 1000)),
    ]


def _die_with_parent() -> None:
    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)
