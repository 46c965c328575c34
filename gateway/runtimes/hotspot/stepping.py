"""Steps through frames whose place depends on the sample: the interpreter's, deoptimized ones, and stubs'."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from fleetpb import capture_pb2
from gateway.runtimes.hotspot.errors import Damaged
from gateway.runtimes.hotspot.interpreter import BCP_BELOW_METHOD
from gateway.runtimes.hotspot.jvm import ADAPTER, BARRIER, DEOPTIMIZED, INTERPRETED, LEAF
from gateway.runtimes.hotspot.leaf_code import LOOKED_AT, PERF_INDEX, interpreter_exit
from gateway.runtimes.process_memory import Unreadable
from gateway.unwind.frameless import return_address_words

if TYPE_CHECKING:
    from gateway.runtimes.hotspot.jvm import Jvm

CONTINUES: Final = -1
_TRUNCATED: Final = int(capture_pb2.STACK_END_TRUNCATED)
_NO_UNWIND: Final = int(capture_pb2.STACK_END_NO_UNWIND)
_BAD_STACK: Final = int(capture_pb2.STACK_END_BAD_STACK)
_RAX: Final = PERF_INDEX[0]
_RBX: Final = PERF_INDEX[3]
_R13: Final = PERF_INDEX[13]
_EXIT_BYTES: Final = 16
# Words above rsp within which a stub's return address must lie, and a method's entry pushes its frame.
_STUB_WORDS: Final = 64
_SAVED_WORDS: Final = 512
_ENTRY_WORDS: Final = 12
_MAX_ARGUMENT_WORDS: Final = 512
_MAX_PUSHED: Final = 8
_STACK_LIMIT_WORDS: Final = (8 << 20) >> 3


class Place(NamedTuple):
    """A frame of the walk: `top` is the index in `stack` of the word at rsp; `registers` only of the leaf."""

    ip: int
    top: int
    rbp: int
    registers: tuple[int, ...] | None
    stack: memoryview[int]
    origin: int
    limit: int


class Step(NamedTuple):
    """The caller, and what the frame was: `method` and `bcp` of an interpreted one, else 0.

    `end` is a `capture_pb2.StackEnd`, or CONTINUES. `address` replaces the return address of a deoptimized frame.
    """

    address: int
    ip: int
    top: int
    rbp: int
    end: int = CONTINUES
    method: int = 0
    bcp: int = 0


def step(jvm: Jvm, how: int, place: Place) -> Step:
    """Leave a frame whose rule is MANAGED. Every step moves up the stack, but for a leaf's."""
    try:
        if how == LEAF:
            return _leaf(jvm, place)
        if how == INTERPRETED:
            return _interpreted(jvm, place)
        if how == DEOPTIMIZED:
            return _deoptimized(jvm, place)
        if how == ADAPTER:
            return _adapter(jvm, place)
        if how == BARRIER:
            return _ended(place, _TRUNCATED)
        return _stub(jvm, place)
    except (Damaged, Unreadable):
        return _ended(place, _NO_UNWIND)


def _ended(place: Place, end: int) -> Step:
    return Step(place.ip, 0, place.top, 0, end)


def _index(place: Place, address: int) -> int:
    """The index of the word at an address; −1: not above rsp, or not aligned."""
    distance = address - place.origin
    index = distance >> 3
    return -1 if distance & 7 or index < place.top or index - place.top > _STACK_LIMIT_WORDS else index


