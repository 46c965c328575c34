"""`fleetprof calibrate` on a real PostgreSQL, with gateways that are real servers whose figures are made up."""

import json
import math
import sys
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from typing import get_args

import grpc
import pytest

from analysis.smt.overlap import from_throughput
from collector.calibration_runner import Workload
from fleetpb import capture_pb2, gateway_pb2, gateway_pb2_grpc
from services.cli import main
from services.commands import calibrate as command
from storage import calibrations
from storage.calibrations import Calibration, Kind
from storage.inventory import NewMachine, add, describe, find
from tests.gateway_daemon import CALIBRATION_MIB, require_calibration_memory, running

pytestmark = pytest.mark.integration

Request = gateway_pb2.CalibrateRequest
Refusal = gateway_pb2.CalibrateRefusal
Reply = gateway_pb2.CalibrateReply
Behaviour = Callable[[Request], Iterator[Reply]]
PLATFORM = "Test  CPU @ 2 GHz"  # two blanks, as some have
BEGIN = Reply(
    begin=gateway_pb2.CalibrateBegin(platform=PLATFORM, cpus=[0, 2], changes=["shortened from 9 s"])
)
PROGRESS = Reply(progress=gateway_pb2.CalibrateProgress(done=0.5))
SINGLE, BOTH = (1000.0, 1010.0, 990.0), (1400.0, 1420.0, 1380.0)


def end(**figures: object) -> Reply:
    return Reply(end=gateway_pb2.CalibrateEnd(engine="test loop", **figures))


@contextmanager
def gateway(folder, behaviour: Behaviour | None) -> Iterator[tuple[str, list[Request]]]:
    """A gateway's address and what it was asked; None: one that does not know the call."""
    asked: list[Request] = []

    class Servicer(gateway_pb2_grpc.GatewayServicer):
        def Calibrate(self, request, context):  # noqa: N802 - the name on the wire
            asked.append(request)
            if behaviour is None:
                context.abort(grpc.StatusCode.UNIMPLEMENTED, "Method not found!")
            yield from behaviour(request)

    server = grpc.server(futures.ThreadPoolExecutor(2))
    gateway_pb2_grpc.add_GatewayServicer_to_server(Servicer(), server)
    address = f"unix:{folder}/gateway.sock"
    server.add_insecure_port(address)
    server.start()
    try:
        yield address, asked
    finally:
        server.stop(None).wait()


