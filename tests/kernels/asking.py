"""What a guest's gateway is asked, and the verdicts on what it answers."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from pathlib import Path

import grpc
import zstandard

from fleetpb import capture_pb2, gateway_pb2, gateway_pb2_grpc

ANSWER_S = 300.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """One line of the table; `good` is None where nothing is demanded."""

    what: str
    found: str
    good: bool | None = None


def channel(port: int, certificates: Path) -> grpc.Channel:
    """Mutual TLS, as the collector's."""
    files = [(certificates / name).read_bytes() for name in ("ca.crt", "caller.key", "caller.crt")]
    options = [("grpc.ssl_target_name_override", "guest"), ("grpc.max_receive_message_length", 64 << 20)]
    return grpc.secure_channel(f"127.0.0.1:{port}", grpc.ssl_channel_credentials(*files), options)


@dataclass(frozen=True, slots=True)
class Answer:
    """A capture and what came with it, or the refusal."""

    capture: capture_pb2.Capture | None
    bytes: int
    refusal: gateway_pb2.Refusal | None


def capture(stub: gateway_pb2_grpc.GatewayStub, visit: uuid.UUID, seconds: float, rate_hz: float) -> Answer:
    """One capture of `cpu` with stacks and counters."""
    event = gateway_pb2.EventPlan(
        event="cpu", rate_hz=rate_hz, duration_ms=round(seconds * 1000), stacks=True
    )
    plan = gateway_pb2.Plan(visit_id=visit.bytes, events=[event], counters=True, ttl_ms=60_000)
    data = b""
    for reply in stub.Capture(plan, timeout=ANSWER_S, wait_for_ready=True):
        kind = reply.WhichOneof("reply")
        if kind == "refusal":
            return Answer(None, 0, reply.refusal)
        if kind == "data":
            data += reply.data
    raw = zstandard.ZstdDecompressor().decompress(data)
    return Answer(capture_pb2.Capture.FromString(raw), len(data), None)


def kernel_functions(stub: gateway_pb2_grpc.GatewayStub) -> tuple[int, str]:
    """How many functions the guest's kernel table names, or 0 and why not."""
    request = gateway_pb2.SymbolsRequest(what=gateway_pb2.SymbolsRequest.KERNEL)
    data = b""
    for reply in stub.Symbols(request, timeout=ANSWER_S):
        if reply.WhichOneof("reply") == "refusal":
            return 0, reply.refusal.message
        data += reply.data
    text = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return text.count(b"\n"), "given"


def judge(taken: capture_pb2.Capture, wire_bytes: int, cpus: int) -> list[Verdict]:
    """Of one capture of a guest with the load of guest.py."""
    [segment] = [one for one in taken.segments if taken.strings[one.event] == "cpu"]
    if segment.support != capture_pb2.SUPPORT_OK:
        return [Verdict("cpu can be sampled", f"no: errno {segment.errno}", good=False)]
    seconds = segment.duration_ns / 1e9
    expected = seconds * 1e9 / segment.period * cpus
    cost, lost = taken.cost, sum(segment.lost)
    stacks = _Stacks(taken, segment)
    deep = stacks.deepest("/usr/bin/load")
    units = {taken.strings[group.unit] for group in taken.groups}
    cpu_ms = cost.cpu_ms / segment.samples * 1000 if segment.samples else 0.0
    return [
        # An interpreted reader is a hundred times slower than a real one: it loses, and must count what it loses.
        Verdict(
            "samples",
            f"{segment.samples} and {lost} lost of {expected:.0f} in {seconds:.1f} s",
            segment.samples + lost > 0.25 * expected,
        ),
        Verdict("CPUs sampled", str(len(segment.cpus)), len(segment.cpus) == cpus),
        Verdict("stacks complete", f"{stacks.complete:.1%}", stacks.complete >= 0.9),
        Verdict("deepest stack of load", f"{deep} frames", deep >= 41),
        Verdict("samples in the kernel", f"{stacks.in_kernel:.1%}", stacks.in_kernel > 0.005),
        Verdict("kernel build-id", taken.machine.kernel_build_id[:16], bool(taken.machine.kernel_build_id)),
        Verdict(
            "systemd units", " ".join(sorted(units - {""})), {"load.service", "load-perl.service"} <= units
        ),
        Verdict("events", _events(taken.machine)),
        Verdict("bytes per sample", f"{wire_bytes / segment.samples:.1f}"),
        Verdict("gateway CPU ms per 1000 samples", f"{cpu_ms:.0f} (interpreted by qemu)"),
        Verdict("peak RSS", f"{cost.peak_rss_kib / 1024:.1f} MiB"),
        Verdict("thinned", taken.strings[segment.thinned_why] or "no"),
        Verdict("notes", "; ".join(taken.notes) or "none"),
    ]


def _events(machine: capture_pb2.Machine) -> str:
    by_support: dict[str, list[str]] = {}
    for event in machine.events:
        name = capture_pb2.Support.Name(event.support).removeprefix("SUPPORT_").lower()
        by_support.setdefault(name, []).append(event.event)
    return "; ".join(f"{support}: {' '.join(names)}" for support, names in sorted(by_support.items()))


class _Stacks:
    """The stack table of a capture, with the samples of one segment."""

    def __init__(self, taken: capture_pb2.Capture, segment: capture_pb2.Segment) -> None:
        self._taken = taken
        starts, at = [], 0
        for length in taken.stacks.length:
            starts.append(at)
            at += length
        self._rows: list[tuple[int, list[int], int, int]] = []
        for profile in segment.profiles:
            index = 0
            for delta, count in zip(profile.stack_delta, profile.count, strict=True):
                index += delta
                start = starts[index]
                frames = list(taken.stacks.frames[start : start + taken.stacks.length[index]])
                self._rows.append((profile.group, frames, taken.stacks.end[index], count))

    @property
    def _total(self) -> int:
        return sum(count for *_, count in self._rows)

    @property
    def complete(self) -> float:
        """Share of samples whose stack ends where its thread begins."""
        ends = (capture_pb2.STACK_END_COMPLETE,)
        return sum(count for _, _, end, count in self._rows if end in ends) / max(1, self._total)

    @property
    def in_kernel(self) -> float:
        """Share of samples with a frame of the kernel or a module."""
        kinds = (capture_pb2.Mapping.KERNEL, capture_pb2.Mapping.MODULE)
        frames = self._taken.frames
        kernel = {
            index
            for index, mapping in enumerate(frames.mapping)
            if self._taken.mappings[mapping].kind in kinds
        }
        hit = sum(count for _, stack, _, count in self._rows if not kernel.isdisjoint(stack))
        return hit / max(1, self._total)

    def deepest(self, exe: str) -> int:
        """Frames of the deepest stack of a program."""
        taken = self._taken
        mine = {index for index, group in enumerate(taken.groups) if taken.strings[group.exe] == exe}
        return max((len(stack) for group, stack, *_ in self._rows if group in mine), default=0)
