"""Compare the gateway's unwinding with that of `perf script` on the same recording.

    perf record -a -F 99 --call-graph dwarf,16384 -o perf.data -- sleep 5
    python -m benchmarks.unwind_agreement perf.data

A stack is *identical* if all addresses are equal. It is *longer* if perf's stack is its beginning, every further caller
follows a CALL instruction, and the walk ended at the thread's start. All other results have their own counts. Callers
in memory without a file (JIT code) are checked in the process if it still runs, else counted as unchecked.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.perf_data import Forked, Mapped, Named, Sample, read_recording
from fleetpb import capture_pb2
from gateway.process.address_space import AddressSpace
from gateway.process.images import Images
from gateway.process.walker import Walk, Walker
from gateway.unwind.machine_code import LONGEST_CALL, follows_call

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

_SAMPLE_LINE: Final = re.compile(r"\s(\d+)/(-?\d+)\s+(\d+)\.(\d{9}):")
_KERNEL_HALF: Final = 1 << 63
_MAX_FRAMES: Final = 250
# Examples shown per verdict.
_MAX_EXAMPLES: Final = 8
# Processes that can be passed to perf on its command line.
_MAX_NAMED: Final = 1000
_SHOWN: Final = frozenset({"wrong", "perf_longer", "longer_incomplete"})


@dataclass
class Agreement:
    """Counts of stacks unwound by both, and of callers found only by the gateway."""

    stacks: int = 0
    identical: int = 0
    longer: int = 0
    # Longer than perf's, up to the end of the copied stack.
    longer_cut_short: int = 0
    # Longer than perf's, but the walk did not reach the thread's start for another reason.
    longer_incomplete: int = 0
    # perf has one more address where the gateway ends, in no executable mapping that perf reported: a stray word,
    # or code made executable by mprotect, which the kernel does not report. Or neither recognizes the leaf.
    unmapped: int = 0
    # perf found more callers than the gateway in any other way.
    perf_longer: int = 0
    # perf omitted the leaf's caller, as frame pointer unwinding does in a function without a frame. Without that caller
    # the stacks are equal, or perf's is the beginning; every further caller of the gateway follows a CALL.
    perf_skipped: int = 0
    # The stacks differ, and the gateway's is proven: it is complete, or ends at the end of the copied stack, all
    # callers follow CALLs, and either one of them is a direct CALL of the very function called, or perf's address
    # follows no CALL anywhere.
    # Observed when libunwind falls back to the frame pointer in ld.so, and so omits callers.
    perf_wrong: int = 0
    # The stacks differ in any other way, or a further caller follows no CALL.
    wrong: int = 0
    # Samples that perf script did not print.
    without_peer: int = 0
    extra_callers: int = 0
    extra_callers_unchecked: int = 0
    by_program: dict[str, Counter[str]] = field(default_factory=dict)
    ends: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    @property
    def identical_or_longer(self) -> float:
        """Share of stacks on which the gateway agrees with perf or finds more."""
        agreed = self.identical + self.longer + self.perf_skipped
        return agreed / self.stacks if self.stacks else 0.0


def compare(
    perf_data_path: str | os.PathLike[str],
    *,
    pids: AbstractSet[int] | None = None,
    with_children: bool = False,
) -> Agreement:
    """Unwind a recording with the gateway's walker and with `perf script`, and compare every stack.

    `pids` limits this to the samples of some processes; `with_children` adds the processes that they started during the
    recording. Run it while they still run: JIT code exists only in their memory.
    """
    path = Path(perf_data_path)
    recording = read_recording(path)
    wanted = None if pids is None else set(pids)
    if wanted is not None and with_children:
        for event in recording.events:
            if isinstance(event, Forked) and event.parent in wanted:
                wanted.add(event.pid)
    theirs = _perf_script(path, wanted)
    comparison = _Comparison()
    spaces: dict[int, AddressSpace] = {}
    programs: dict[int, str] = {}
    for event in recording.events:
        if isinstance(event, Mapped):
            spaces.setdefault(event.pid, AddressSpace(())).map(event.vma)
        elif isinstance(event, Forked):
            if event.parent in spaces:
                spaces[event.pid] = spaces[event.parent].copy()
            programs[event.pid] = programs.get(event.parent, "?")
        elif isinstance(event, Named):
            if event.executed:
                spaces[event.pid] = AddressSpace(())
            programs[event.pid] = event.comm
        elif wanted is None or event.pid in wanted:
            space = spaces.setdefault(event.pid, AddressSpace(()))
            stack = theirs.get((event.tid, event.time))
            comparison.add(event, space, stack, programs.get(event.pid, "?"))
    comparison.images.close_files()
    return comparison.agreement


def _perf_script(path: Path, pids: set[int] | None) -> dict[tuple[int, int], list[int]]:
    """User addresses by (tid, time) as perf unwinds them; file offsets for addresses in a mapping."""
    command = ["perf", "script", "-i", str(path), "--ns", "--no-inline", "-F", "pid,tid,time,ip"]
    if pids is not None and len(pids) <= _MAX_NAMED:
        command += ["--pid", ",".join(map(str, sorted(pids)))]  # perf takes long to unwind the others
    text = subprocess.run(
        [*command, "--max-stack", str(_MAX_FRAMES)], capture_output=True, text=True, check=True
    ).stdout
    stacks: dict[tuple[int, int], list[int]] = {}
    current: list[int] | None = None
    for line in text.splitlines():
        if not line.strip():
            current = None
        elif current is None:
            found = _SAMPLE_LINE.search(f" {line}")
            if found is None:
                raise ValueError(f"perf script printed {line!r}")
            current = stacks[int(found[2]), int(found[3]) * 10**9 + int(found[4])] = []
        else:
            address = int(line.split()[0], 16)
            if address < _KERNEL_HALF:
                current.append(address)
    return stacks


class _Comparison:
    """Walks samples and counts the results of the comparison."""

    def __init__(self) -> None:
        self.agreement = Agreement()
        self.images = Images()
        self._walker = Walker(self.images, max_depth=_MAX_FRAMES)

    def add(self, sample: Sample, space: AddressSpace, theirs: list[int] | None, program: str) -> None:
        """Walk one sample and count its verdict; `theirs` is perf's stack, None if perf printed none."""
        walk = self._walker.walk(sample.pid, space, sample.registers, sample.stack, sample.size)
        code = _Code(self.images, space, sample.pid)
        verdict = "without_peer" if theirs is None else self._judge(code, walk, theirs)
        found = self.agreement
        found.stacks += theirs is not None
        setattr(found, verdict, getattr(found, verdict) + 1)
        found.by_program.setdefault(program, Counter())[verdict] += 1
        end = capture_pb2.StackEnd.Name(walk.end)
        found.ends[end] += 1
        listed = sum(example.startswith(f"{verdict}:") for example in found.examples)
        if verdict in _SHOWN and theirs is not None and listed < _MAX_EXAMPLES:
            found.examples.append(
                f"{verdict}: {program} {sample.pid}, ended {end}\n"
                f"    perf {_hex(theirs)}\n    ours {_hex(code.printed(walk))}"
            )

    def _judge(self, code: _Code, walk: Walk, theirs: list[int]) -> str:
        exact = set(walk.exact)
        ours = code.printed(walk)
        complete = walk.end == capture_pb2.STACK_END_COMPLETE
        same = _same(theirs, ours)
        if False in same:
            if self._skipped_caller(code, walk, theirs, ours):
                return "perf_skipped"
            first = same.index(False)
            proved = code.calls_throughout(walk) and (code.links(walk, first) or code.refutes(theirs[first]))
            whole = complete or walk.end == capture_pb2.STACK_END_TRUNCATED
            return "perf_wrong" if whole and proved else "wrong"
        if len(theirs) == len(ours):
            return "identical"
        if len(theirs) > len(ours):
            stray = walk.end == capture_pb2.STACK_END_NO_MAPPING and len(theirs) == len(ours) + 1
            return "unmapped" if stray and code.space.find(theirs[-1]) is None else "perf_longer"
        if not theirs and walk.end == capture_pb2.STACK_END_NO_MAPPING and len(ours) == 1:
            return "unmapped"  # neither recognizes the leaf: a program that is just starting
        places = [place for place in range(len(theirs), len(ours)) if place not in exact]
        checked = [code.returns(walk, place) for place in places]
        self.agreement.extra_callers += len(checked)
        self.agreement.extra_callers_unchecked += checked.count(None)
        if False in checked:
            return "wrong"
        if complete:
            return "longer"
        return "longer_cut_short" if walk.end == capture_pb2.STACK_END_TRUNCATED else "longer_incomplete"

    @staticmethod
    def _skipped_caller(code: _Code, walk: Walk, theirs: list[int], ours: list[int]) -> bool:
        """Whether perf's stack lacks the leaf's caller, which the code itself reveals, and is otherwise correct."""
        without = [*ours[:1], *ours[2:]]
        if 1 in walk.exact or 1 in walk.by_frame_pointer or len(theirs) > len(without):
            return False
        further = (1, *range(len(theirs) + 1, len(ours)))
        return all(_same(theirs, without)) and all(
            code.returns(walk, place) is not False for place in further if place not in walk.exact
        )


