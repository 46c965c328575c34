"""Labels from the environment: what is not allowed never leaves it."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.containers.process_environment import MAX_BYTES, MAX_VALUE, parse_environment, read_environment

ALLOWED = {b"TEAM": "env.TEAM", b"APP": "application"}


@pytest.mark.parametrize(
    ("data", "labels"),
    [
        (b"TEAM=ads\0SECRET=x\0APP=shop\0", (("application", "shop"), ("env.TEAM", "ads"))),
        (b"TEAM=a=b\0", (("env.TEAM", "a=b"),)),
        (b"TEAM=caf\xc3\xa9\0", (("env.TEAM", "café"),)),
        # the first counts, as for getenv
        (b"TEAM=ads\0TEAM=other\0", (("env.TEAM", "ads"),)),
        # no label: empty, not printable, not UTF-8, long, no value, another's name
        (b"TEAM=\0", ()),
        (b"TEAM=a\nb\0", ()),
        (b"TEAM=\x1b[31m\0", ()),
        (b"TEAM=\xff\0", ()),
        (b"TEAM=" + b"x" * (MAX_VALUE + 1), ()),
        (b"TEAM=" + b"x" * MAX_VALUE, (("env.TEAM", "x" * MAX_VALUE),)),
        (b"TEAM\0", ()),
        (b"TEAMS=x\0XTEAM=x\0team=x\0", ()),
        (b"", ()),
        (b"\0\0=\0", ()),
    ],
)
def test_what_is_taken(data: bytes, labels: tuple[tuple[str, str], ...]):
    assert parse_environment(data, ALLOWED) == labels


@given(
    st.binary(max_size=300)
    | st.lists(st.sampled_from([b"TEAM", b"=", b"\0", b"SECRET=s3cr3t", b"\n"])).map(b"".join)
)
def test_nothing_else_is_ever_in_the_answer(data: bytes):
    labels = parse_environment(data, ALLOWED)
    assert {name for name, _ in labels} <= set(ALLOWED.values())
    assert all(value.isprintable() and 0 < len(value) <= MAX_VALUE for _, value in labels)
    assert "s3cr3t" not in dict(labels).values()


def test_a_process_that_runs():
    environment = {"TEAM": "ads", "SECRET": "x", "LARGE": "y" * (MAX_BYTES // 2)}
    command = [sys.executable, "-c", "print(flush=True); input()"]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert read_environment(child.pid, ALLOWED) == (("env.TEAM", "ads"),)
        assert read_environment(child.pid, {}) == ()
        child.communicate(b"\n")
    assert read_environment(child.pid, ALLOWED) == ()


def test_a_variable_at_the_edge_of_what_is_read_is_not_cut():
    """The kernel gives no string of more than 128 KiB; several together are more than is read."""
    large = {f"LARGE{n}": "y" * (MAX_BYTES // 4) for n in range(4)}
    environment = large | {"TEAM": "ads"}
    command = [sys.executable, "-c", "print(flush=True); input()"]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert read_environment(child.pid, ALLOWED) == ()
        allowed = {b"LARGE0": "a", b"LARGE3": "b", b"TEAM": "c"}
        assert read_environment(child.pid, allowed) == ()
        child.communicate(b"\n")
