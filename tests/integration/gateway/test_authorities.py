"""GIVEN two authorities at a time WHEN the old one is taken out THEN its certificates are worth nothing, without a restart."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import grpc
import pytest

from collector.channel import Credentials
from collector.errors import NoAnswer
from collector.machine_description import describe
from fleetpb import gateway_pb2, gateway_pb2_grpc
from tests.gateway_daemon import DEADLINE_S, ROOT, require_perf_events
from tests.integration.gateway.test_authorisation import (
    HOST,
    OK,
    UNREACHABLE,
    answered,
    greeted,
    issue,
    printable_path,
    secured,
    serving,
    status,
    tls,
)
from tests.polling import until

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return issue(tmp_path_factory.mktemp("old") / "fleet")


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return issue(tmp_path_factory.mktemp("new") / "fleet")


@pytest.fixture
def trusted(tmp_path: Path, old: Path, new: Path) -> Path:
    """A file that holds both authorities."""
    file = tmp_path / "authorities.crt"
    trust(file, old, new)
    return file


def trust(file: Path, *fleets: Path) -> None:
    """Have the file hold these fleets' authorities."""
    fresh = file.with_suffix(".new")
    fresh.write_bytes(b"".join((fleet / "ca.crt").read_bytes() for fleet in fleets))
    fresh.rename(file)


def served_by(old: Path, trusted: Path) -> list[str]:
    """Options of a gateway that shows the old fleet's certificate and lets callers of the trusted authorities in."""
    return [*tls(old)[:-1], str(trusted)]


def health(stub: gateway_pb2_grpc.GatewayStub) -> grpc.StatusCode:
    return status(lambda: stub.Health(gateway_pb2.HealthRequest(), timeout=DEADLINE_S))


@pytest.mark.slow
def test_callers_of_both_are_served_and_of_the_old_one_no_more_when_it_is_gone(
    tmp_path: Path, old: Path, new: Path, trusted: Path
):
    require_perf_events()
    of_old, of_new = (printable_path(fleet, "collector", "main", trusting=old) for fleet in (old, new))
    with secured(tmp_path, old, "--tls-client-ca", str(trusted)) as daemon:
        assert set(answered(daemon, of_old).values()) == {OK}
        assert set(answered(daemon, of_new).values()) == {OK}
        server = daemon.server
        with daemon.stub(of_old, [("grpc.use_local_subchannel_pool", 1)]) as held:
            assert health(held) == OK
            trust(trusted, new)
            assert greeted(daemon, of_old) == UNREACHABLE
            assert health(held) == OK, "for ten minutes from its beginning"
        assert answered(daemon, of_new)["Capture"] == OK
        assert daemon.server == server


_SERVER = """
import sys
from pathlib import Path
from gateway.serving.grpc_environment import set_grpc_environment

set_grpc_environment()
from gateway.served_visits import ServedVisits
from gateway.machine.kernel_map_cache import KernelMapCache
from gateway.options import build_parser, settings_of
from gateway.serving.server import serve
from gateway.symbols.seen_builds import SeenBuilds

path, age, *options = sys.argv[1:]
parser = build_parser()
settings = settings_of(parser.parse_args(options), parser)
sys.exit(
    serve(
        settings, [Path(path)], ServedVisits(), SeenBuilds(), KernelMapCache(), ready_pipe=1, connection_age_s=float(age)
    )
)
"""


@contextmanager
def serving_for(path: Path, age_s: float, options: Sequence[str]) -> Iterator[str]:
    """The server part alone, whose connections grow so old; its target."""
    with subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(path), str(age_s), "--listen", "127.0.0.1:0", *options],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'proto'}"},
        stdout=subprocess.PIPE,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"\n", "it is ready"
            yield f"unix:{path}"
        finally:
            process.terminate()
            process.wait(DEADLINE_S)


@pytest.mark.slow
def test_a_connection_shows_its_certificate_again_after_a_while(
    tmp_path: Path, old: Path, new: Path, trusted: Path
):
    require_perf_events()
    options = [("grpc.ssl_target_name_override", HOST), ("grpc.use_local_subchannel_pool", 1)]
    with serving_for(tmp_path / "s", 2.0, served_by(old, trusted)) as target, ExitStack() as ending:
        of_old, of_new = (
            gateway_pb2_grpc.GatewayStub(
                ending.enter_context(
                    grpc.secure_channel(
                        target, printable_path(fleet, "collector", "main", trusting=old), options
                    )
                )
            )
            for fleet in (old, new)
        )
        assert health(of_old) == health(of_new) == OK
        trust(trusted, new)
        until(lambda: health(of_old) == UNREACHABLE, "it has to show its certificate")
        assert health(of_new) == OK


def test_the_collector_takes_gateways_of_both_until_the_old_one_is_gone(old: Path, new: Path, trusted: Path):
    ours = Credentials(trusted, new / "collector/main.crt", new / "collector/main.key")
    with serving(old, "gateway", HOST) as of_old, serving(new, "gateway", HOST) as of_new:
        for address in (of_old, of_new):
            assert asyncio.run(describe(address, ours)).hostname == "impostor"
        trust(trusted, new)
        with pytest.raises(NoAnswer, match="FLEETPROF_GATEWAY_CA did not sign"):
            asyncio.run(describe(of_old, ours))
        assert asyncio.run(describe(of_new, ours)).hostname == "impostor"
