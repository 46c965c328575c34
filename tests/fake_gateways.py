"""Gateways for tests of the collector: one that does its part, and ways of not doing it.

Each is a real gRPC server on a Unix socket; only what it says is made up. A behaviour is a function
from the plan to the messages of the Capture call, either `CaptureReply`s or raw bytes.
"""

import hashlib
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path

import grpc
import zstandard

from fleetpb import capture_pb2, gateway_pb2

Message = gateway_pb2.CaptureReply | bytes
Behaviour = Callable[[gateway_pb2.Plan, grpc.ServicerContext], Iterator[Message]]
Symbols = Callable[[gateway_pb2.SymbolsRequest], Iterator[gateway_pb2.SymbolsReply | bytes]]
Reply = gateway_pb2.CaptureReply

MACHINE = capture_pb2.Machine(
    hostname="node",
    platform="Test CPU",
    architecture="x86_64",
    kernel_release="6.18.0",
    logical_cpus=8,
    cores=4,
    packages=1,
    threads_per_core=2,
)


def capture_of(visit_id: bytes, *, samples: int = 7, wall_start_ns: int = 0) -> capture_pb2.Capture:
    """A small capture that contradicts itself nowhere."""
    return capture_pb2.Capture(
        format=1,
        visit_id=visit_id,
        producer="test",
        machine=MACHINE,
        window=capture_pb2.Window(wall_start_ns=wall_start_ns, monotonic_start_ns=1, duration_ns=50_000_000),
        strings=["", "cpu", "cpu-clock", "nanoseconds", "proc", "/bin/proc"],
        mappings=[capture_pb2.Mapping(kind=capture_pb2.Mapping.FILE, path=5, build_id=b"\1" * 20)],
        frames=capture_pb2.FrameTable(mapping=[0], offset=[0x1000], into_function=[1], flags=[1]),
        stacks=capture_pb2.StackTable(frames=[0], length=[1], end=[capture_pb2.STACK_END_COMPLETE]),
        groups=[capture_pb2.ProcessGroup(comm=4, exe=5, main_mapping=1, processes=1)],
        segments=[
            capture_pb2.Segment(
                event=1,
                source=2,
                unit=3,
                support=capture_pb2.SUPPORT_OK,
                period=10_101_010,
                stacks=True,
                duration_ns=50_000_000,
                samples=samples,
                cpus=[0],
                profiles=[capture_pb2.GroupProfile(group=0, stack_delta=[0], count=[samples])],
            )
        ],
        system=capture_pb2.SystemState(utilisation=0.3),
    )


def packed(capture: capture_pb2.Capture) -> bytes:
    return zstandard.compress(capture.SerializeToString())


def begin(utilisation: float = 0.25, *changes: str) -> Reply:
    return Reply(begin=gateway_pb2.Begin(utilisation=utilisation, duration_ms=50, changes=changes))


def end(blob: bytes, *, seconds: float = 0.05, **changes) -> Reply:
    said = {"sha256": hashlib.sha256(blob).digest(), "bytes": len(blob), "samples": 7, "utilisation": 0.5}
    return Reply(end=gateway_pb2.End(seconds=seconds, **(said | changes)))


def refusal(reason: int, message: str = "no", utilisation: float = 0.0) -> Reply:
    return Reply(refusal=gateway_pb2.Refusal(reason=reason, message=message, utilisation=utilisation))


def answers(plan: gateway_pb2.Plan, _context: grpc.ServicerContext) -> Iterator[Message]:
    blob = packed(capture_of(plan.visit_id))
    yield begin()
    yield Reply(progress=gateway_pb2.Progress(done=0.5, samples=3))
    yield Reply(data=blob[:10])
    yield Reply(data=blob[10:])
    yield end(blob)


def hangs_after_begin(_plan: gateway_pb2.Plan, context: grpc.ServicerContext) -> Iterator[Message]:
    yield begin()
    yield from until_cancelled(context)


def says_nothing(_plan: gateway_pb2.Plan, context: grpc.ServicerContext) -> Iterator[Message]:
    yield from until_cancelled(context)


def until_cancelled(context: grpc.ServicerContext) -> Iterator[Message]:
    """Hang until the caller has gone, so that the server can be stopped."""
    gone = threading.Event()
    if context.add_callback(gone.set):
        gone.wait(30)
    return
    yield


def symbols_of(content: bytes, name: str = "file") -> Iterator[gateway_pb2.SymbolsReply]:
    """The whole answer to a Symbols call."""
    blob = zstandard.compress(content)
    yield gateway_pb2.SymbolsReply(begin=gateway_pb2.SymbolsBegin(name=name, raw_bytes=len(content)))
    for start in range(0, len(blob), 100_000):
        yield gateway_pb2.SymbolsReply(data=blob[start : start + 100_000])
    sha256 = hashlib.sha256(blob).digest()
    end_ = gateway_pb2.SymbolsEnd(sha256=sha256, bytes=len(blob), raw_bytes=len(content))
    yield gateway_pb2.SymbolsReply(end=end_)


def no_symbols(_request: gateway_pb2.SymbolsRequest) -> Iterator[gateway_pb2.SymbolsReply | bytes]:
    """As a gateway whose operator allows nothing."""
    refused = gateway_pb2.SymbolsRefusal(reason=gateway_pb2.SymbolsRefusal.NOT_ALLOWED, message="no")
    yield gateway_pb2.SymbolsReply(refusal=refused)


class Gateway(grpc.GenericRpcHandler):
    """Serves one behaviour, which may be changed while it runs."""

    def __init__(self, behaviour: Behaviour = answers) -> None:
        self.behaviour = behaviour
        self.machine: capture_pb2.Machine | bytes = MACHINE
        self.plans: list[gateway_pb2.Plan] = []
        self.symbols: Symbols = no_symbols
        self.asked: list[gateway_pb2.SymbolsRequest] = []
        self.address = ""

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        if details.method.endswith("/Capture"):
            return grpc.unary_stream_rpc_method_handler(
                self._capture, request_deserializer=gateway_pb2.Plan.FromString
            )
        if details.method.endswith("/Describe"):
            return grpc.unary_unary_rpc_method_handler(lambda _request, _context: _raw(self.machine))
        if details.method.endswith("/Symbols"):
            return grpc.unary_stream_rpc_method_handler(
                self._symbols, request_deserializer=gateway_pb2.SymbolsRequest.FromString
            )
        return None

    def _symbols(
        self, request: gateway_pb2.SymbolsRequest, _context: grpc.ServicerContext
    ) -> Iterator[bytes]:
        self.asked.append(request)
        return map(_raw, self.symbols(request))

    def _capture(self, plan: gateway_pb2.Plan, context: grpc.ServicerContext) -> Iterator[bytes]:
        self.plans.append(plan)
        return map(_raw, self.behaviour(plan, context))


@contextmanager
def serving(
    path: Path, behaviour: Behaviour = answers, *, credentials: grpc.ServerCredentials | None = None
) -> Iterator[Gateway]:
    """A gateway on the socket `path`, or with credentials on a port of 127.0.0.1."""
    gateway = Gateway(behaviour)
    server = grpc.server(futures.ThreadPoolExecutor(16), handlers=[gateway])
    if credentials is None:
        gateway.address = f"unix:{path}"
        server.add_insecure_port(gateway.address)
    else:
        gateway.address = f"localhost:{server.add_secure_port('localhost:0', credentials)}"
    server.start()
    try:
        yield gateway
    finally:
        server.stop(None).wait(10)


def _raw(message: Message | capture_pb2.Machine) -> bytes:
    return message if isinstance(message, bytes) else message.SerializeToString()