def _interpreted(jvm: Jvm, place: Place) -> Step:
    registers, stack = place.registers, place.stack
    if registers is not None:
        removed = interpreter_exit(jvm.code(place.ip, _EXIT_BYTES))
        if removed is not None:
            return _after_exit(place, registers, removed.target, removed.stack)
        if jvm.interpreter.is_method_entry(place.ip) and not _is_built(jvm, place, registers):
            return _at_entry(jvm, place, registers)
    frame = _index(place, place.rbp)
    if frame < 0:
        return _ended(place, _BAD_STACK)
    if frame + 2 > place.limit:
        return _ended(place, _TRUNCATED)
    slots = jvm.layout.interpreter
    method = bcp = 0
    if frame + slots.method >= place.top:
        address = stack[frame + slots.method]
        found = jvm.method(address)
        if found is not None:
            method = address
            candidates = [registers[_R13]] if registers is not None else []
            candidates += [
                stack[frame + slots.method + below]
                for below in BCP_BELOW_METHOD
                if frame + slots.method + below >= place.top
            ]
            bcp = next((value for value in candidates if found.code_begin <= value < found.code_end), 0)
    elif registers is not None and jvm.method(registers[_RBX]) is not None:
        method = registers[_RBX]  # its entry code has not pushed it yet
    if not method:
        return _ended(place, _NO_UNWIND)
    top = frame + 2
    if frame + slots.sender_sp >= place.top:
        top = max(top, _index(place, stack[frame + slots.sender_sp]))
    elif registers is not None:
        top = max(top, _index(place, registers[_R13]))
    if top > place.limit:
        return Step(place.ip, 0, place.top, 0, _TRUNCATED, method, bcp)
    return Step(place.ip, stack[frame + 1], top, stack[frame], CONTINUES, method, bcp)


def _after_exit(place: Place, registers: tuple[int, ...], target: int, source: int) -> Step:
    """The frame is gone: the return address is on top of the stack, or in a register; rbp is the caller's."""
    top = place.top
    if target < 0:
        if top >= place.limit:
            return _ended(place, _TRUNCATED)
        ip = place.stack[top]
        top += 1
    else:
        ip = registers[target]
    if source >= 0:
        top = _index(place, registers[source])
    if not place.top <= top <= place.limit:
        return _ended(place, _BAD_STACK)
    return Step(place.ip, ip, top, place.rbp)


def _is_built(jvm: Jvm, place: Place, registers: tuple[int, ...]) -> bool:
    """Whether rbp already points at the frame that a method's entry code builds."""
    frame = _index(place, place.rbp)
    if frame < 0 or frame + 2 > place.limit:
        return False
    sender = _index(place, registers[_R13])
    if not 0 <= sender - place.top <= _MAX_ARGUMENT_WORDS:
        # r13 is not the caller's rsp, so it is the bytecode pointer by now, or a native method runs.
        return True
    if frame == place.top:
        return jvm.is_return_address(place.stack[frame + 1])
    return frame - place.top <= _ENTRY_WORDS and place.stack[frame - 1] == registers[_R13]


def _at_entry(jvm: Jvm, place: Place, registers: tuple[int, ...]) -> Step:
    """A method whose frame is not built: its return address is on top of the stack or, for a while, in rax."""
    sender = _index(place, registers[_R13])
    top = sender if 0 <= sender - place.top <= _MAX_ARGUMENT_WORDS else place.top + 1
    method = registers[_RBX] if jvm.method(registers[_RBX]) is not None else 0
    for index in range(place.top, min(place.top + 2, place.limit)):
        if jvm.is_return_address(place.stack[index]):
            # With two words, the caller's rbp has just been pushed.
            rbp = place.stack[place.top] if index > place.top else place.rbp
            return Step(place.ip, place.stack[index], max(top, index + 1), rbp, CONTINUES, method)
    if jvm.is_return_address(registers[_RAX]) and place.top <= top <= place.limit:
        return Step(place.ip, registers[_RAX], top, place.rbp, CONTINUES, method)
    return _ended(place, _NO_UNWIND)


def _leaf(jvm: Jvm, place: Place) -> Step:
    """Compiled code with its frame, but rsp may be lower: arguments were pushed, or registers by routines of strings."""
    cached = jvm.blobs.at(place.ip if place.registers is not None else place.ip - 1)
    if cached is None:
        return _ended(place, _NO_UNWIND)
    stack, limit = place.stack, place.limit
    caller = place.top + cached.blob.frame_words
    if caller > limit:
        return _ended(place, _TRUNCATED)
    # Native code calls through the call stub only, so a caller is always the JVM's code.
    possible = [
        at
        for at in range(caller, min(caller + _MAX_PUSHED, limit + 1))
        if jvm.is_return_address(stack[at - 1])
    ]
    if len(possible) > 1:
        # Words below the frame's own end may be left over from earlier calls.
        calling = [at for at in possible if jvm.calls_into(stack[at - 1], cached.blob, place.ip)]
        possible = calling or [at for at in possible if _is_called(jvm, place, at)] or possible
    caller = possible[0] if possible else caller
    return Step(place.ip, stack[caller - 1], caller, stack[caller - 2])