@pytest.fixture
def fleetprof(database_url, tmp_path, monkeypatch, capsys):
    """Run `fleetprof calibrate`; its exit code, standard output and standard error."""
    monkeypatch.setenv("FLEETPROF_DATABASE_URL", database_url)
    monkeypatch.setenv("FLEETPROF_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["fleetprof", "calibrate", *arguments])
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture
def machine(engine, tmp_path):
    """Put a machine with this gateway into the inventory."""

    @contextmanager
    def serving(behaviour: Behaviour | None) -> Iterator[list[Request]]:
        with gateway(tmp_path, behaviour) as (address, asked):
            with engine.begin() as connection:
                add(connection, NewMachine("m1", address), replace=True)
            yield asked

    return serving


def kept(engine) -> tuple[Calibration, ...]:
    with engine.connect() as connection:
        return calibrations.read(connection)


def measures_overlap(_: Request) -> Iterator[Reply]:
    yield from (BEGIN, PROGRESS, end(single=SINGLE, both=BOTH, disturbed=2, doubts=["it is [red]virtual"]))


def measures_memory(_: Request) -> Iterator[Reply]:
    yield from (
        BEGIN,
        end(
            latency_ns=[90, 92, 91],
            bytes_per_s=[4e10, 4.2e10],
            working_set_bytes=96 << 20,
            cache_bytes=32 << 20,
        ),
    )


def test_an_overlap_coefficient_is_measured_kept_listed_and_forgotten(fleetprof, machine, engine):
    known = from_throughput(SINGLE, BOTH)
    with machine(measures_overlap) as asked:
        code, out, err = fleetprof(
            "smt", "m1", "--work", "float", "--application", "render", "--repetitions", "3"
        )
    assert code == 0, err
    assert asked == [Request(what=Request.SMT, work=Request.FLOAT, duration_ms=5000, repetitions=3)]
    assert f"smt of {PLATFORM} for render is {known.coefficient:.3f} ({known.lo:.3f} … {known.hi:.3f})" in out
    assert "adds 40% of a core's throughput" in out
    assert "test loop" in out
    assert "shortened from 9 s" in err
    assert "2 more repetitions were discarded" in err
    assert "Doubtful: it is [red]virtual." in err
    (figure,) = kept(engine)
    assert (figure.kind, figure.platform, figure.workload, figure.machine) == (
        Kind.SMT,
        PLATFORM,
        "render",
        "m1",
    )
    assert (figure.value, figure.lo, figure.hi) == pytest.approx((known.coefficient, known.lo, known.hi))
    assert (figure.measured, figure.repetitions) == (True, 3)
    assert "3 measurements on m1" in fleetprof("list")[1]
    (plain,) = json.loads(fleetprof("list", "--json")[1])["calibrations"]
    assert plain["kind"] == "smt"
    assert fleetprof("forget", "smt", PLATFORM)[0] == 1, "that of all applications is another"
    assert fleetprof("forget", "smt", PLATFORM, "--application", "render")[0] == 0
    assert "No constant is stored" in fleetprof("list")[1]


def test_memory_gives_two_figures_and_a_dry_run_keeps_none(fleetprof, machine, engine):
    with machine(measures_memory) as asked:
        code, out, err = fleetprof("memory", "m1", "--for", "2s", "--dry-run", "--json")
        assert code == 0, err
        assert asked == [Request(what=Request.MEMORY, duration_ms=2000, repetitions=5)]
        said = json.loads(out)
        assert said["kept"] is False
        assert said["measured"]["latency_ns"] == [90, 92, 91]
        assert kept(engine) == ()
        code, out, _ = fleetprof("memory", "m1")
    assert code == 0
    assert "96 MiB; the size of the last cache is 32 MiB" in out
    bandwidth, latency = kept(engine)
    assert latency.kind is Kind.MEMORY_LATENCY
    half = 4.302652729911275 / math.sqrt(3)  # Student's t of 2 degrees of freedom; the deviation is 1
    assert (latency.value, latency.lo, latency.hi) == pytest.approx((91, 91 - half, 91 + half))
    assert bandwidth.kind is Kind.MEMORY_BANDWIDTH
    assert bandwidth.value == pytest.approx(4.1e10)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        (lambda _: iter([Reply(refusal=Refusal(reason=Refusal.NO_SIBLINGS, message="no \x1b[2Jsiblings"))]), "NO_SIBLINGS: no [2Jsiblings"),
        (lambda _: iter([BEGIN, Reply(refusal=Refusal(reason=77))]), "reason 77: it gave no reason"),
        (lambda _: iter([BEGIN, PROGRESS]), "stopped before its end"),
        (lambda _: iter([end(single=[1], both=[1])]), "does not match gateway.proto"),
        (lambda _: iter([BEGIN, end(single=[1, -1], both=[1, 1])]), "no valid measurements"),
        (lambda _: iter([BEGIN, end(single=[1, math.nan], both=[1, 1])]), "no valid measurements"),
        (lambda _: iter([BEGIN, end(single=[1])]), "no valid measurements"),
        (lambda _: iter([BEGIN, end(single=[1, 1.01], both=[3, 3.01])]), "a busy neighbour makes work faster"),
        (lambda _: iter([Reply(begin=gateway_pb2.CalibrateBegin()), end(single=[1], both=[1])]), "does not report the platform"),
        (None, "older than calibration"),
    ],
)  # fmt: skip
def test_what_gives_no_figure_ends_with_a_sentence(fleetprof, machine, engine, behaviour, said):
    with machine(behaviour):
        code, out, err = fleetprof("smt", "m1")
    assert code == 1
    assert out == ""
    assert said in err
    assert "Traceback" not in err
    assert kept(engine) == ()


def test_a_gateway_names_no_other_platform_than_the_inventorys(fleetprof, machine, engine):
    with machine(measures_overlap):
        code, _, err = fleetprof("smt", "m1", "--dry-run")
        assert code == 0
        assert f"m1 has not been described yet, so its platform {PLATFORM} is not verified." in err
        with engine.begin() as connection:
            describe(connection, find(connection, "m1").machine_id, capture_pb2.Machine(platform="Other CPU"))
        code, _, err = fleetprof("smt", "m1")
        assert code == 1
        assert "the inventory has Other CPU" in err
        assert kept(engine) == ()
        assert fleetprof("smt", "m1", "--force")[0] == 0
        assert [figure.platform for figure in kept(engine)] == [PLATFORM]


def test_a_given_figure_is_not_replaced_in_silence(fleetprof, machine, engine):
    assert fleetprof("set", "memory-latency", PLATFORM, "91")[0] == 0
    with machine(measures_memory):
        _, _, err = fleetprof("memory", "m1")
        assert f"The measured memory-latency of {PLATFORM} replaces the given value 91.0 ns." in err
        _, _, err = fleetprof("memory", "m1")
    assert "replaces the given value" not in err, "a measured one is measured again"


