"""The real daemon behind mutual TLS: who gets what, and who is taken for a gateway."""

import asyncio
import contextlib
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest

from collector.channel import Credentials
from collector.errors import NoAnswer
from collector.machine_description import describe
from fleetpb import capture_pb2, gateway_pb2, gateway_pb2_grpc
from services.certificates.kinds import Kind
from services.certificates.register import Register
from tests.gateway_daemon import (
    DEADLINE_S,
    Daemon,
    ask,
    children,
    plan,
    running,
    status,
    wait_until,
)
from tests.handshakes import PREFACE

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("permitted")]

HOST = "localhost"


@pytest.fixture(scope="module")
def certs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return issue(tmp_path_factory.mktemp("certs") / "fleet")


def issue(folder: Path) -> Path:
    """One certificate of each kind; the gateway's is for localhost."""
    register = Register(folder)
    register.init()
    register.issue(Kind.GATEWAY, (HOST, "127.0.0.1"))
    register.issue(Kind.GATEWAY, ("other.example",))
    register.issue(Kind.API, (HOST,))
    register.issue(Kind.COLLECTOR, ("main",))
    register.issue(Kind.VIEWER, ("grafana",))
    return folder


def tls(folder: Path) -> list[str]:
    return [
        *("--tls-cert", f"{folder}/gateway/{HOST}.crt", "--tls-key", f"{folder}/gateway/{HOST}.key"),
        *("--tls-client-ca", f"{folder}/ca.crt"),
    ]


def printable_path(
    folder: Path, kind: str, name: str, *, trusting: Path | None = None
) -> grpc.ChannelCredentials:
    """A caller who shows this certificate, and believes what the authority of `trusting` (its own) signed."""
    pair = ((folder / kind / f"{name}.{part}").read_bytes() for part in ("key", "crt"))
    return grpc.ssl_channel_credentials(((trusting or folder) / "ca.crt").read_bytes(), *pair)


@contextmanager
def secured(folder: Path, certs: Path, *options: str) -> Iterator[Daemon]:
    with running(folder, *tls(certs), *options, listen="127.0.0.1:0") as daemon:
        daemon.target = daemon.target.replace("127.0.0.1", HOST)
        yield daemon


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, certs: Path) -> Iterator[Daemon]:
    with secured(tmp_path_factory.mktemp("gateway"), certs) as started:
        yield started


def answered(daemon: Daemon, credentials: grpc.ChannelCredentials) -> dict[str, grpc.StatusCode]:
    """The status of each method, as this caller gets it."""
    symbols = gateway_pb2.SymbolsRequest(what=gateway_pb2.SymbolsRequest.KERNEL)
    with daemon.stub(credentials) as stub:
        methods: dict[str, Callable[[], object]] = {
            "Describe": lambda: stub.Describe(gateway_pb2.DescribeRequest(), timeout=DEADLINE_S),
            "Health": lambda: stub.Health(gateway_pb2.HealthRequest(), timeout=DEADLINE_S),
            "Symbols": lambda: list(stub.Symbols(symbols, timeout=DEADLINE_S)),
            "Calibrate": lambda: list(stub.Calibrate(gateway_pb2.CalibrateRequest(), timeout=DEADLINE_S)),
            "Capture": lambda: ask(stub, plan(seconds=0.1)).capture,
        }
        return {name: status(call) for name, call in methods.items()}


OK, DENIED, UNREACHABLE = (
    grpc.StatusCode.OK,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.UNAVAILABLE,
)


@pytest.mark.parametrize(
    ("kind", "name", "statuses"),
    [
        ("collector", "main", [OK, OK, OK, OK, OK]),
        ("viewer", "grafana", [OK, OK, DENIED, DENIED, DENIED]),
    ],
)
def test_each_role_gets_what_it_may_have(
    daemon: Daemon, certs: Path, kind: str, name: str, statuses: list[grpc.StatusCode]
):
    assert answered(daemon, printable_path(certs, kind, name)) == dict(
        zip(("Describe", "Health", "Symbols", "Calibrate", "Capture"), statuses, strict=True)
    )