def _is_called(jvm: Jvm, place: Place, caller: int) -> bool:
    """Whether the frame above one that returns to the word below `caller` returns to the JVM's code as well."""
    found = jvm.blobs.find(place.stack[caller - 1] - 1)
    if found is None or not found.blob.frame_words:
        return True  # the interpreter's frames are found by rbp
    above = caller + found.blob.frame_words
    return above > place.limit or jvm.is_return_address(place.stack[above - 1])


def _deoptimized(jvm: Jvm, place: Place) -> Step:
    """A compiled frame whose return address the JVM replaced; the frame holds the original one."""
    cached = jvm.blobs.at(place.ip - 1)
    if cached is None:
        return _ended(place, _NO_UNWIND)
    blob = cached.blob
    words = jvm.blobs.debug_info(cached).orig_pc_words
    caller = place.top + blob.frame_words
    if caller > place.limit:
        return _ended(place, _TRUNCATED)
    if not 0 <= words < blob.frame_words - 1:
        return _ended(place, _BAD_STACK)
    original = place.stack[place.top + words]
    if not blob.code_begin < original <= blob.code_end:
        return _ended(place, _BAD_STACK)
    return Step(original, place.stack[caller - 1], caller, place.stack[caller - 2])


def _stub(jvm: Jvm, place: Place) -> Step:
    """Code without a described frame: a routine that the JVM's code calls."""
    cached = jvm.blobs.at(place.ip if place.registers is not None else place.ip - 1)
    if cached is None:
        return _ended(place, _NO_UNWIND)
    blob, stack, top, limit = cached.blob, place.stack, place.top, place.limit
    if top >= limit:
        return _ended(place, _TRUNCATED)
    if place.registers is not None:
        words = return_address_words(jvm.code(place.ip, min(LOOKED_AT, blob.end - place.ip)), 0)
        if words and top + words <= limit:
            rbp = place.rbp if words == 1 else stack[top]
            return Step(place.ip, stack[top + words - 1], top + words, rbp)
    frame = _index(place, place.rbp)
    if 0 <= frame <= limit - 2 and jvm.calls_into(stack[frame + 1], blob, place.ip):
        return Step(place.ip, stack[frame + 1], frame + 2, stack[frame])
    # A routine that calls into the JVM may have saved all vector registers.
    within = _STUB_WORDS if place.registers is not None else _SAVED_WORDS
    for index in range(top, min(top + within, limit)):
        if jvm.calls_into(stack[index], blob, place.ip):
            return Step(place.ip, stack[index], index + 1, place.rbp)  # without a frame rbp is the caller's
    if 0 <= frame <= limit - 2 and frame - top <= _STUB_WORDS and jvm.contains(stack[frame + 1]):
        return Step(place.ip, stack[frame + 1], frame + 2, stack[frame])
    caller = top + blob.frame_words
    if blob.frame_words > 1 and caller <= limit and jvm.is_return_address(stack[caller - 1]):
        return Step(place.ip, stack[caller - 1], caller, stack[caller - 2])
    return _ended(place, _NO_UNWIND)


def _adapter(jvm: Jvm, place: Place) -> Step:
    """Code between two calling conventions: it moves the return address by way of rax, and keeps rbp.

    While it does so for compiled code, r13 is the caller's rsp.
    """
    registers, top = place.registers, place.top
    if registers is None or top >= place.limit:
        return _ended(place, _TRUNCATED if registers else _NO_UNWIND)
    sender = _index(place, registers[_R13])
    sender = sender if 0 <= sender - top <= _MAX_ARGUMENT_WORDS and sender <= place.limit else -1
    held = registers[_RAX]
    if jvm.is_return_address(place.stack[top]):
        moved = place.stack[top] == held and sender > top
        return Step(place.ip, place.stack[top], sender if moved else top + 1, place.rbp)
    if jvm.is_return_address(held):
        return Step(place.ip, held, max(sender, top), place.rbp)
    return _ended(place, _NO_UNWIND)