def test_a_machine_that_nobody_knows_or_reaches(fleetprof, engine, tmp_path):
    assert "fleetprof machines list" in fleetprof("smt", "nobody")[2]
    with engine.begin() as connection:
        add(connection, NewMachine("away", f"unix:{tmp_path}/none.sock"))
    code, _, err = fleetprof("memory", "away")
    assert code == 1
    assert "UNAVAILABLE" in err


def test_throughputs_of_ones_own(fleetprof, engine, tmp_path):
    code, out, _ = fleetprof("throughput", PLATFORM, "2499904", "2274404", "--application", "search")
    assert code == 0
    assert f"smt of {PLATFORM} for search is 2.198" in out
    (figure,) = kept(engine)
    assert (figure.lo, figure.repetitions) == (None, 1)
    for name, values in (("single.csv", SINGLE), ("both.csv", BOTH)):
        lines = [f"{number},{value}" for number, value in enumerate(values)]
        (tmp_path / name).write_text("\n".join(["run,throughput", *lines, ""]))
    asked = (
        "throughput",
        PLATFORM,
        f"@{tmp_path}/single.csv",
        f"@{tmp_path}/both.csv",
        "--json",
        "--dry-run",
    )
    (said,) = json.loads(fleetprof(*asked)[1])["calibrations"]
    assert said["value"] == pytest.approx(from_throughput(SINGLE, BOTH).coefficient)
    assert said["hi"] == pytest.approx(from_throughput(SINGLE, BOTH).hi)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["throughput", PLATFORM, "fast", "1"], 2, "Invalid SINGLE 'fast'"),
        (["throughput", PLATFORM, "@/nowhere", "1"], 2, "Cannot read /nowhere"),
        (["throughput", PLATFORM, "1,2", "nan"], 1, "the value nan is invalid"),
        (["throughput", PLATFORM, "1", "5"], 1, "makes work faster"),
        (["set", "smt", PLATFORM, "0.5"], 2, "must be at least 1"),
        (["set", "memory-latency", PLATFORM, "91000"], 2, "10000 at most"),
        (["throughput", PLATFORM, "10000", "100"], 1, "10 at most"),
        (["set", "smt", PLATFORM, "1.5", "--lo", "1.2"], 2, "needs both ends"),
        (["set", "speed", PLATFORM, "1.5"], 2, "memory-latency"),
        (["forget", "smt", PLATFORM], 1, "fleetprof calibrate list"),
        (["smt", "m1", "--work", "hard"], 2, "integer"),
    ],
)
def test_what_makes_no_sense_is_told_and_nothing_is_kept(fleetprof, engine, arguments, code, said):
    answered, _, err = fleetprof(*arguments)
    assert answered == code
    assert said in err
    assert kept(engine) == ()


def test_a_figure_is_given_and_a_platform_that_no_machine_has_is_pointed_out(fleetprof, engine):
    code, out, err = fleetprof("set", "memory-latency", PLATFORM, "91", "--lo", "88", "--hi", "94")
    assert code == 0
    assert out == f"Stored: memory-latency of {PLATFORM} is 91.0 ns (88.0 ns … 94.0 ns).\n"
    assert "Unknown platform" in err
    assert kept(engine) == (Calibration(Kind.MEMORY_LATENCY, PLATFORM, "", 91.0, 88.0, 94.0),)


def test_the_command_line_names_every_kind_and_work():
    assert set(get_args(command.KindName)) == {kind.value for kind in Kind}
    assert set(get_args(command.WorkName)) == {work.value for work in Workload}
    assert command.ANY == calibrations.ANY


@pytest.mark.slow
def test_the_memory_of_this_machine_by_the_real_gateway(fleetprof, engine, tmp_path):
    require_calibration_memory()
    most = ("--calibration-mib", str(CALIBRATION_MIB))
    allowed = ("--allow-calibration", "--calibration-busy-percent", "100", *most)
    with running(tmp_path, *allowed) as daemon:
        with engine.begin() as connection:
            add(connection, NewMachine("here", daemon.target))
        code, out, err = fleetprof("memory", "here", "--for", "800ms", "--repetitions", "2")
    if code:  # what else runs on this machine is not ours to say
        assert "BUSY: other work disturbed" in err
        return
    bandwidth, latency = kept(engine)
    assert f"{latency.value:,.1f} ns" in out
    assert latency.platform == bandwidth.platform != ""
    assert (latency.machine, latency.repetitions, latency.measured) == ("here", 2, True)