def test_who_has_no_certificate_for_calling_gets_no_connection(daemon: Daemon, certs: Path, tmp_path: Path):
    strangers = issue(tmp_path / "strangers")
    for nobody in (
        None,
        grpc.ssl_channel_credentials((certs / "ca.crt").read_bytes()),
        printable_path(strangers, "collector", "main", trusting=certs),
        # A gateway commands nobody, itself included; nor does what the API's authority signed.
        printable_path(certs, "gateway", HOST),
        printable_path(certs, "gateway", "other.example"),
        printable_path(certs, "api", HOST),
    ):
        assert greeted(daemon, nobody) == UNREACHABLE


def greeted(daemon: Daemon, credentials: grpc.ChannelCredentials | None) -> grpc.StatusCode:
    with daemon.stub(credentials) as stub:
        return status(lambda: stub.Health(gateway_pb2.HealthRequest(), timeout=5))


def test_what_is_denied_is_said_to_the_caller_and_in_the_log(daemon: Daemon, certs: Path):
    with (
        daemon.stub(printable_path(certs, "viewer", "grafana")) as stub,
        pytest.raises(grpc.RpcError) as denied,
    ):
        ask(stub, plan())
    assert "grafana" in denied.value.details()
    assert "fleetprof certs issue" in denied.value.details()
    wait_until(
        "it is in the log", lambda: 'call denied method=Capture caller="grafana' in daemon.log.read_text()
    )


def test_calls_denied_without_end_do_not_fill_the_log(tmp_path: Path, certs: Path):
    with secured(tmp_path, certs) as daemon, daemon.stub(printable_path(certs, "viewer", "grafana")) as stub:
        for _ in range(50):
            assert status(lambda: ask(stub, plan())) == DENIED
        # Ten a minute; more than two minutes are not needed.
        assert 10 <= daemon.log.read_text().count("call denied") <= 20


def test_the_role_is_looked_at_before_what_the_call_says(daemon: Daemon, certs: Path):
    """What is no plan has a status of its own, which a viewer does not get."""
    statuses = {}
    for kind, name in (("collector", "main"), ("viewer", "grafana")):
        with grpc.secure_channel(daemon.target, printable_path(certs, kind, name)) as channel:
            call = channel.unary_stream("/fleetpb.v1.Gateway/Capture")
            statuses[kind] = status(lambda call=call: list(call(b"\xff", timeout=DEADLINE_S)))
    assert statuses == {"collector": grpc.StatusCode.INVALID_ARGUMENT, "viewer": DENIED}


def test_the_gateway_connects_to_nobody(daemon: Daemon, certs: Path):
    """While it captures and afterwards, its sockets of the network are the door and what came through it."""
    port = int(daemon.target.rpartition(":")[2])
    seen: list[set[int]] = []
    with daemon.stub(printable_path(certs, "collector", "main")) as stub:
        assert ask(stub, plan(seconds=0.3), on_begin=lambda: seen.append(local_ports(daemon))).end
        seen.append(local_ports(daemon))
    assert seen == [{port}, {port}]


def local_ports(daemon: Daemon) -> set[int]:
    """Of all sockets of TCP and UDP that its processes hold."""
    held = set()
    for pid in (daemon.process.pid, *children(daemon.process.pid)):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                held.add(str(descriptor.readlink()))
    lines = (
        line.split()
        for table in ("tcp", "tcp6", "udp", "udp6")
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
    )
    # proc_net_tcp(5): the second is the local address, the tenth the inode.
    return {int(line[1].rpartition(":")[2], 16) for line in lines if f"socket:[{line[9]}]" in held}


@pytest.mark.slow
def test_a_list_of_callers_takes_the_place_of_roles(tmp_path: Path, certs: Path):
    with secured(tmp_path, certs, "--allow-caller", "grafana") as daemon:
        assert set(answered(daemon, printable_path(certs, "viewer", "grafana")).values()) == {OK}
        assert set(answered(daemon, printable_path(certs, "collector", "main")).values()) == {DENIED}


def test_a_socket_and_an_address_side_by_side(tmp_path: Path, certs: Path):
    """The socket's caller needs no certificate; that does not open the address to anybody."""
    with (
        secured(tmp_path, certs, "--listen", f"unix:{tmp_path}/gateway.sock") as daemon,
        grpc.insecure_channel(f"unix:{tmp_path}/gateway.sock") as channel,
    ):
        assert gateway_pb2_grpc.GatewayStub(channel).Health(gateway_pb2.HealthRequest(), timeout=DEADLINE_S)
        assert answered(daemon, printable_path(certs, "viewer", "grafana"))["Capture"] == DENIED
        assert greeted(daemon, None) == UNREACHABLE