@dataclass(frozen=True, slots=True)
class _Code:
    """The machine code of one process."""

    images: Images
    space: AddressSpace
    pid: int

    def printed(self, walk: Walk) -> list[int]:
        """The addresses of a walk as `perf script` prints them."""
        return [
            self._printed(address if place in walk.exact else address - 1)
            for place, address in enumerate(walk.addresses)
        ]

    def _printed(self, address: int) -> int:
        """File offsets for files and the vdso, addresses for other memory."""
        vma = self.space.find(address)
        if vma is None or not (vma.has_file or vma.path.startswith("[")):
            return address
        return address - vma.start + vma.offset

    def follows_call(self, address: int) -> bool | None:
        """Whether a return address follows a CALL; None if its code is gone."""
        vma = self.space.find(address - 1)
        if vma is None or vma.path == "[vsyscall]":
            return False
        before = self._before(address)
        if len(before) < LONGEST_CALL:
            return None
        if follows_call(before):
            return True
        # JIT code may have moved, which proves nothing.
        return False if vma.has_file or vma.path.startswith("[") else None

    def _before(self, address: int) -> bytes:
        """The bytes before an address, enough for any CALL; fewer if they cannot be read."""
        vma = self.space.find(address - 1)
        if vma is None or vma.has_file or vma.path.startswith("["):
            at = 0 if vma is None else address - LONGEST_CALL - vma.start + vma.offset
            return b"" if vma is None else self.images.open(self.pid, vma).read(at, LONGEST_CALL)
        return self.images.read_memory(self.pid, address - LONGEST_CALL, LONGEST_CALL)

    def returns(self, walk: Walk, place: int) -> bool | None:
        """Whether a caller can have made the call; None if its code is gone.

        Go starts a goroutine as if the NOP at the beginning of goexit had called it.
        """
        address = walk.addresses[place]
        called = self.follows_call(address)
        if called is False and place == len(walk.addresses) - 1 and place in walk.by_frame_pointer:
            return self._before(address)[-1:] == b"\x90"
        return called

    def calls_throughout(self, walk: Walk) -> bool:
        """Whether every caller of a walk follows a visible CALL."""
        places = (place for place in range(1, len(walk.addresses)) if place not in walk.exact)
        return all(self.returns(walk, place) for place in places)

    def links(self, walk: Walk, first: int) -> bool:
        """Whether a direct CALL from position `first` on leads to the very function that was called.

        Tail calls and PLT stubs hide this in other places, so one such link suffices.
        """
        for place in range(max(first, 1), len(walk.addresses)):
            target = self._direct_target(walk.addresses[place])
            if target is not None and place not in walk.exact:
                called = walk.addresses[place - 1] - (place - 1 not in walk.exact)
                if self._function(target) == self._function(called):
                    return True
        return False

    def refutes(self, printed: int) -> bool:
        """Whether an address that perf printed as a caller follows no CALL in any mapping."""
        for vma in self.space.vmas:
            shift = vma.start - vma.offset if vma.has_file or vma.path.startswith("[") else 0
            for address in (printed + shift, printed + shift + 1):
                if vma.start < address <= vma.end and self.follows_call(address) is not False:
                    return False
        return True

    def _direct_target(self, address: int) -> int | None:
        """Target of the CALL before a return address; None if it is not direct."""
        vma = self.space.find(address - 1)
        if vma is None or not vma.has_file:
            return None
        call = self.images.open(self.pid, vma).read(address - 5 - vma.start + vma.offset, 5)
        return address + int.from_bytes(call[1:], "little", signed=True) if call[:1] == b"\xe8" else None

    def _function(self, address: int) -> tuple[str, int | None] | None:
        """The function at an address, as path and file offset of its unwind entry's start."""
        vma = self.space.find(address)
        if vma is None:
            return None
        image = self.images.open(self.pid, vma)
        return vma.path, image.rules.function_start(address - vma.start + vma.offset)


