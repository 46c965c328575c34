"""One JVM: rules for the walker, and the activations of what it finds.

What is cached belongs to a blob (blob_table.py) or a method, which is read again at its first use in each drain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gateway.runtimes.hotspot.blob_table import BlobTable
from gateway.runtimes.hotspot.debug_info import method_pointer
from gateway.runtimes.hotspot.errors import Damaged
from gateway.runtimes.hotspot.frames import FrameKind, JavaFrame
from gateway.runtimes.hotspot.interpreter import Interpreter
from gateway.runtimes.hotspot.leaf_code import ENTRY_BYTES, LOOKED_AT, call_before, leaf_rule
from gateway.runtimes.hotspot.methods import Methods
from gateway.runtimes.process_memory import Unreadable
from gateway.unwind.rules import FROM_RBP, FROM_RSP, MANAGED, UNUSABLE_RULE, Rule

if TYPE_CHECKING:
    from gateway.runtimes.hotspot.blob_table import CachedBlob
    from gateway.runtimes.hotspot.code_cache import Blob
    from gateway.runtimes.hotspot.debug_info import Charge
    from gateway.runtimes.hotspot.layout import Layout
    from gateway.runtimes.hotspot.methods import Method
    from gateway.runtimes.hotspot.vm_structs import Read

# How a frame of kind MANAGED is left, in the place of the rule's distance.
INTERPRETED: Final = 1
DEOPTIMIZED: Final = 2
STUB: Final = 3
ADAPTER: Final = 4
LEAF: Final = 5
BARRIER: Final = 6
_RULES: Final[dict[int, Rule]] = {
    how: (MANAGED, how, 0, 0, None) for how in (INTERPRETED, DEOPTIMIZED, STUB, ADAPTER, LEAF, BARRIER)
}
# Names of blobs whose code only chooses a target and jumps there, or passes arguments on to another convention.
_WITHOUT_FRAME: Final = ("vtable", "itable", "InlineCacheBuffer")
_ADAPTERS: Final = ("I2C/C2I", "MethodHandles adapters")
# A virtual thread's frame returns there if its caller is still in the heap.
_CONTINUATIONS: Final = "StubRoutines (continuation"
_AT_TOP: Final[Rule] = (FROM_RSP, 1, 0, 0, None)
_BY_RBP: Final[Rule] = (FROM_RBP, 2, -2, 0, None)
_MAX_INTERPRETED: Final = 1 << 16
_CALL_BYTES: Final = 16
_SCOPE_WORK: Final = 10
# mov %rbp,%rsp in both encodings.
_RESTORES_RSP: Final = (b"\x48\x8b\xe5", b"\x48\x89\xec")
_RESTORES_BYTES: Final = 3


def _for_free(_work: int) -> None:
    """No budget."""


def _in_frame(blob: Blob) -> Rule:
    return (FROM_RSP, blob.frame_words, -2, 0, None)


class Jvm:
    """The readable state of one JVM. Not thread-safe. `read` returns exactly the bytes requested, or raises Unreadable."""

    def __init__(self, layout: Layout, read: Read, charge: Charge = _for_free) -> None:
        """Raises Damaged and Unreadable, also while the JVM is still starting.

        `charge` counts work on what was read, and raises Unreadable if it becomes too much.
        """
        self.layout = layout
        self._read = read
        self._charge = charge
        self.blobs = BlobTable(layout, read, charge)
        self.interpreter = Interpreter(layout.interpreter, read)
        self._methods = Methods(layout, read, charge)
        self._unresolved: set[int] = set()
        self._checked_methods: set[int] = set()
        self._fresh: set[int] = set()
        self._interpreted: dict[tuple[int, int], JavaFrame] = {}
        self._return_sites: dict[int, bool] = {}
        self.dropped = self.blobs.dropped
        """Addresses whose rules and frames are no longer valid; the caller empties it."""

    def begin_drain(self) -> None:
        """Everything is to be checked again at its next use."""
        self._checked_methods.clear()
        self._fresh.clear()
        self._return_sites.clear()
        self.dropped.extend(self._unresolved)
        self._unresolved.clear()
        self.blobs.begin_drain()

    def contains(self, address: int) -> bool:
        """Whether an address lies in code of the JVM's making."""
        return self.interpreter.contains(address) or self.blobs.contains(address)

    def is_outdated(self, addresses: list[int], methods: tuple[tuple[int, int, int], ...]) -> bool:
        """Check what a walk used; True: something has changed, its rules are in `dropped`."""
        changed = False
        if not self._fresh.issuperset(addresses):
            for address in addresses:
                if address not in self._fresh and self.blobs.contains(address):
                    # A return address may lie behind its blob, and an interrupted instruction at the beginning of one.
                    changed |= self.blobs.has_changed(address - 1)
                    changed |= self.blobs.has_changed(address)
            self._fresh.update(addresses)
        for _, method, _ in methods:
            if method not in self._checked_methods:
                self._checked_methods.add(method)
                self._forget_changed(method)
        return changed

    def rule(self, ip: int, back: int) -> Rule | None:
        """How to leave the frame at an address; None: no code of the JVM is there.

        `back` is 1 for a return address. `Rule`s of kind MANAGED are for `stepping.step`.
        """
        if back and ip == self.interpreter.call_stub_return:
            return _BY_RBP
        if self.interpreter.contains(ip):
            return _RULES[INTERPRETED]
        if not self.blobs.contains(ip - back):
            return None
        try:
            cached = self.blobs.at(ip - back)
            if cached is None:
                self._unresolved.add(ip - back)
                return None
            rule = self._return_rule(cached, ip) if back else self._leaf_rule(cached, ip)
            if not back and cached.blob.is_compiled and rule == _in_frame(cached.blob):
                rule = _RULES[LEAF]
        except (Damaged, Unreadable):
            self._unresolved.add(ip - back)
            return UNUSABLE_RULE
        self.blobs.add_rule(cached, ip - back)
        return rule

    def frames(self, ip: int, back: int) -> tuple[JavaFrame, ...]:
        """The activations at a code address, innermost first; none: unknown."""
        try:
            cached = self.blobs.at(ip - back)
            if cached is None:
                return ()
            key = ip << 1 | back
            known = cached.frames.get(key)
            if known is None:
                known = tuple(self._frames(cached, ip, back))
                self.blobs.add_frames(cached, key, known)
        except (Damaged, Unreadable):
            return ()
        return known

    def interpreted(self, method: int, bcp: int) -> JavaFrame | None:
        """The activation of an interpreted method; None: it cannot be read."""
        known = self._interpreted.get((method, bcp))
        if known is not None:
            return known
        try:
            its = self._methods.at(method)
            bci = bcp - its.code_begin if its.code_begin <= bcp < its.code_end else -1
            found = self._frame(its, bci, FrameKind.INTERPRETED)
        except (Damaged, Unreadable):
            return None
        if len(self._interpreted) >= _MAX_INTERPRETED:
            self._interpreted.clear()
        self._interpreted[method, bcp] = found
        return found

    def method(self, address: int) -> Method | None:
        """The method at an address; None: none can be read there."""
        try:
            return self._methods.at(address)
        except (Damaged, Unreadable):
            return None

    def code(self, address: int, size: int) -> bytes:
        """Code from an address on; none if it cannot be read."""
        try:
            return self._read(address, size)
        except Unreadable:
            return b""

    def is_return_address(self, address: int) -> bool:
        """Whether the JVM's code calls something right before an address, with a description of its frame."""
        known = self._return_sites.get(address)
        if known is None:
            known = self._return_sites[address] = self._is_return_address(address)
        return known

    def _is_return_address(self, address: int) -> bool:
        if address == self.interpreter.call_stub_return or self.interpreter.is_return_entry(address):
            return True
        cached = self.blobs.find(address - 1)
        if cached is None:
            return False
        try:
            if cached.blob.is_compiled:
                debug = self.blobs.debug_info(cached)
                return (
                    address in debug.deopt_handlers
                    or debug.exact(address - cached.blob.code_begin) is not None
                )
        except (Damaged, Unreadable):
            return False
        return cached.blob.is_native_wrapper

    def calls_into(self, address: int, blob: Blob, ip: int) -> bool:
        """Whether the instruction before a return address calls code of `blob` that can have led to `ip`."""
        if self.blobs.find(address - 1) is None:
            return False
        call = call_before(self.code(address - _CALL_BYTES, _CALL_BYTES), address)
        return call is not None and blob.code_begin <= call.target <= ip

    def _return_rule(self, cached: CachedBlob, ip: int) -> Rule:
        blob = cached.blob
        if blob.is_compiled:
            debug = self.blobs.debug_info(cached)
            if ip in debug.deopt_handlers:
                return _RULES[DEOPTIMIZED]
            index = debug.exact(ip - blob.code_begin)
            if index is None:
                # A call without debug information, to a leaf routine of the JVM.
                if call_before(self.code(ip - _CALL_BYTES, _CALL_BYTES), ip) is None:
                    return UNUSABLE_RULE
                return _RULES[LEAF]  # arguments may have been pushed for it
            if (
                debug.flags[index] & self.layout.nmethod.method_handle_flag
                and self.code(ip, _RESTORES_BYTES) in _RESTORES_RSP
            ):
                # Around a call through a method handle, rbp keeps rsp, which the callee may have moved.
                return (FROM_RBP, blob.frame_words, -2, 0, None)
        if blob.frame_words:
            return _in_frame(blob)
        return _RULES[BARRIER if blob.name.startswith(_CONTINUATIONS) else STUB]

    def _leaf_rule(self, cached: CachedBlob, ip: int) -> Rule:
        blob = cached.blob
        if blob.name.startswith(_WITHOUT_FRAME):
            return _AT_TOP
        if not (blob.is_compiled or blob.is_native_wrapper):
            return _RULES[ADAPTER if blob.name.startswith(_ADAPTERS) else STUB]
        its = self.layout.nmethod
        entry = blob.code_begin
        if its.entry_point:
            entry = its.entry_point.of(blob.header)
        elif its.entry_offset:
            entry += its.entry_offset.of(blob.header)
        if not blob.code_begin <= entry < blob.code_end:
            raise Damaged(f"the entry of the code at {blob.start:#x} lies outside of it")
        first = self._read(entry, min(ENTRY_BYTES, blob.code_end - entry))
        code = self._read(ip, min(LOOKED_AT, blob.end - ip))
        complete = blob.code_begin + blob.frame_complete - entry
        return leaf_rule(first, ip - entry, code, blob.frame_words, complete)

    def _frames(self, cached: CachedBlob, ip: int, back: int) -> list[JavaFrame]:
        blob = cached.blob
        if not (blob.is_compiled or blob.is_native_wrapper):
            return [JavaFrame(blob.name, "", 0, FrameKind.STUB)]
        if blob.is_native_wrapper:
            method = self._methods.at(self.layout.nmethod.method.of(blob.header))
            return [self._frame(method, -1, FrameKind.NATIVE)]
        debug = self.blobs.debug_info(cached)
        index = debug.nearest(ip - blob.code_begin - back)
        if not back and self._leaf_rule(cached, ip) != _in_frame(blob):
            index = None  # code that builds or removes the frame belongs to the outermost method
        scopes = (
            []
            if index is None or self.blobs.excluded is None
            else debug.scopes_at(index, self.blobs.excluded)
        )
        if not scopes:
            method = self._methods.at(debug.method)
            return [self._frame(method, -1, FrameKind.COMPILED)]
        self._charge(_SCOPE_WORK * len(scopes))
        frames = []
        last = len(scopes) - 1
        for place, scope in enumerate(scopes):
            method = self._methods.at(method_pointer(debug.metadata, scope.method, self._read))
            kind = FrameKind.COMPILED if place == last else FrameKind.INLINED
            frames.append(self._frame(method, scope.bci, kind))
        return frames

    def _frame(self, method: Method, bci: int, kind: FrameKind) -> JavaFrame:
        line, first_line = self._line(method, bci), self._line(method, 0)
        return JavaFrame(method.name, method.file, line, kind, first_line)

    def _line(self, method: Method, bci: int) -> int:
        excluded = self.blobs.excluded
        if excluded is None:
            excluded = self.layout.method.newer_flags
        return self._methods.line(method, bci, excluded)

    def _forget_changed(self, method: int) -> None:
        if self._methods.known(method) is None:
            return
        try:
            if self._methods.is_current(method):
                return
        except (Damaged, Unreadable):
            pass  # not what it was
        self._methods.forget(method)
        self._interpreted.clear()
        self.dropped.append(0)  # frames by other means than addresses
