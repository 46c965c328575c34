"""Where the caller is at each instruction of the forms that HotSpot's compilers emit."""

import pytest

from gateway.runtimes.hotspot.leaf_code import Exit, call_before, interpreter_exit, leaf_rule
from gateway.unwind.rules import FROM_RBP, FROM_RSP, Rule

WORDS = 8  # sub $0x30,%rsp; the saved rbp; the return address
BANG = bytes.fromhex("89842400c0feff")
SUB = bytes.fromhex("4883ec30")
BODY = bytes.fromhex("488b4610 4803c2 488906".replace(" ", ""))
POLL = bytes.fromhex("493ba740030000 0f8701000000".replace(" ", ""))
END = bytes.fromhex("4883c4305d") + POLL + b"\xc3"
PUSHED = BANG + b"\x55" + SUB + BODY * 8 + END
KEPT = BANG + b"\x55\x48\x8b\xec" + SUB + BODY * 8 + END
STORED = bytes.fromhex("4883ec3848896c2430") + BODY * 8 + END
TOP: Rule = (FROM_RSP, 1, 0, 0, None)
BELOW: Rule = (FROM_RSP, 2, -2, 0, None)
FULL: Rule = (FROM_RSP, WORDS, -2, 0, None)


def rule(code: bytes, offset: int, complete: int = 0) -> Rule:
    return leaf_rule(code, offset, code[offset : offset + 96], WORDS, complete)


def test_entry_by_push() -> None:
    assert [rule(PUSHED, at) for at in (0, 7, 8, 12, 12 + 10)] == [TOP, TOP, BELOW, FULL, FULL]


def test_entry_that_keeps_the_frame_pointer() -> None:
    assert [rule(KEPT, at) for at in (0, 7, 8, 11, 15)] == [TOP, TOP, BELOW, BELOW, FULL]


def test_entry_that_stores_rbp() -> None:
    assert [rule(STORED, at) for at in (0, 4, 9)] == [TOP, (FROM_RSP, WORDS, 0, 0, None), FULL]


@pytest.mark.parametrize("code", [PUSHED, KEPT, STORED])
def test_exit(code: bytes) -> None:
    end = len(code) - len(END)
    # add, pop, cmp, ja, ret
    assert [rule(code, end + at) for at in (0, 4, 5, 12, 18)] == [FULL, BELOW, TOP, TOP, TOP]


def test_code_before_the_entry_has_no_frame() -> None:
    assert leaf_rule(PUSHED, -12, bytes(96), WORDS, 0) == TOP


def test_a_stub_that_keeps_the_frame_pointer_and_pushes() -> None:
    code = bytes.fromhex("55488bec50515256") + BODY * 8
    assert rule(code, 4) == (FROM_RBP, 2, -2, 0, None)


def test_an_unknown_entry_counts_until_the_compiler_says_that_the_frame_is_complete() -> None:
    code = b"\x0f\x1f\x44\x00\x00" * 20
    assert rule(code, 10, complete=20) == TOP
    assert rule(code, 20, complete=20) == FULL


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("5f498be5ffe7", Exit(-1, 17)),  # pop %rdi; mov %r13,%rsp; jmp *%rdi
        ("488be3ffe7", Exit(5, 1)),  # mov %rbx,%rsp; jmp *%rdi
        ("415b4c8bec", None),  # the move is to another register
        ("5e498be5ffe7", None),  # the popped register is not the target
        ("ffe7", None),  # a dispatch to the next bytecode looks the same
        ("4889c5c3", None),
    ],
)
def test_the_interpreters_exit(code: str, expected: Exit | None) -> None:
    assert interpreter_exit(bytes.fromhex(code)) == expected


def test_calls() -> None:
    assert call_before(bytes(11) + b"\xe8\xfb\xff\xff\xff", 0x1000) is not None
    relative = call_before(bytes(11) + b"\xe8\x00\x01\x00\x00", 0x1000)
    absolute = call_before(b"\x49\xba" + (0x7F00_1234).to_bytes(8, "little") + b"\x41\xff\xd2", 0x1000)
    register = call_before(bytes(13) + b"\x41\xff\xd3", 0x1000)
    assert relative is not None
    assert absolute is not None
    assert register is not None
    assert (relative.target, absolute.target, register.target) == (0x1100, 0x7F00_1234, 0)
    assert call_before(bytes(16), 0x1000) is None
