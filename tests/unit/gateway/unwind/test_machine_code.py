"""CALL recognition against objdump's disassembly."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gateway.unwind.machine_code import PLT_STUB_BYTES, follows_call, is_sigreturn, plt_words

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


PLTS = {
    "lazy": ("ff 25 1a fc 1c 00 68 02 00 00 00 e9 c0 ff ff ff", {0: 1, 6: 1, 11: 2}),
    "header": ("ff 35 2a fc 1c 00 ff 25 2c fc 1c 00 0f 1f 40 00", {0: 2, 6: 3}),
    "tracked": ("f3 0f 1e fa ff 25 8a 2f 00 00 66 0f 1f 44 00 00", {0: 1, 4: 1}),
    "tracked, bnd": ("f3 0f 1e fa f2 ff 25 8d 2f 00 00 0f 1f 44 00 00", {0: 1, 4: 1}),
    "tracked, lazy": ("f3 0f 1e fa 68 00 00 00 00 e9 e2 ff ff ff 66 90", {0: 1, 4: 1, 9: 2}),
    "got": ("ff 25 da 2f 00 00 66 90", {0: 1}),
}


@pytest.mark.parametrize("name", PLTS)
def test_the_stack_at_each_instruction_of_a_plt_stub(name):
    text, words = PLTS[name]
    code = bytes.fromhex(text)
    for before in (0, 8, PLT_STUB_BYTES):
        around = b"\x90" * before + code + b"\xcc" * PLT_STUB_BYTES
        for into in range(len(code)):
            assert plt_words(around, before + into) == words.get(into, 0), (before, into)


def test_other_jumps_are_no_plt_stubs():
    assert (
        plt_words(bytes.fromhex("ff 25 1a fc 1c 00 48 89 c3") + bytes(20), 0) == 0
    )  # a tail call by pointer
    assert plt_words(b"", 0) == 0


def test_stubs_by_lld_are_those_that_objdump_lists(tmp_path):
    """lld writes no entry for them."""
    linker = next(
        (
            name
            for name in ("ld.lld", *map(str, Path("/usr/lib").glob("llvm-*/bin/ld.lld")))
            if shutil.which(name)
        ),
        None,
    )
    if linker is None or shutil.which("gcc") is None or shutil.which("objdump") is None:
        pytest.skip("lld, gcc or objdump is not installed")
    (tmp_path / "a.c").write_text("int f(int), g(int); int h(int x) { return f(x) + g(x) + 1; }")
    subprocess.run(["gcc", "-O2", "-fPIC", "-c", "a.c"], cwd=tmp_path, check=True)
    subprocess.run([linker, "-shared", "-z", "lazy", "-o", "a.so", "a.o"], cwd=tmp_path, check=True)
    said = subprocess.run(
        ["objdump", "-d", "-j", ".plt", "a.so"], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout
    data = (tmp_path / "a.so").read_bytes()
    stubs = [bytes.fromhex(line.split("\t")[1]) for line in said.splitlines() if line.count("\t") == 2]
    section = b"".join(stubs)
    at = data.index(section)
    words = [
        plt_words(data[at - PLT_STUB_BYTES : at + len(section)], PLT_STUB_BYTES + sum(map(len, stubs[:n])))
        for n in range(len(stubs))
    ]
    assert words == [2, 3, 0, 1, 1, 2, 1, 1, 2]