def _same(theirs: list[int], ours: list[int]) -> list[bool]:
    """Whether each of perf's addresses equals the gateway's, printed as return address or the one before."""
    return [their in {our, our + 1} for their, our in zip(theirs, ours, strict=False)]


def _hex(addresses: list[int]) -> str:
    shown = [f"{address:x}" for address in addresses]
    return " ".join(shown if len(shown) <= 40 else [*shown[:20], "…", *shown[-20:]])


def main(arguments: list[str]) -> int:
    """Print the agreement for each given recording."""
    for path in arguments:
        found = compare(path)
        print(
            f"{path}: {found.stacks} stacks, {found.identical} identical, {found.longer} longer, "
            f"{found.longer_cut_short} longer to the end of the copy, {found.longer_incomplete} longer but incomplete, "
            f"{found.unmapped} ended unmapped, {found.perf_longer} perf longer, {found.perf_skipped} perf without the leaf's caller, {found.perf_wrong} perf wrong, {found.wrong} wrong, "
            f"{found.without_peer} not printed by perf; {found.extra_callers} further callers, "
            f"{found.extra_callers_unchecked} of them unchecked"
        )
        print(f"  {dict(found.ends)}")
        for program, verdicts in sorted(found.by_program.items(), key=lambda item: -item[1].total()):
            print(f"  {program:<16} {dict(verdicts)}")
        for example in found.examples:
            print(f"  {example}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
