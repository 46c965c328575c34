"""`fleetprof-gateway --doctor` as root, as nobody with and without capabilities, and under a seccomp filter."""

import json
import os
import struct
import subprocess
import sys

import pytest

from gateway.privileges.capabilities import DAC_READ_SEARCH, NEEDED, PERFMON, SYSLOG, Capability
from tests.gateway_daemon import DEADLINE_S, ROOT, require_perf_events

pytestmark = pytest.mark.integration

NOBODY = 65534
EXAMINE = f"""
import os, sys
import gateway.daemon, gateway.doctor.node_checks, gateway.doctor.node_facts
from gateway.privileges.drop_privileges import User, _become, _set_capabilities
_become(User("nobody", {NOBODY}, {NOBODY}))
_set_capabilities(int(sys.argv[1]))
sys.exit(gateway.daemon.main(["--doctor", "--json"]))
"""
# struct sock_filter: load the number of the system call; perf_event_open (298 on x86-64) is EPERM, the rest passes.
FILTER = struct.pack(
    "HBBI" * 4, 0x20, 0, 0, 0, 0x15, 0, 1, 298, 0x06, 0, 0, 0x00050001, 0x06, 0, 0, 0x7FFF0000
)
FILTERED = f"""
import ctypes, sys
import gateway.daemon, gateway.doctor.node_checks, gateway.doctor.node_facts
program = ctypes.create_string_buffer({FILTER!r})
class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Program(4, ctypes.addressof(program))), 0, 0) == 0
sys.exit(gateway.daemon.main(["--doctor", "--json"]))
"""


@pytest.fixture(scope="module", autouse=True)
def _permitted() -> None:
    if os.geteuid():
        pytest.skip("only root can become another user")
    require_perf_events()


def examined(*command: str) -> tuple[int, dict[str, dict[str, str]]]:
    """Exit status, and the findings by subject."""
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )
    assert not done.stderr
    return done.returncode, {row["subject"]: row for row in json.loads(done.stdout)}


def as_nobody(*capabilities: Capability) -> tuple[int, dict[str, dict[str, str]]]:
    mask = sum(1 << capability.number for capability in capabilities)
    return examined("-c", EXAMINE, str(mask))


def bad(findings: dict[str, dict[str, str]]) -> set[str]:
    return {subject for subject, row in findings.items() if row["grade"] == "bad"}


def test_with_all_capabilities_nobody_sees_as_much_as_root():
    _, root = examined("-m", "gateway", "--doctor", "--json")
    status, nobody = as_nobody(*NEEDED)
    assert bad(nobody) == bad(root)
    assert status == int(bool(bad(nobody)))
    assert all(nobody[capability.name]["grade"] == "fine" for capability in NEEDED)


def test_without_any_it_says_what_each_costs_and_fails():
    status, findings = as_nobody()
    assert status == 1
    assert {"perf events", "map_files", "kernel addresses"} <= bad(findings)
    for capability in NEEDED:
        assert findings[capability.name]["grade"] in {"bad", "note"}
        assert findings[capability.name]["costs"] == capability.costs


@pytest.mark.parametrize(
    ("missing", "more"),
    [(PERFMON, "perf events"), (SYSLOG, "kernel addresses"), (DAC_READ_SEARCH, "map_files")],
)
def test_one_that_is_missing_is_named_with_what_fails_for_it(missing: Capability, more: str):
    status, findings = as_nobody(*(capability for capability in NEEDED if capability is not missing))
    assert status == 1
    assert {missing.name, more} <= bad(findings)


def test_a_seccomp_filter_is_told_from_a_missing_capability():
    status, findings = examined("-c", FILTERED)
    assert status == 1
    assert "a seccomp filter is in force" in findings["perf events"]["says"]
    assert "seccomp" in findings["perf events"]["remedy"]
    assert findings["CAP_PERFMON"]["grade"] == "fine"
