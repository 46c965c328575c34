"""CALL recognition against objdump's disassembly."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gateway.unwind.machine_code import follows_call, is_sigreturn

LIBC = Path("/lib/x86_64-linux-gnu/libc.so.6")


@pytest.mark.parametrize(
    "call",
    [
        "e8 98 55 fe ff",
        "ff d3",  # call *%rbx
        "41 ff d4",  # call *%r12
        "ff 13",  # call *(%rbx)
        "41 ff 14 24",  # call *(%r12)
        "ff 53 18",  # call *0x18(%rbx)
        "ff 54 24 08",  # call *8(%rsp)
        "ff 15 da ea 02 00",  # call *0x2eada(%rip)
        "ff 90 80 00 00 00",  # call *0x80(%rax)
        "ff 94 24 80 00 00 00",  # call *0x80(%rsp)
        "ff 14 c5 00 10 40 00",  # call *0x401000(,%rax,8)
        "42 ff 14 c8",  # call *(%rax,%r9,8)
    ],
)
def test_calls(call):
    code = bytes.fromhex(call)
    assert follows_call(b"\x90" * (7 - min(7, len(code))) + code)


@pytest.mark.parametrize(
    "code", ["ff e3", "ff 25 00 00 00 00", "ff 74 24 08", "0f 05", "c3", "48 89 c7", "ff c0"]
)
def test_others(code):
    assert not follows_call(b"\x90" * 7 + bytes.fromhex(code))


def test_every_call_of_libc_is_recognized():
    objdump = shutil.which("objdump")
    if objdump is None or not LIBC.exists():
        pytest.skip("needs objdump and glibc")
    data = LIBC.read_bytes()
    section = re.search(
        r"\.text +PROGBITS +([0-9a-f]+) ([0-9a-f]+) ",
        subprocess.run(["readelf", "-SW", LIBC], capture_output=True, text=True, check=True).stdout,
    )
    assert section
    shift = int(section[2], 16) - int(section[1], 16)
    start = int(section[1], 16)
    command = [
        objdump,
        "-d",
        "-w",
        "-j",
        ".text",
        f"--start-address={start}",
        f"--stop-address={start + 400_000}",
    ]
    text = subprocess.run([*command, str(LIBC)], capture_output=True, text=True, check=True).stdout
    calls = [
        int(found[1], 16) + len(bytes.fromhex(found[2]))
        for found in re.finditer(r"^ *([0-9a-f]+):\t([0-9a-f ]+)\t(?:notrack )?call ", text, re.MULTILINE)
    ]
    assert len(calls) > 1000
    missed = [hex(after) for after in calls if not follows_call(data[after + shift - 7 : after + shift])]
    assert missed == []


def test_sigreturn():
    assert is_sigreturn(bytes.fromhex("48c7c00f0000000f05"))
    assert is_sigreturn(bytes.fromhex("b80f0000000f05cc"))
    assert not is_sigreturn(bytes.fromhex("48c7c00e0000000f05"))
