"""Lengths of instructions against objdump, and what must have none."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gateway.unwind.instructions import LONGEST_INSTRUCTION, plain_length

LIBC = Path("/lib/x86_64-linux-gnu/libc.so.6")
MOVES = re.compile(r"(push|pop|call|ret|leave|enter|(notrack )?jmp|ud2|hlt|int3|syscall)|.*,%(rsp|esp|spl?)$")
COMPARES = re.compile(r"(cmp|test)[bwlq]? ")


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("90", 1),
        ("f3 0f 1e fa", 4),  # endbr64
        ("f3 90", 2),  # pause
        ("89 f9", 2),  # mov %edi,%ecx
        ("75 fc", 2),  # jne
        ("0f 84 64 00 00 00", 6),  # je
        ("66 0f 84 64 00", 0),  # processors disagree about its length
        ("49 3b 66 10", 4),  # cmp 0x10(%r14),%rsp: where Go's functions begin
        ("49 3b a7 40 03 00 00", 7),  # cmp 0x340(%r15),%rsp: where HotSpot's end
        ("89 84 24 00 c0 fe ff", 7),  # mov %eax,-0x14000(%rsp): where HotSpot's begin
        ("4c 8d 64 24 80", 5),  # lea -0x80(%rsp),%r12
        ("48 b8 01 02 03 04 05 06 07 08", 10),  # mov $0x807060504030201,%rax
        ("66 b8 01 02", 4),  # mov $0x201,%ax
        ("48 c7 c0 01 00 00 00", 7),  # mov $1,%rax
        ("f6 c1 07", 3),  # test $7,%cl
        ("f6 d1", 2),  # not %cl
        ("66 f7 c1 07 00", 5),  # test $7,%cx
        ("f7 05 00 00 00 00 07 00 00 00", 10),  # testl $7,(%rip)
        ("c5 f8 77", 3),  # vzeroupper
        ("c5 fe 6f 44 24 e0", 6),  # vmovdqu -0x20(%rsp),%ymm0
        ("c4 e3 7d 39 c1 01", 6),  # vextracti128 $1,%ymm0,%xmm1
        ("62 f1 fe 48 6f 47 01", 7),  # vmovdqu64 0x40(%rdi),%zmm0
        ("c4 e2 e3 f7 c1", 5),  # shlx %rbx,%rcx,%rax
    ],
)
def test_lengths(text, length):
    code = bytes.fromhex(text)
    assert plain_length(b"\xcc" + code + b"\xcc", 1) == length
    for cut in range(len(code)):
        assert plain_length(code[:cut], 0) == 0


@pytest.mark.parametrize(
    "text",
    [
        "55",  # push %rbp
        "41 57",  # push %r15
        "5d",  # pop %rbp
        "c9",  # leave
        "c3",
        "cc",
        "0f 0b",  # ud2
        "e8 00 00 00 00",
        "ff d0",  # call *%rax
        "ff e0",  # jmp *%rax
        "ff 75 08",  # push 8(%rbp)
        "eb 00",
        "48 83 ec 08",  # sub $8,%rsp
        "48 81 c4 80 00 00 00",  # add $0x80,%rsp
        "48 8d 64 24 f8",  # lea -8(%rsp),%rsp
        "48 8d 65 f0",  # lea -16(%rbp),%rsp
        "48 89 ec",  # mov %rbp,%rsp
        "48 8b e5",  # mov %rbp,%rsp, the other way round
        "48 8b 67 38",  # mov 0x38(%rdi),%rsp
        "bc 00 00 00 00",  # mov $0,%esp
        "48 94",  # xchg %rax,%rsp
        "48 83 e4 e0",  # and $-32,%rsp
        "48 0f 44 e0",  # cmove %rax,%rsp
        "c4 e2 d8 f3 c8",  # blsr %rax,%rsp
        "48 89 04 24",  # mov %rax,(%rsp): it replaces the return address
        "48 8b 44 24 00",  # mov 0(%rsp),%rax: it takes it
        "0f 05",  # syscall: it may return elsewhere
        "d5 18 89 c0",  # a prefix of later processors
        "06",  # of none since
    ],
)
def test_what_is_not_plain(text):
    assert plain_length(bytes.fromhex(text) + b"\x90" * 8, 0) == 0


def test_prefixes_without_end():
    assert plain_length(b"\x66" * 40, 0) == 0
    assert plain_length(b"\x66" * LONGEST_INSTRUCTION + b"\x90", 0) == 0


@pytest.mark.slow
def test_every_instruction_of_libc_has_its_length_or_none():
    objdump = shutil.which("objdump")
    if objdump is None or not LIBC.exists():
        pytest.skip("needs objdump and glibc")
    text = subprocess.run(
        [objdump, "-d", "-w", "-j", ".text", str(LIBC)], capture_output=True, text=True, check=True
    ).stdout
    known = wrong = 0
    examples = []
    for raw, line in re.findall(r"^ *[0-9a-f]+:\t([0-9a-f ]+)\t(.+?) *$", text, re.MULTILINE):
        code = bytes.fromhex(raw)
        length = plain_length(code + b"\xcc" * LONGEST_INSTRUCTION, 0)
        known += length > 0
        said = line.partition("#")[0].strip()
        moves = bool(MOVES.match(said)) and not COMPARES.match(said)
        if length and (length != len(code) or moves):
            wrong += 1
            examples.append((raw, said, length))
    assert not wrong, examples[:10]
    assert known > 100_000
