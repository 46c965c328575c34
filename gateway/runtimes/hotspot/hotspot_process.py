"""The JVM of one process: found by its library, read within a budget, checked once per drain."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, TypeAlias

from gateway.errors import AccessDenied, ProcessGone
from gateway.runtimes.dynamic_symbols import DynamicSymbols
from gateway.runtimes.hotspot.errors import Damaged, JvmUnsupported
from gateway.runtimes.hotspot.jvm import Jvm
from gateway.runtimes.hotspot.layout import read_layout
from gateway.runtimes.hotspot.stepping import step
from gateway.runtimes.process_memory import CaptureBudget, ProcessMemory, Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.process.address_space import AddressSpace
    from gateway.process.images import Image, Images
    from gateway.process.maps import Vma
    from gateway.process.walker import Walk
    from gateway.runtimes.hotspot.frames import JavaFrame
    from gateway.runtimes.hotspot.layout import Layout
    from gateway.runtimes.hotspot.stepping import Place, Step
    from gateway.unwind.rules import Rule

# A frame: twice its address, plus 1 for an instruction itself; of an interpreted one Method* and bytecode pointer.
FrameId: TypeAlias = "int | tuple[int, int]"

_PAGE: Final = 4096
_MAX_KNOWN_FRAMES: Final = 1 << 16
_MAX_PROCESSES: Final = 64
_MAX_LAYOUTS: Final = 256
# Drains between two attempts at a JVM that is still starting double up to 2 to the power of this: 16 s.
_MAX_FAILED: Final = 5
_MAX_REPORTED: Final = 4
# Failures after which a JVM is no longer taken for one that is starting.
_STARTING: Final = 2


class HotspotProcess:
    """The frames of one process. Close it."""

    def __init__(self, jvm: Jvm, memory: ProcessMemory) -> None:
        self._jvm = jvm
        self._memory = memory
        self._drain = -1
        self.known_frames: dict[FrameId, list[int]] = {}
        """Of each frame the caller's numbers for its activations; emptied when code has changed."""

    def close(self) -> None:
        """Close the descriptors of the process's memory."""
        self._memory.close()

    @property
    def over_budget(self) -> bool:
        """Whether frames may lack names because too much had to be read."""
        return self._memory.over_budget

    def begin_drain(self, space: AddressSpace, drain: int) -> None:
        """Renew the budget, and have everything checked again at its next use."""
        if drain != self._drain:
            self._drain = drain
            self._memory.begin_drain()
            self._jvm.begin_drain()
            self._drop_rules(space)

    def is_outdated(self, space: AddressSpace, walk: Walk) -> bool:
        """Whether code that a walk went through has changed since it was read: it must be walked again."""
        outdated = self._jvm.is_outdated(walk.addresses, walk.interpreted)
        self._drop_rules(space)
        return outdated

    def rule(self, ip: int, back: int) -> Rule | None:
        """As `Jvm.rule`."""
        return self._jvm.rule(ip, back)

    def step(self, how: int, place: Place) -> Step:
        """As `stepping.step`."""
        return step(self._jvm, how, place)

    def activations(self, frame: FrameId) -> tuple[JavaFrame, ...]:
        """The activations of a frame, innermost first; none: it is not of Java, or cannot be read."""
        if isinstance(frame, int):
            address, exact = frame >> 1, frame & 1
            return self._jvm.frames(address, 1 - exact) if self._jvm.contains(address) else ()
        found = self._jvm.interpreted(*frame)
        return () if found is None else (found,)

    def _drop_rules(self, space: AddressSpace) -> None:
        dropped = self._jvm.dropped
        if dropped:
            for address in dropped:
                space.rules.pop(address, None)
            dropped.clear()
            self.known_frames.clear()
        if len(self.known_frames) > _MAX_KNOWN_FRAMES:
            self.known_frames.clear()


class LayoutCache:
    """Layouts of the JVMs of former captures. Each is used only for the process in whose memory it was read."""

    def __init__(self) -> None:
        self._layouts: OrderedDict[tuple[int, int, int, bytes], Layout] = OrderedDict()

    def find(self, pid: int, vma: Vma) -> Layout | None:
        """The layout of the JVM that was at the same address of a process with the same number and file."""
        return self._layouts.get((pid, vma.start, vma.inode, vma.build_id))

    def put(self, pid: int, vma: Vma, layout: Layout) -> None:
        """Keep a layout; the oldest is dropped beyond a limit."""
        self._layouts[pid, vma.start, vma.inode, vma.build_id] = layout
        if len(self._layouts) > _MAX_LAYOUTS:
            self._layouts.popitem(last=False)


