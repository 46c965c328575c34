"""What a gateway gives away: nothing of what programs have in memory, arguments, environments and files, and to callers only."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import zstandard

from fleetpb import gateway_pb2
from tests.gateway_daemon import (
    DEADLINE_S,
    PROGRAM,
    Answer,
    Daemon,
    ask,
    ends_of,
    groups_where,
    plan,
    running,
    stacks_of,
)

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("permitted")]

SOURCE = Path(__file__).with_name("secretive.c")
MOST_CAPTURES = 6
ENOUGH = 8
FROM_STDIN = """
import os, sys
open("/proc/self/comm", "w").write("from-stdin")
print("ready", flush=True)
while True:
    sum(n * n for n in range(300))
"""
# To any address there is a way, which ends in the namespace.
ALONE = 'ip link set lo up && ip route add default dev lo && exec "$@"'


@contextmanager
def ready(process: subprocess.Popen[bytes]) -> Iterator[None]:
    with process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"ready\n"
            yield
        finally:
            process.kill()


def sampled(daemon: Daemon, *programs: str) -> Answer:
    """An answer with enough whole stacks of these programs."""
    with daemon.stub() as stub:
        for _ in range(MOST_CAPTURES):
            answer = ask(stub, plan(seconds=1.5, rate_hz=499))
            capture = answer.capture
            stacks = [stacks_of(capture, groups_where(capture, comm=program)) for program in programs]
            if all(ends_of(each)["COMPLETE"] >= ENOUGH for each in stacks):
                return answer
    pytest.fail(f"{MOST_CAPTURES} captures had too few samples")


@pytest.mark.slow
def test_no_memory_argument_variable_or_file_is_in_a_capture(tmp_path: Path):
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is not installed")
    program, file = tmp_path / "secretive", tmp_path / "file"
    subprocess.run([compiler, "-O1", "-o", program, SOURCE], check=True)
    file.write_bytes(b"secret-in-a-file-" * 1000)
    environment = os.environ | {"PASSWORD": "secret-in-a-variable", "JOB": "nightly-report"}
    secretive = subprocess.Popen(
        [program, "secret-in-an-argument", file], stdout=subprocess.PIPE, env=environment
    )
    from_stdin = subprocess.Popen(
        [sys.executable, "-u", "-", "secret-behind-stdin"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert from_stdin.stdin is not None
    from_stdin.stdin.write(FROM_STDIN.encode())
    from_stdin.stdin.close()
    with (
        ready(secretive),
        ready(from_stdin),
        running(tmp_path, "--env-label", "JOB", "--max-cpu-percent", "50") as daemon,
    ):
        answer = sampled(daemon, "secretive", "from-stdin")
        with daemon.stub() as stub:
            described = stub.Describe(gateway_pb2.DescribeRequest(), timeout=DEADLINE_S)
    raw = zstandard.ZstdDecompressor().decompress(answer.data)
    assert b"nightly-report" in raw, "a variable that the operator lets pass"
    for given in (raw, described.SerializeToString(), daemon.log.read_bytes()):
        assert b"secret-" not in given
    capture = answer.capture
    (group,) = groups_where(capture, comm="from-stdin")
    assert capture.strings[capture.groups[group].script] == ""


def connected(pid: int) -> dict[str, int]:
    """Connections begun and datagrams sent in the network namespace of a process, ever (Documentation/networking/snmp_counter.rst)."""
    lines = Path(f"/proc/{pid}/net/snmp").read_text().splitlines()
    table = {
        f"{names.split()[0]}{name}": int(value)
        for names, values in zip(lines[::2], lines[1::2], strict=True)
        for name, value in zip(names.split()[1:], values.split()[1:], strict=True)
    }
    v6 = dict(line.split() for line in Path(f"/proc/{pid}/net/snmp6").read_text().splitlines())
    return {
        "connections": table["Tcp:ActiveOpens"],
        "datagrams": table["Udp:OutDatagrams"] + int(v6.get("Udp6OutDatagrams", 0)),
        "without a way": table["Ip:OutNoRoutes"] + int(v6.get("Ip6OutNoRoutes", 0)),
    }


@pytest.mark.slow
def test_a_gateway_opens_no_connections_of_its_own(tmp_path: Path):
    """In a network of its own, in which the kernel counts, from its start and through captures."""
    command = ["unshare", "--net", "sh", "-c", ALONE, "sh"]
    if subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no network namespace can be made here")
    with running(tmp_path, "--env-label", "JOB", program=(*command, *PROGRAM)) as daemon:
        pid = daemon.process.pid
        with daemon.stub() as stub:
            for _ in range(2):
                assert ask(stub, plan(seconds=0.5)).capture.segments
            stub.Describe(gateway_pb2.DescribeRequest(), timeout=DEADLINE_S)
        daemon.wait_until_closed()
        assert connected(pid) == {"connections": 0, "datagrams": 0, "without a way": 0}
        # That it is counted: to an address of the world, from the same namespace.
        reach = "import socket; s = socket.socket(); s.setblocking(False); s.connect_ex(('192.0.2.1', 9))"
        subprocess.run(["nsenter", "-t", str(pid), "-n", sys.executable, "-c", reach], check=True)
        assert connected(pid)["connections"] == 1
