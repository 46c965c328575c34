"""GIVEN root on a kernel that asks for more WHEN the gateway confines itself THEN it keeps what sampling needs there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.privileges.capabilities import NEEDED, PERFMON, SYS_ADMIN, SYS_NICE, own_sets

ROOT = Path(__file__).parents[4]
KEPT = """
import sys
from gateway.privileges import capabilities, drop_privileges
drop_privileges.paranoid_level = lambda: int(sys.argv[1])
drop_privileges.confine()
sets = capabilities.own_sets()
print(f"{sets.permitted:x} {sets.effective:x} {sets.inheritable | sets.ambient:x}")
"""


@pytest.mark.parametrize(
    ("paranoid", "more"), [(2, 0), (3, 1 << SYS_ADMIN.number), (4, 1 << SYS_ADMIN.number)]
)
def test_root_keeps_what_debians_kernels_ask_for(paranoid: int, more: int):
    """As `fleetprof up` by sudo is: without CAP_SYS_ADMIN nothing could be sampled at level 3, Debian's own."""
    if os.geteuid() or not (own_sets().has(SYS_ADMIN) and own_sets().has(PERFMON)):
        pytest.skip("only a whole root has something to keep")
    done = subprocess.run(
        [sys.executable, "-c", KEPT, str(paranoid)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    permitted, effective, passed_on = (int(part, 16) for part in done.stdout.split())
    assert permitted == effective
    assert not passed_on
    # CAP_SYS_NICE where RLIMIT_NICE does not do.
    assert permitted & ~(1 << SYS_NICE.number) == sum(1 << capability.number for capability in NEEDED) | more
