"""Frames of one capture: addresses of the kernel and of processes, resolved to images and offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fleetpb import capture_pb2
from gateway.capture.packer import BY_FRAME_POINTER, EXACT, JAVA, KERNEL, UNKNOWN, FrameKey, Image
from gateway.jit.jit_names import JitNames

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateway.capture.packer import Packer
    from gateway.capture.process_table import ProcessTable, SampledProcess
    from gateway.machine.kernel_map import KernelLocation, KernelMap
    from gateway.process.images import Images
    from gateway.process.maps import Vma
    from gateway.process.walker import Walk, Walker
    from gateway.runtimes.hotspot.frames import JavaFrame
    from gateway.runtimes.hotspot.hotspot_process import HotspotProcess

_KERNEL_RUNTIME: Final = Image(capture_pb2.Mapping.ANONYMOUS, "[kernel]")
_JAVA_IMAGE: Final = Image(capture_pb2.Mapping.ANONYMOUS, JAVA)
_VDSO: Final = "[vdso]"
# Memory-only files: .NET and others map generated code from one, to write it through a second mapping.
_MEMORY_FILES: Final = ("/memfd:", "/dev/zero", "/anon_hugepage", "/SYSV")
_MAX_JAVA_FRAMES: Final = 4096
_FLAG_BITS: Final = 3
_FLAGS: Final = (1 << _FLAG_BITS) - 1


class FrameResolver:
    """Resolves addresses to frames of the packer, each address once per process.

    `kernel` is called at the first kernel frame: reading the map is the most expensive part of a capture.
    """

    def __init__(
        self,
        packer: Packer,
        images: Images,
        walker: Walker,
        kernel: Callable[[], KernelMap],
        processes: ProcessTable,
        *,
        kernel_build_id: bytes,
    ) -> None:
        self._packer = packer
        self._images = images
        self._walker = walker
        self._read_kernel = kernel
        self._kernel: KernelMap | None = None
        self._kernel_build_id = kernel_build_id
        self._processes = processes
        self._jit = JitNames()
        self._kernel_frames: dict[int, int] = {}
        self._kernel_mappings: dict[tuple[str | None, bool], int] = {}
        self._unknown_frame: int | None = None
        self.seen: dict[Image, int] = {}
        """Images with frames in the capture, each with one process that mapped it."""

    def close(self) -> None:
        """Close the perf maps; a later look-up opens them again."""
        self._jit.close()

    def forget(self, pid: int) -> None:
        """Drop the perf map of a process: its number was reused, or it runs another program."""
        self._jit.forget(pid)

    def notes(self) -> list[str]:
        """Everything that could not be read, as sentences."""
        notes = []
        if self._kernel is not None and not self._kernel.readable:
            notes.append(
                "the kernel hides its addresses (kernel.kptr_restrict): the gateway lacks CAP_SYSLOG"
            )
        return notes + self._jit.notes()

    def kernel_frames(self, addresses: Sequence[int]) -> list[int]:
        """Frames of a kernel call chain, innermost first."""
        known = self._kernel_frames
        frames: list[int] = []
        exact = 1
        for address in addresses:
            key = address << 1 | exact
            frame = known.get(key)
            if frame is None:
                frame = known[key] = self._kernel_frame(address, exact=bool(exact))
            frames.append(frame)
            exact = 0
        return frames

    def user_frames(self, pid: int, process: SampledProcess, walk: Walk, drain: int) -> list[int]:
        """Frames of a walked user stack, leaf first."""
        if process.space.hotspot is not None:
            return self._java_frames(pid, process, walk, drain, process.space.hotspot)
        keys = [address << _FLAG_BITS for address in walk.addresses]
        for position in walk.exact:
            keys[position] |= EXACT
        for position in walk.by_frame_pointer:
            keys[position] |= BY_FRAME_POINTER
        known = process.frames
        try:
            return [known[key] for key in keys]
        except KeyError:
            for key in keys:
                if key not in known:
                    flags = key & _FLAGS
                    known[key] = self.user_frame(pid, process, key >> _FLAG_BITS, drain, flags=flags)
            return [known[key] for key in keys]

    def _java_frames(
        self, pid: int, process: SampledProcess, walk: Walk, drain: int, jvm: HotspotProcess
    ) -> list[int]:
        """As `user_frames`, of a process that runs a JVM: an address of compiled code has several activations."""
        interpreted = {position: (method, bcp) for position, method, bcp in walk.interpreted}
        exact = walk.exact
        known = jvm.known_frames
        frames: list[int] = []
        for position, address in enumerate(walk.addresses):
            key = interpreted.get(position) or address << 1 | (position in exact)
            found = known.get(key)
            if found is None:
                found = [self._java_frame(activation) for activation in jvm.activations(key)]
                if found:
                    known[key] = found
                else:
                    flags = EXACT if position in exact else 0
                    flags |= BY_FRAME_POINTER if position in walk.by_frame_pointer else 0
                    found = [self._cached_frame(pid, process, address, drain, flags)]
            frames += found
            if len(frames) > _MAX_JAVA_FRAMES:
                break  # the plan allows fewer
        return frames

    def _cached_frame(self, pid: int, process: SampledProcess, address: int, drain: int, flags: int) -> int:
        key = address << _FLAG_BITS | flags
        frame = process.frames.get(key)
        if frame is None:
            frame = process.frames[key] = self.user_frame(pid, process, address, drain, flags=flags)
        return frame

    def _java_frame(self, activation: JavaFrame) -> int:
        """The frame of one activation, which is known by its method and line whatever its address."""
        mapping = self._packer.image(_JAVA_IMAGE)
        return self._packer.frame(
            FrameKey(
                mapping,
                0,
                0,
                EXACT,
                activation.function,
                activation.file,
                activation.line,
                activation.first_line,
            )
        )

    def user_frame(self, pid: int, process: SampledProcess, address: int, drain: int, *, flags: int) -> int:
        """The frame of one user address; `drain` counts up."""
        # A call may be the last instruction of its mapping, so a return address is looked up one byte earlier.
        lookup = address if flags & EXACT else address - 1
        vma = process.space.find(lookup)
        if vma is None:
            return self._packer.frame(FrameKey(self._packer.image(UNKNOWN), 0, 0, flags))
        mapping = process.mappings.get(vma.start)
        if mapping is None:
            image = self.user_image(pid, vma)
            self.seen[image] = pid
            mapping = process.mappings[vma.start] = self._packer.image(image)
        if self._is_generated(pid, vma):
            parent = self._processes.parent_of(pid, process)
            process.generated[address << _FLAG_BITS | flags] = lookup
            name = self._jit.name(pid, parent, lookup, drain)
            return self._packer.frame(FrameKey(mapping, 0, 0, flags, name))
        offset = address - vma.start + vma.offset
        looked_up = lookup - vma.start + vma.offset
        start = self._walker.function_start(pid, vma, looked_up)
        into = 0 if start is None else 1 + looked_up - start
        return self._packer.frame(FrameKey(mapping, offset, into, flags))

    def unknown(self) -> int:
        """The frame of code that is not known."""
        if self._unknown_frame is None:
            mapping = self._packer.image(UNKNOWN)
            self._unknown_frame = self._packer.frame(FrameKey(mapping, 0, 0, EXACT))
        return self._unknown_frame

    def refresh_names(self, pid: int, process: SampledProcess, drain: int) -> None:
        """Drop the frames whose code has a new name since the last drain."""
        changed = self._jit.refresh(pid, drain)
        if changed:
            for key in [key for key, address in process.generated.items() if address in changed]:
                del process.generated[key]
                process.frames.pop(key, None)  # frames of flat samples are not stored

    def user_image(self, pid: int, vma: Vma) -> Image:
        """The image of a mapping."""
        if self._is_generated(pid, vma):
            return Image(capture_pb2.Mapping.ANONYMOUS, vma.path)
        if vma.has_file:
            image = self._images.open(pid, vma)
            build_id = vma.build_id or image.build_id
            content_key = "" if build_id else image.content_key
            return Image(capture_pb2.Mapping.FILE, vma.path, build_id, content_key, vma.deleted)
        image = self._images.open(pid, vma)
        return Image(capture_pb2.Mapping.VDSO, _VDSO, image.build_id)

    def _kernel_frame(self, address: int, *, exact: bool) -> int:
        if self._kernel is None:
            self._kernel = self._read_kernel()
        place = self._kernel.find(address, exact=exact)
        flags = KERNEL | (EXACT if exact else 0)
        into = 0
        if place.function_offset is not None:
            into = 1 + place.offset - (0 if exact else 1) - place.function_offset
        # Run-time code belongs to no module: its name decides whether it is known at all.
        owner = place.module, bool(place.name)
        mapping = self._kernel_mappings.get(owner)
        if mapping is None:
            mapping = self._kernel_mappings[owner] = self._packer.image(self._kernel_image(place))
        return self._packer.frame(FrameKey(mapping, place.offset, into, flags, place.name))

    def _kernel_image(self, place: KernelLocation) -> Image:
        assert self._kernel is not None
        if place.module is None:
            return _KERNEL_RUNTIME if place.name else UNKNOWN
        if place.module:
            module = self._kernel.modules()[place.module]
            return Image(capture_pb2.Mapping.MODULE, f"[{module.name}]", module.build_id)
        return Image(capture_pb2.Mapping.KERNEL, "[kernel]", self._kernel_build_id)

    def _is_generated(self, pid: int, vma: Vma) -> bool:
        """Whether the process generated the code itself, so that no file names it."""
        if vma.path.startswith(_MEMORY_FILES):
            return not self._images.open(pid, vma).is_elf  # a library may be loaded from memory as well
        return not vma.has_file and vma.path != _VDSO
