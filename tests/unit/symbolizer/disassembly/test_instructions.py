"""GIVEN machine code WHEN it is decoded THEN it is what objdump says."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbolizer.disassembly.instructions import DATA, decode
from symbolizer.elf.records import EM_AARCH64, EM_X86_64
from tests.unit.symbolizer.disassembly.listings import functions_in, identity_of, listing, objdump, sought

ARM = """
loop:
    ldr x0, [x1], #8
    add x2, x2, x0
    cmp x0, #17
    b.ne loop
    cbz x2, over
    tbnz w2, #3, loop
    bl over
    mov x5, #0x1139
    b loop
    br x3
over:
    ret
"""
TARGET = re.compile(r"^(?:bnd |notrack )?(?:call|j\w+) +(?:0x)?([0-9a-f]+) <")


@pytest.fixture(scope="module")
def tool(programs):
    if shutil.which("objdump") is None:
        pytest.skip("objdump is not installed")
    return programs


def plain(text: str) -> str:
    """The mnemonic as both write it: prefixes and sizes of padding and string instructions differ."""
    words = text.split()
    while words and words[0] in {
        "bnd",
        "notrack",
        "data16",
        "cs",
        "ds",
        "rep",
        "repz",
        "repnz",
        "repe",
        "lock",
    }:
        words = words[1:]
    return words[0] if words else ""


@pytest.mark.parametrize("variant", ["pie", "fixed", "by_lld"])
def test_every_function_is_objdumps(tool, tmp_path: Path, variant: str):
    path: Path = getattr(tool, variant)
    compared = 0
    for name, (start, end) in functions_in(path).items():
        expected = objdump(path, start, end)
        rows = listing(path, tmp_path, sought(name)).rows.rows
        assert [(row.address, row.instruction.code.hex()) for row in rows] == [one[:2] for one in expected], (
            name
        )
        for row, (_, _, text) in zip(rows, expected, strict=True):
            code = row.instruction
            if not plain(text).startswith(("nop", "xchg", "stos", "movs", "(bad)")):
                assert plain(code.mnemonic) == plain(text)
            target = TARGET.match(text)
            assert code.target == (int(target[1], 16) if target else None), text
            compared += 1
    assert compared > 50


@pytest.mark.slow
def test_code_of_a_large_program_is_objdumps(tool, tmp_path: Path):
    """The C library: vector instructions, hand-written assembly, jump tables."""
    libc = next(Path("/usr/lib").glob("*-linux-gnu/libc.so.6"), None) or next(
        Path("/lib").glob("*-linux-gnu/libc.so.6"), None
    )
    if libc is None or not identity_of(libc).build_id:
        pytest.skip("the C library is elsewhere")
    names = ("printf", "qsort", "malloc", "fread", "strtod", "regexec", "getaddrinfo")
    at = functions_in(libc)
    for name in names:
        known = next((each for each in at if each.split("@")[0] == name), None)
        if known is None:
            continue
        expected = objdump(libc, *at[known])
        rows = listing(libc, tmp_path, sought(known)).rows.rows
        assert [(row.address, row.instruction.code.hex()) for row in rows] == [one[:2] for one in expected], (
            name
        )


def test_aarch64_is_what_llvm_says(tmp_path: Path):
    if shutil.which("llvm-mc") is None or shutil.which("llvm-objdump") is None:
        pytest.skip("llvm is not installed")
    (tmp_path / "a.s").write_text(ARM)
    assemble = ["llvm-mc", "-arch=aarch64", "-filetype=obj", "a.s", "-o", "a.o"]
    subprocess.run(assemble, cwd=tmp_path, check=True)
    subprocess.run(["llvm-objcopy", "-O", "binary", "-j", ".text", "a.o", "a.bin"], cwd=tmp_path, check=True)
    code = (tmp_path / "a.bin").read_bytes()
    found = list(decode(EM_AARCH64, code, 0))
    said = subprocess.run(
        ["llvm-objdump", "-d", "a.o"], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout
    lines = re.findall(r"^ +([0-9a-f]+): ((?:[0-9a-f]{2} ){3}[0-9a-f]{2}) +\t(\S+)", said, re.MULTILINE)
    assert [(one.address, one.mnemonic) for one in found] == [(int(at, 16), name) for at, _, name in lines]
    over = len(code) - 4
    assert {one.mnemonic: one.target for one in found if one.target is not None} == {
        "b.ne": 0, "cbz": over, "tbnz": 0, "bl": over, "b": 0,
    }  # fmt: skip


@settings(max_examples=200)
@given(code=st.binary(max_size=64), machine=st.sampled_from([EM_X86_64, EM_AARCH64]))
def test_every_byte_is_in_one_instruction(code: bytes, machine: int):
    found = list(decode(machine, code, 0x1000))
    assert b"".join(one.code for one in found) == code
    assert all(one.code and one.mnemonic for one in found)
    at = 0x1000
    for one in found:
        assert one.address == at
        at += len(one.code)


def test_bytes_that_are_no_instruction_are_data():
    found = list(decode(EM_X86_64, b"\x06\x90\x0f", 0))
    assert [(one.address, one.mnemonic) for one in found] == [(0, DATA), (1, "nop"), (2, DATA)]
