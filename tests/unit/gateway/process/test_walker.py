"""Walks over stacks laid out by hand. `stack` is words from rsp up; rsp is 0x7000_0000."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetpb import capture_pb2 as pb
from gateway.process.address_space import AddressSpace
from gateway.process.maps import Vma
from gateway.process.walker import RBP, RIP, RSP, Walker
from gateway.unwind import rules as r
from gateway.unwind.machine_code import PYTHON_TRAMPOLINE

SP = 0x7000_0000
FILE = Vma(0x40_0000, 0x41_0000, 0, "/bin/x", b"", (8, 1), 77, deleted=False)
JIT = Vma(0x90_0000, 0x91_0000, 0, "", b"", (0, 0), 0, deleted=False)


@dataclass
class FakeTable:
    by_offset: dict[int, r.Rule] = field(default_factory=dict)

    def rule(self, offset):
        return self.by_offset.get(offset, r.NO_ENTRY_RULE)

    def function_start(self, offset):
        return offset & ~0xFF


@dataclass
class FakeImage:
    rules: FakeTable
    code: dict[int, bytes] = field(default_factory=dict)
    is_go: bool = False

    def read(self, offset, size):
        return self.code.get(offset, b"\x90" * size)[:size]


class FakeImages:
    def __init__(self):
        self.file = FakeImage(FakeTable())
        self.none = FakeImage(FakeTable())
        self.memory: dict[int, bytes] = {}

    def open(self, pid, vma):
        return self.file if vma.has_file else self.none

    def read_memory(self, pid, address, size):
        return self.memory.get(address, b"")[:size]


class Process:
    """A process whose code and stack a test lays out."""

    def __init__(self, *extra: Vma):
        self.images = FakeImages()
        self.space = AddressSpace([FILE, JIT, *extra])

    def rule(self, address: int, rule: r.Rule) -> None:
        self.images.file.rules.by_offset[address - FILE.start] = rule

    def call_before(self, address: int) -> None:
        self.images.file.code[address - FILE.start - 7] = b"\x90\x90\xe8\0\0\0\0"

    def walk(self, ip, words, *, bp=0, size=None, depth=256, **registers):
        regs = [0] * 20
        regs[RIP], regs[RSP], regs[RBP] = ip, SP, bp
        for place, value in registers.items():
            regs[int(place.removeprefix("reg"))] = value
        stack = memoryview(b"".join(word.to_bytes(8, "little") for word in words)).cast("Q")
        walker = Walker(self.images, max_depth=depth)
        return walker.walk(1, self.space, tuple(regs), stack, len(words) * 8 if size is None else size)


LEAF, MIDDLE, OUTER = 0x40_0100, 0x40_0200, 0x40_0300


def three_frames() -> Process:
    process = Process()
    process.rule(LEAF, (r.FROM_RSP, 1, 0, 0, None))
    process.rule(MIDDLE - 1, (r.FROM_RSP, 3, -2, 0, None))
    process.rule(OUTER - 1, r.OUTERMOST_RULE)
    return process


def test_by_rsp_to_the_threads_start():
    walk = three_frames().walk(LEAF, [MIDDLE, 0, 55, OUTER, 0, 0])
    assert walk.addresses == [LEAF, MIDDLE, OUTER]
    assert walk.end == pb.STACK_END_COMPLETE
    assert walk.exact == (0,)
    assert walk.by_frame_pointer == ()


def test_a_caller_is_looked_up_before_its_return_address():
    process = three_frames()
    # A call that never returns is the last instruction: its return address is the next function.
    process.rule(MIDDLE, r.UNUSABLE_RULE)
    assert process.walk(LEAF, [MIDDLE, 0, 55, OUTER]).end == pb.STACK_END_COMPLETE


def test_by_rbp_restored_from_the_stack():
    process = Process()
    process.rule(LEAF, (r.FROM_RSP, 2, -2, 0, None))  # saved rbp at word 0, return address at word 1
    process.rule(MIDDLE - 1, (r.FROM_RBP, 2, -2, 0, None))
    process.rule(OUTER - 1, r.OUTERMOST_RULE)
    walk = process.walk(LEAF, [SP + 32, MIDDLE, 9, 9, SP + 99, OUTER], bp=1)
    assert walk.addresses == [LEAF, MIDDLE, OUTER]


def test_in_an_epilogue_rbp_is_already_popped():
    process = Process()
    # CFI says that rbp is saved 2 words below the CFA, which lies below rsp by now: the register is right.
    process.rule(LEAF, (r.FROM_RSP, 1, -2, 0, None))
    process.rule(MIDDLE - 1, (r.FROM_RBP, 2, 0, 0, None))
    process.rule(OUTER - 1, r.OUTERMOST_RULE)
    walk = process.walk(LEAF, [MIDDLE, 0, 0, OUTER], bp=SP + 16)
    assert walk.addresses == [LEAF, MIDDLE, OUTER]
    assert walk.end == pb.STACK_END_COMPLETE


def test_a_zero_return_address_is_the_end():
    walk = three_frames().walk(LEAF, [0])
    assert (walk.addresses, walk.end) == ([LEAF], pb.STACK_END_COMPLETE)


def test_truncated_where_the_copy_ends():
    process = three_frames()
    assert process.walk(LEAF, []).end == pb.STACK_END_TRUNCATED
    walk = process.walk(LEAF, [MIDDLE, 0, 55, OUTER], size=24)
    assert (walk.addresses, walk.end) == ([LEAF, MIDDLE], pb.STACK_END_TRUNCATED)


def test_size_beyond_the_copy_is_not_believed():
    assert three_frames().walk(LEAF, [MIDDLE], size=1 << 40).end == pb.STACK_END_TRUNCATED


def test_a_bogus_return_address_is_left_out():
    walk = three_frames().walk(LEAF, [0x1234])
    assert (walk.addresses, walk.end) == ([LEAF], pb.STACK_END_NO_MAPPING)


def test_a_leaf_in_no_mapping_is_all_there_is():
    walk = three_frames().walk(0x1234, [MIDDLE], bp=SP)
    assert (walk.addresses, walk.end) == ([0x1234], pb.STACK_END_NO_MAPPING)


def test_an_unusable_entry_ends_the_walk():
    process = three_frames()
    process.rule(MIDDLE - 1, r.UNUSABLE_RULE)
    walk = process.walk(LEAF, [MIDDLE, 0, 55, OUTER], bp=SP + 8)
    assert (walk.addresses, walk.end) == ([LEAF, MIDDLE], pb.STACK_END_NO_UNWIND)


@pytest.mark.parametrize("cfa", [0, -4])
def test_a_stack_that_does_not_go_up(cfa):
    process = Process()
    process.rule(LEAF, (r.FROM_RSP, cfa, 0, 0, None))
    assert process.walk(LEAF, [0, 0]).end == pb.STACK_END_BAD_STACK


def test_an_unaligned_rbp():
    process = Process()
    process.rule(LEAF, (r.FROM_RBP, 2, -2, 0, None))
    assert process.walk(LEAF, [0] * 8, bp=SP + 3).end == pb.STACK_END_BAD_STACK


def test_recursion_ends_at_the_depth():
    process = Process()
    process.rule(LEAF, (r.FROM_RSP, 1, 0, 0, None))
    process.rule(LEAF - 1, (r.FROM_RSP, 1, 0, 0, None))
    walk = process.walk(LEAF, [LEAF] * 40, depth=16)
    assert (len(walk.addresses), walk.end) == (16, pb.STACK_END_TOO_DEEP)


# Code without entries: one step by frame pointer, marked.

JITTED = 0x90_0040


def test_jit_code_by_frame_pointer():
    process = three_frames()
    process.call_before(MIDDLE)
    walk = process.walk(JITTED, [1, SP + 9, MIDDLE, 0, 55, OUTER], bp=SP + 8)
    assert walk.addresses == [JITTED, MIDDLE, OUTER]
    assert walk.by_frame_pointer == (1,)
    assert walk.end == pb.STACK_END_COMPLETE


def test_a_frame_pointer_is_only_believed_after_a_call():
    walk = three_frames().walk(JITTED, [1, SP + 9, MIDDLE, 0, 55, OUTER], bp=SP + 8)
    assert (walk.addresses, walk.end) == ([JITTED], pb.STACK_END_NO_UNWIND)
    assert walk.by_frame_pointer == ()


def test_a_frame_pointer_that_leads_out_of_code():
    walk = three_frames().walk(JITTED, [SP + 9, 0x1234], bp=SP)
    assert (walk.addresses, walk.end) == ([JITTED], pb.STACK_END_NO_MAPPING)


@pytest.mark.parametrize("bp", [0, 0x1234, SP - 8, SP + 4, SP + (64 << 20)])
def test_no_usable_frame_pointer(bp):
    walk = three_frames().walk(JITTED, [0] * 8, bp=bp)
    assert (walk.addresses, walk.end) == ([JITTED], pb.STACK_END_NO_UNWIND)


def test_a_frame_pointer_beyond_the_copy():
    assert three_frames().walk(JITTED, [0] * 8, bp=SP + 4096).end == pb.STACK_END_TRUNCATED


# Code without entries where it has no frame: rbp is the caller's, and leads to the caller's caller.

RETURNS, FRAME = b"\xc3", b"\x55\x48\x89\xe5"
JIT_CALLER = JITTED + 0x100


def at_a_return() -> Process:
    process = three_frames()
    process.call_before(MIDDLE)
    process.images.memory[JITTED - 1] = b"\x5d" + RETURNS
    return process


def test_the_caller_is_not_left_out_where_code_returns():
    process = at_a_return()
    walk = process.walk(JITTED, [JIT_CALLER, 1, SP + 32, MIDDLE, 0, 55, OUTER], bp=SP + 16)
    assert walk.addresses == [JITTED, JIT_CALLER, MIDDLE, OUTER]
    assert walk.by_frame_pointer == (2,)
    assert walk.end == pb.STACK_END_COMPLETE


def test_the_caller_is_not_left_out_where_code_begins():
    process = at_a_return()
    process.images.memory[JITTED - 1] = b"\xcc" + FRAME
    walk = process.walk(JITTED, [JIT_CALLER, 1, SP + 32, MIDDLE, 0, 55, OUTER], bp=SP + 16)
    assert walk.addresses == [JITTED, JIT_CALLER, MIDDLE, OUTER]


def test_the_caller_is_not_left_out_when_rbp_is_pushed():
    process = at_a_return()
    process.images.memory[JITTED - 1] = FRAME
    walk = process.walk(JITTED, [SP + 24, JIT_CALLER, 1, SP + 40, MIDDLE, 0, 55, OUTER], bp=SP + 24)
    assert walk.addresses == [JITTED, JIT_CALLER, MIDDLE, OUTER]
    # Something else was pushed: this is not where it seems to be.
    walk = process.walk(JITTED, [JIT_CALLER, 7, 1, SP + 40, MIDDLE, 0, 55, OUTER], bp=SP + 24)
    assert walk.addresses == [JITTED, MIDDLE, OUTER]


def test_a_frame_pointer_of_somebody_else_is_not_needed_where_code_returns():
    walk = at_a_return().walk(JITTED, [MIDDLE, 0, 55, OUTER], bp=0xC9FF_F989_E589_4855)
    assert walk.addresses == [JITTED, MIDDLE, OUTER]
    assert walk.by_frame_pointer == ()


def test_first_code_of_a_mapping():
    process = three_frames()
    process.call_before(MIDDLE)
    process.images.memory[JIT.start] = FRAME
    assert process.walk(JIT.start, [MIDDLE, 0, 55, OUTER]).addresses == [JIT.start, MIDDLE, OUTER]


def test_of_a_file_without_entries():
    process = three_frames()
    process.call_before(MIDDLE)
    process.rule(LEAF, r.NO_ENTRY_RULE)
    process.images.file.code[LEAF - FILE.start - 1] = b"\x5d" + RETURNS
    assert process.walk(LEAF, [MIDDLE, 0, 55, OUTER]).addresses == [LEAF, MIDDLE, OUTER]


@pytest.mark.parametrize("word", [0, 5, FILE.start - 8, OUTER, SP + 16])
def test_what_cannot_be_a_return_address_is_none(word):
    """OUTER follows no CALL."""
    process = at_a_return()
    walk = process.walk(JITTED, [word, 1, SP + 32, MIDDLE, 0, 55, OUTER], bp=SP + 16)
    assert walk.addresses == [JITTED, MIDDLE, OUTER]
    assert walk.by_frame_pointer == (1,)


def test_code_that_tells_nothing_is_walked_by_frame_pointer():
    process = at_a_return()
    process.images.memory[JITTED - 1] = b"\xcc\xff\xe1"
    stack = [JIT_CALLER, 1, SP + 32, MIDDLE, 0, 55, OUTER]
    assert process.walk(JITTED, stack, bp=SP + 16).addresses == [JITTED, MIDDLE, OUTER]
    process.images.memory[JITTED - 1] = b"\x5d" + RETURNS  # it is looked at once
    assert process.walk(JITTED, stack, bp=SP + 16).addresses == [JITTED, MIDDLE, OUTER]


def test_only_the_leaf_can_be_without_a_frame():
    process = at_a_return()
    process.rule(LEAF, (r.FROM_RSP, 1, 0, 0, None))
    process.images.memory[JITTED - 1] = b"\x5d" + RETURNS
    walk = process.walk(LEAF, [JITTED, JIT_CALLER, 1, SP + 40, MIDDLE, 0, 55, OUTER], bp=SP + 24)
    assert walk.addresses == [LEAF, JITTED, MIDDLE, OUTER]


def test_at_a_return_above_which_nothing_was_copied():
    process = at_a_return()
    assert process.walk(JITTED, [], bp=SP + 16).end == pb.STACK_END_TRUNCATED
    assert process.walk(JITTED, [SP + 16], bp=SP + 16).end == pb.STACK_END_TRUNCATED


def test_goexit_ends_a_goroutine():
    process = Process()
    # The outermost frame: rbp was 0, and the return address follows goexit's NOP.
    walk = process.walk(JITTED, [SP + 16, JITTED + 8, 0, OUTER], bp=SP)
    assert walk.addresses == [JITTED, JITTED + 8, OUTER]
    assert walk.end == pb.STACK_END_COMPLETE


def test_goexit_met_elsewhere_still_ends_a_goroutine():
    process = Process()
    strayed = process.walk(JITTED, [SP + 16, JITTED + 8, SP + 48, OUTER], bp=SP)
    assert (strayed.addresses, strayed.end) == ([JITTED, JITTED + 8], pb.STACK_END_NO_UNWIND)
    walk = process.walk(JITTED, [SP + 16, JITTED + 8, 0, OUTER], bp=SP)
    assert (walk.addresses, walk.end) == ([JITTED, JITTED + 8, OUTER], pb.STACK_END_COMPLETE)


def test_python_trampolines_are_known_by_their_bytes():
    exe = Vma(0x50_0000, 0x51_0000, 0, "/usr/bin/python3.12", b"", (8, 1), 78, deleted=False)
    process = Process(exe)
    process.rule(MIDDLE - 1, r.OUTERMOST_RULE)
    process.rule(LEAF, (r.FROM_RSP, 1, 0, 0, None))
    process.images.memory[JITTED] = PYTHON_TRAMPOLINE
    walk = process.walk(LEAF, [JITTED + 6, 7, MIDDLE], bp=1)
    assert walk.addresses == [LEAF, JITTED + 6, MIDDLE]
    assert walk.end == pb.STACK_END_COMPLETE
    assert walk.by_frame_pointer == ()


# Signals.

RESTORER = 0x40_0400
INTERRUPTED = 0x40_0500


def signal_stack(rsp: int, rbp: int = 0) -> list[int]:
    words = [0] * 22
    words[15], words[20], words[21] = rbp, rsp, INTERRUPTED
    return [RESTORER, *words]


def test_through_a_signal_handler():
    process = three_frames()
    process.rule(RESTORER - 1, r.SIGNAL_RULE)
    process.rule(INTERRUPTED, (r.FROM_RSP, 1, 0, 0, None))
    process.rule(INTERRUPTED - 1, r.UNUSABLE_RULE)
    stack = [*signal_stack(SP + 24 * 8), 0, OUTER]
    walk = process.walk(LEAF, stack)
    assert walk.addresses == [LEAF, RESTORER, INTERRUPTED, OUTER]
    assert walk.exact == (0, 2)
    assert walk.end == pb.STACK_END_COMPLETE


def test_musls_restorer_is_known_by_its_bytes():
    process = three_frames()
    process.images.file.code[RESTORER - FILE.start] = bytes.fromhex("48c7c00f0000000f05")
    process.rule(INTERRUPTED, r.OUTERMOST_RULE)
    walk = process.walk(LEAF, [*signal_stack(SP + 24 * 8), 0])
    assert walk.addresses == [LEAF, RESTORER, INTERRUPTED]
    assert walk.exact == (0, 2)


def test_a_handler_on_its_own_stack_ends_with_what_it_interrupted():
    process = three_frames()
    process.rule(RESTORER - 1, r.SIGNAL_RULE)
    walk = process.walk(LEAF, signal_stack(0x1000))
    assert (walk.addresses, walk.end) == ([LEAF, RESTORER, INTERRUPTED], pb.STACK_END_TRUNCATED)
    assert walk.exact == (0, 2)


def test_a_signal_frame_cut_off():
    process = three_frames()
    process.rule(RESTORER - 1, r.SIGNAL_RULE)
    walk = process.walk(LEAF, signal_stack(SP)[:10])
    assert (walk.addresses, walk.end) == ([LEAF, RESTORER], pb.STACK_END_TRUNCATED)


def test_where_a_signal_interrupted_is_told_even_in_no_mapping():
    process = three_frames()
    process.rule(RESTORER - 1, r.SIGNAL_RULE)
    stack = signal_stack(SP + 24 * 8)
    stack[22] = 0x1234
    walk = process.walk(LEAF, [*stack, 0])
    assert (walk.addresses, walk.end) == ([LEAF, RESTORER, 0x1234], pb.STACK_END_NO_MAPPING)
    assert walk.exact == (0, 2)


def test_positions_lie_in_the_stack_where_the_depth_cuts_it():
    process = three_frames()
    process.rule(RESTORER - 1, r.SIGNAL_RULE)
    assert process.walk(LEAF, [*signal_stack(SP + 24 * 8), 0], depth=2).exact == (0,)
    process.call_before(MIDDLE)
    walk = process.walk(JITTED, [SP + 9, MIDDLE, 0, OUTER], bp=SP, depth=1)
    assert (walk.end, walk.by_frame_pointer) == (pb.STACK_END_TOO_DEEP, ())


def test_all_registers_are_known_in_what_a_signal_interrupted():
    process = three_frames()
    process.rule(RESTORER - 1, r.SIGNAL_RULE)
    process.rule(
        INTERRUPTED, (r.GENERAL, 0, 0, 0, r.GeneralRule(b"", 10, 0, r.UNCHANGED, r.UNCHANGED, (r.AT_CFA, -8)))
    )
    stack = [*signal_stack(SP + 24 * 8), 0, OUTER]
    stack[1 + 7] = SP + 25 * 8  # r10
    walk = process.walk(LEAF, stack)
    assert walk.addresses == [LEAF, RESTORER, INTERRUPTED, OUTER]


# Unusual rows.


def unusual(**changes) -> r.Rule:
    fields = {
        "expression": b"",
        "register": 7,
        "offset": 8,
        "rbp": r.UNCHANGED,
        "rbx": r.UNCHANGED,
        "return_address": (r.AT_CFA, -8),
    }
    return (r.GENERAL, 0, 0, 0, r.GeneralRule(**{**fields, **changes}))


def walk_unusual(rule: r.Rule, words, **more):
    process = three_frames()
    process.rule(LEAF, rule)
    process.rule(MIDDLE - 1, (r.FROM_RBP, 1, 0, 0, None))
    return process.walk(LEAF, words, **more)


def test_cfa_from_another_register_of_the_leaf():
    walk = walk_unusual(unusual(register=10, offset=0), [0, MIDDLE, 0, OUTER], reg14=SP + 16, bp=SP + 24)
    assert walk.addresses == [LEAF, MIDDLE, OUTER]


def test_other_registers_of_a_caller_are_lost():
    process = three_frames()
    process.rule(MIDDLE - 1, unusual(register=10))
    assert process.walk(LEAF, [MIDDLE, OUTER]).end == pb.STACK_END_NO_UNWIND


def test_cfa_from_rbx_of_a_caller():
    """_dl_runtime_resolve: CFA = rbx + 32, and the functions it calls have saved rbx."""
    process = Process()
    process.rule(LEAF, (r.FROM_RSP, 1, 0, 0, None))
    process.rule(MIDDLE - 1, (r.FROM_RSP, 3, -3, -2, None))
    process.rule(OUTER - 1, unusual(register=3, offset=32))
    process.rule(RESTORER - 1, r.OUTERMOST_RULE)
    walk = process.walk(LEAF, [MIDDLE, 5, SP + 48, OUTER, 0, 0, 0, 0, 0, RESTORER])
    assert walk.addresses == [LEAF, MIDDLE, OUTER, RESTORER]
    assert walk.end == pb.STACK_END_COMPLETE


def test_code_that_was_walked_by_frame_pointer_may_have_changed_rbx():
    process = Process()
    process.call_before(OUTER)
    process.rule(OUTER - 1, unusual(register=3, offset=32))
    walk = process.walk(JITTED, [1, SP + 9, OUTER, 0, 0, 0, 0, RESTORER], bp=SP + 8, reg1=SP)
    assert (walk.addresses, walk.end) == ([JITTED, OUTER], pb.STACK_END_NO_UNWIND)


def test_cfa_and_rbp_by_expression():
    # CFA = *(rbp − 8), rbp at breg6 + 0: a realigned stack.
    rule = unusual(expression=bytes.fromhex("767806"), rbp=(r.AT_EXPRESSION, bytes.fromhex("7600")))
    words = [SP + 40, SP + 48, 0, 0, MIDDLE, 0, OUTER]
    walk = walk_unusual(rule, words, bp=SP + 8)
    assert walk.addresses == [LEAF, MIDDLE, OUTER]


def test_return_address_in_a_register():
    rule = unusual(offset=0, return_address=(r.REGISTER, 0))
    walk = walk_unusual(rule, [0, 0, OUTER], reg0=MIDDLE, bp=SP + 16)
    assert walk.addresses == [LEAF, MIDDLE, OUTER]


def test_a_lost_rbp_is_not_used():
    rule = unusual(rbp=(r.REGISTER, 99))
    walk = walk_unusual(rule, [MIDDLE, 0, OUTER], bp=SP + 16)
    assert (walk.addresses, walk.end) == ([LEAF, MIDDLE], pb.STACK_END_BAD_STACK)


@pytest.mark.parametrize(
    ("changes", "end"),
    [
        ({"offset": 4}, pb.STACK_END_BAD_STACK),
        ({"offset": -8}, pb.STACK_END_BAD_STACK),
        ({"offset": 800, "return_address": (r.AT_CFA, -800)}, pb.STACK_END_TRUNCATED),
        ({"offset": 800}, pb.STACK_END_TRUNCATED),
        ({"return_address": (r.AT_CFA, -3)}, pb.STACK_END_BAD_STACK),
        ({"return_address": (r.AT_CFA, -80)}, pb.STACK_END_TRUNCATED),
        ({"expression": b"\xe0"}, pb.STACK_END_NO_UNWIND),
    ],
)
def test_unusual_rows_that_lead_nowhere(changes, end):
    walk = walk_unusual(unusual(**changes), [MIDDLE] * 4)
    assert (walk.addresses, walk.end) == ([LEAF], end)


# Anything at all.

words = st.one_of(
    st.integers(0, 2**64 - 1),
    st.integers(SP - 64, SP + 600),
    st.sampled_from([LEAF, MIDDLE, OUTER, RESTORER, JITTED, 0]),
)
some_rules = st.one_of(
    st.tuples(
        st.sampled_from([r.FROM_RSP, r.FROM_RBP]),
        st.integers(-2, 9),
        st.integers(-4, 0),
        st.integers(-4, 0),
        st.none(),
    ),
    st.sampled_from([r.SIGNAL_RULE, r.NO_ENTRY_RULE, r.UNUSABLE_RULE, r.OUTERMOST_RULE]),
    st.builds(
        unusual,
        expression=st.binary(max_size=6),
        register=st.integers(0, 20),
        offset=st.integers(-16, 64),
        rbp=st.tuples(st.integers(0, 6), st.integers(-40, 20)),
        rbx=st.tuples(st.integers(0, 6), st.integers(-40, 20)),
        return_address=st.tuples(st.sampled_from([r.AT_CFA, r.CFA_PLUS, r.REGISTER]), st.integers(-40, 20)),
    ),
)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(
    st.dictionaries(st.sampled_from([LEAF, LEAF - 1, MIDDLE - 1, OUTER - 1, RESTORER - 1]), some_rules),
    st.lists(words, max_size=60),
    words,
    st.integers(0, 600),
)
def test_any_stack_ends_with_a_reason(rules, stack, bp, size):
    process = Process()
    for address, rule in rules.items():
        process.rule(address, rule)
    for address in (MIDDLE, OUTER):
        process.call_before(address)
    walk = process.walk(LEAF, stack, bp=bp, size=size, depth=32)
    assert 1 <= len(walk.addresses) <= 33
    assert pb.STACK_END_COMPLETE <= walk.end <= pb.STACK_END_TOO_DEEP
    assert walk.end != pb.STACK_END_KERNEL_ONLY
    assert set(walk.exact) | set(walk.by_frame_pointer) <= set(range(len(walk.addresses)))
    assert all(0 <= address < 2**64 for address in walk.addresses)


def test_a_stub_without_an_entry_is_walked_from_by_its_bytes():
    process = three_frames()
    process.images.file.rules.by_offset[LEAF - FILE.start] = r.NO_ENTRY_RULE
    process.images.file.code[LEAF - FILE.start - 16] = b"\x90" * 5 + bytes.fromhex(
        "ff251afc1c006802000000e9c0ffffff"
    )  # the leaf is the jump behind the push
    walk = process.walk(LEAF, [2, MIDDLE, 0, 55, OUTER, 0, 0])
    assert walk.addresses == [LEAF, MIDDLE, OUTER]
    assert walk.end == pb.STACK_END_COMPLETE


@pytest.mark.parametrize(("is_go", "end"), [(True, pb.STACK_END_TRUNCATED), (False, pb.STACK_END_NO_UNWIND)])
def test_the_stack_that_go_left_for_another_was_not_copied(is_go, end):
    process = Process()
    process.images.file.is_go = is_go
    walk = process.walk(LEAF, [0, 0, 0], bp=SP - 0x10_0000)
    assert walk.addresses == [LEAF]
    assert walk.end == end
