"""Where the return address is, by the code alone, against what call frame information says."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gateway.unwind import rules as r
from gateway.unwind.eh_frame import UnwindTable
from gateway.unwind.elf import read_layout
from gateway.unwind.frameless import LOOKED_AT, return_address_words

LIBC = Path("/lib/x86_64-linux-gnu/libc.so.6")
# push %rbp; mov %rsp,%rbp; mov %edi,%ecx; 1: dec %ecx; jnz 1b; pop %rbp; ret
WITH_FRAME = bytes.fromhex("55 4889e5 89f9 ffc9 75fc 5d c3")


def words(code: bytes) -> dict[int, int]:
    return {place: return_address_words(code, place) for place in range(len(code))}


def test_at_each_instruction_of_a_function_with_a_frame():
    found = words(WITH_FRAME + b"\xcc" * 8)
    assert found[0] == 1
    assert found[1] == 2
    assert [found[place] for place in (4, 6, 8, 10)] == [0] * 4
    assert found[11] == 1


def test_the_byte_before_may_be_missing():
    assert return_address_words(WITH_FRAME, 0) == 1
    assert return_address_words(WITH_FRAME[1:], 0) == 0


@pytest.mark.parametrize(
    "code",
    [
        "c3",
        "c2 10 00",
        "f3 c3",
        "f3 0f 1e fa 55 48 89 e5",  # endbr64
        "55 48 8b ec",
        "49 3b 66 10 76 30 55 48 89 e5",  # Go: is there stack left?
        "4c 8d 64 24 80 4d 3b 66 10 0f 86 30 01 00 00 55 48 89 e5",  # for large frames
        "89 84 24 00 c0 fe ff 55 48 8b ec",  # HotSpot: touch the stack's guard
        "49 3b a7 40 03 00 00 0f 87 01 00 00 00 c3",  # its poll, behind pop %rbp
        "8d 47 01 eb 02 0f 0b c3",  # over what is not reached
        "8d 47 01 e9 01 00 00 00 cc c3",
    ],
)
def test_no_frame(code):
    assert return_address_words(bytes.fromhex(code), 0) == 1


@pytest.mark.parametrize(
    "code",
    [
        "",
        "5d c3",
        "48 83 c4 08 c3",
        "41 55 48 89 e5",  # push %r13
        "55 53",  # rbp is no frame pointer here
        "ff e1",
        "e8 00 00 00 00 c3",
        "eb fe",  # for ever
        "eb 7f c3",  # out of sight
        "eb",
        "e9 00 00",
        "48 89 04 24 c3",  # a jump, as retpolines make it
        "90 " * 100 + "c3",
    ],
)
def test_not_known(code):
    assert return_address_words(bytes.fromhex(code), 0) == 0


@pytest.mark.slow
def test_no_claim_contradicts_call_frame_information():
    """In code that has entries; what is only padding, behind calls that never return, runs never."""
    objdump = shutil.which("objdump")
    if objdump is None or not LIBC.exists():
        pytest.skip("needs objdump and glibc")
    data = LIBC.read_bytes()

    def read(offset: int, size: int) -> bytes:
        return data[offset : offset + size]

    table = UnwindTable(read_layout(read), read)
    section = re.search(
        r"\.text +PROGBITS +([0-9a-f]+) ([0-9a-f]+) ",
        subprocess.run(["readelf", "-SW", LIBC], capture_output=True, text=True, check=True).stdout,
    )
    assert section
    shift = int(section[2], 16) - int(section[1], 16)
    text = subprocess.run(
        [objdump, "-d", "-w", "-j", ".text", str(LIBC)], capture_output=True, text=True, check=True
    ).stdout
    claims = []
    pushed = elsewhere = 0
    wrong = []
    for found in re.findall(r"^ *([0-9a-f]+):\t[0-9a-f ]+\t(.+?) *$", text, re.MULTILINE)[::2]:
        if "nop" in found[1] or found[1].startswith("xchg   %ax,%ax"):
            continue
        at = int(found[0], 16) + shift
        claimed = return_address_words(data[at - 1 : at + LOOKED_AT], 1)
        if not claimed:
            continue
        kind, cfa, *_ = table.rule(at)
        # vfork keeps the return address in a register too, setcontext has it in the context.
        elsewhere += kind == r.GENERAL
        if kind in {r.NO_ENTRY, r.GENERAL}:
            continue
        claims.append(at)
        pushed += claimed == 2
        if (kind, cfa) != (r.FROM_RSP, claimed):
            wrong.append((found, claimed, kind, cfa))
    assert wrong == []
    assert len(claims) > 5_000
    assert pushed
    assert elsewhere < 20