class HotspotProcesses:
    """The JVMs of one capture. Close it."""

    def __init__(self, images: Images, layouts: LayoutCache) -> None:
        self._images = images
        self._layouts = layouts
        self._budget = CaptureBudget()
        self._found: list[HotspotProcess] = []
        self._failed: dict[int, tuple[int, int, str]] = {}
        self._refused: dict[int, str] = {}
        self._partial = 0

    def prepare(self, pid: int, space: AddressSpace, drain: int) -> HotspotProcess | None:
        """The JVM of a process that maps libjvm; None: not yet, or not readable."""
        process = space.hotspot
        if process is None:
            process = space.hotspot = self._attach(pid, space, drain)
        if process is not None:
            process.begin_drain(space, drain)
        return process

    def close(self) -> None:
        """Close all of them."""
        for process in self._found:
            self._partial += process.over_budget
            process.close()
        self._found.clear()

    def notes(self) -> list[str]:
        """Everything that could not be read, as sentences."""
        notes = []
        reasons = {pid: why for pid, (failed, _, why) in self._failed.items() if failed > _STARTING}
        reasons |= self._refused
        for pid, why in sorted(reasons.items())[:_MAX_REPORTED]:
            notes.append(f"the Java frames of process {pid} were not read: {why}")
        if len(reasons) > _MAX_REPORTED:
            notes.append(
                f"the Java frames of {len(reasons) - _MAX_REPORTED} other processes were not read, either"
            )
        partial = self._partial + sum(process.over_budget for process in self._found)
        if partial:
            notes.append(
                f"the Java frames of {partial} processes were read only partly: they exceed the limits of one drain, or "
                "of the capture"
            )
        return notes

    def _attach(self, pid: int, space: AddressSpace, drain: int) -> HotspotProcess | None:
        vma = space.libjvm
        if vma is None or pid in self._refused:
            return None
        failed, retry, _ = self._failed.get(pid, (0, 0, ""))
        if drain < retry:
            return None
        if len(self._found) >= _MAX_PROCESSES:
            self._refused[pid] = f"a capture reads at most {_MAX_PROCESSES} JVMs"
            return None
        memory = None
        try:
            image = self._images.open(pid, vma)
            safe = frozenset({vma.device}) if image.layout is not None else frozenset()
            memory = ProcessMemory(pid, self._budget, safe=safe)
            layout = self._layouts.find(pid, vma)
            if layout is None:
                layout = read_layout(exported_by(image, vma), memory.read)
                self._layouts.put(pid, vma, layout)
            process = HotspotProcess(Jvm(layout, memory.read, memory.charge), memory)
        except (JvmUnsupported, AccessDenied) as reason:
            self._refused[pid] = str(reason)
        except (Damaged, Unreadable, ProcessGone) as reason:
            # It has ended, or is still starting.
            self._failed[pid] = (failed + 1, drain + (1 << min(failed, _MAX_FAILED)), str(reason))
        else:
            self._failed.pop(pid, None)
            self._found.append(process)
            space.rules.clear()
            return process
        if memory is not None:
            memory.close()
        return None


def exported_by(image: Image, vma: Vma) -> Callable[[str], int]:
    """Addresses in a process of the symbols that its libjvm exports. Raises JvmUnsupported, as the function does."""
    layout = image.layout
    if layout is None:
        raise JvmUnsupported(f"its libjvm cannot be read: {image.why}")
    symbols = DynamicSymbols(layout, image.read)
    bias = None
    for segment in layout.segments:
        if segment.offset & -_PAGE <= vma.offset < segment.offset + segment.size:
            bias = vma.start - vma.offset + segment.offset - segment.address
    if bias is None:
        raise JvmUnsupported("the mapping of its libjvm is not one of the file's segments")

    def exported(name: str) -> int:
        symbol = symbols.find(name)
        if symbol is None:
            raise JvmUnsupported(f"its libjvm does not export {name}")
        return symbol.address + bias

    return exported