CONNECT = """
import os, socket, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
with socket.socket(socket.AF_UNIX) as caller:
    caller.connect(sys.argv[1])
    sys.exit(len(caller.recv(1)))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_is_shown_out_even_of_a_socket_that_everybody_can_open(tmp_path: Path):
    folder = Path("/tmp") / f"fp-open-{os.getpid()}"
    folder.mkdir(mode=0o755)
    try:
        with running(folder) as daemon:
            path = daemon.target.removeprefix("unix:")
            Path(path).chmod(0o666)
            shut = subprocess.run([sys.executable, "-c", CONNECT, path], timeout=DEADLINE_S, check=False)
            assert shut.returncode == 0  # the end of the connection, not a byte
            with socket.socket(socket.AF_UNIX) as ours:
                ours.connect(path)
                ours.sendall(PREFACE)
                assert ours.recv(1)  # gRPC's greeting
            assert "connection rejected" in daemon.log.read_text()
    finally:
        shutil.rmtree(folder)


# New files


@pytest.mark.slow
def test_new_certificates_are_taken_without_a_restart(tmp_path: Path, certs: Path):
    """Not even the server's process is another one; and an authority that is gone lets nobody in."""
    place = tmp_path / "place"
    shutil.copytree(certs, place)
    new = issue(tmp_path / "new")
    with secured(tmp_path, place) as daemon:
        assert answered(daemon, printable_path(certs, "collector", "main"))["Capture"] == OK
        server = daemon.server
        # Half of a rotation: a key that does not fit. The old pair goes on.
        replaced(new / f"gateway/{HOST}.key", place / f"gateway/{HOST}.key")
        assert greeted(daemon, printable_path(certs, "collector", "main")) == OK
        assert "certificates not reloaded" in daemon.log.read_text()
        replaced(new / f"gateway/{HOST}.crt", place / f"gateway/{HOST}.crt")
        replaced(new / "ca.crt", place / "ca.crt")
        assert answered(daemon, printable_path(new, "collector", "main"))["Capture"] == OK
        assert greeted(daemon, printable_path(certs, "collector", "main", trusting=new)) == UNREACHABLE
        assert daemon.server == server


def replaced(source: Path, target: Path) -> None:
    new = target.with_suffix(".new")
    shutil.copy(source, new)
    new.rename(target)


# Who is taken for a gateway


class Describing(gateway_pb2_grpc.GatewayServicer):
    """Answers whoever asks, as an impostor would."""

    def Describe(  # noqa: N802 - the name on the wire
        self, request: gateway_pb2.DescribeRequest, context: grpc.ServicerContext
    ) -> capture_pb2.Machine:
        return capture_pb2.Machine(hostname="impostor")


@contextmanager
def serving(folder: Path, kind: str, name: str) -> Iterator[str]:
    """A server that shows this certificate and lets anybody in; its address."""
    pair = tuple((folder / kind / f"{name}.{part}").read_bytes() for part in ("key", "crt"))
    server = grpc.server(ThreadPoolExecutor(2))
    gateway_pb2_grpc.add_GatewayServicer_to_server(Describing(), server)
    port = server.add_secure_port(f"{HOST}:0", grpc.ssl_server_credentials([pair]))
    server.start()
    try:
        yield f"{HOST}:{port}"
    finally:
        server.stop(None).wait()


@pytest.mark.parametrize(
    ("kind", "name", "why_not"),
    [
        ("gateway", "localhost", ""),
        ("gateway", "other.example", "the certificate of another machine"),
        ("collector", "main", "not a gateway's"),
        ("viewer", "grafana", "not a gateway's"),
        ("api", "localhost", "FLEETPROF_GATEWAY_CA did not sign"),  # the right name, but no gateway
    ],
)
def test_the_collector_takes_only_the_machines_own_gateway_for_it(
    certs: Path, kind: str, name: str, why_not: str
):
    ours = Credentials(certs / "ca.crt", certs / "collector/main.crt", certs / "collector/main.key")
    with serving(certs, kind, name) as address:
        if why_not:
            with pytest.raises(NoAnswer, match=why_not):
                asyncio.run(describe(address, ours))
        else:
            assert asyncio.run(describe(address, ours)).hostname == "impostor"
