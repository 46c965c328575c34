"""State that captures share: open images with their unwind tables, the kernel's map, the measured cost of a sample."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from gateway.capture.host import Access
from gateway.capture.limits import Capacity
from gateway.capture.machine_description import cpuinfo, describe
from gateway.containers.label_settings import NO_LABELS, LabelSettings
from gateway.containers.label_sources import LabelSources
from gateway.machine.cpu_usage import UtilisationMeter
from gateway.machine.kernel_map import KernelMap, Module, read_kernel_build_id, read_kernel_map
from gateway.machine.topology import online_cpus
from gateway.machine.window_metrics import MachineMetrics
from gateway.process.images import Images
from gateway.runtimes.hotspot.hotspot_process import LayoutCache

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fleetpb import capture_pb2
    from gateway.machine.kernel_map_cache import KernelMapCache
    from gateway.runtimes.python.programs import ProgramPool
    from gateway.settings import Limits

# Kernel time of a sample with a 16 KiB stack copy, measured as lost throughput of a busy CPU.
_KERNEL_COST_S: Final = 15e-6
# Time to read and unwind a sample: the value before any measurement, and the accepted range.
_INITIAL_COST_S: Final = 15e-6
_MIN_COST_S: Final = 2e-6
_MAX_COST_S: Final = 150e-6
# With fewer samples, opening images outweighs the samples themselves.
_MIN_SAMPLES: Final = 300


class CaptureResources:
    """Shared by all captures of a process. Hold `images_lock` while using images."""

    def __init__(
        self,
        access: Access,
        limits: Limits,
        labels: Mapping[str, str],
        label_sources: LabelSettings = NO_LABELS,
        kernel_map_cache: KernelMapCache | None = None,
        *,
        frame_programs: ProgramPool | None = None,
        keep_interpreter: bool = False,
        read_java: bool = True,
    ) -> None:
        """Describe the machine once; nothing stays open. `kernel_map_cache` may hold the previous server's map.

        `frame_programs` read source-level frames; None: this machine does not permit it. `keep_interpreter`: the
        interpreter's C frames stay as their callers. `read_java`: frames of JVMs, which need no program.
        """
        self.access: Final = access
        self.limits: Final = limits
        self.images: Final = Images()
        self.jvm_layouts: Final = LayoutCache() if read_java else None
        self.frame_programs: Final = frame_programs if access is Access.MACHINE else None
        self.keep_interpreter: Final = keep_interpreter
        self.label_sources: Final = LabelSources(label_sources)
        self.images_lock: Final = threading.Lock()
        self.kernel_build_id: Final = read_kernel_build_id()
        self.metrics: Final = MachineMetrics(cpuinfo().get("flags", ""))
        self._labels = labels
        self._machine = self._describe()
        self._kernel_map_cache = kernel_map_cache
        self._kernel: KernelMap | None = None
        self._modules: list[Module] = []
        self._drain_cost_s = _INITIAL_COST_S
        self._using_images = 0
        self._meter = UtilisationMeter()
        self._meter_lock = threading.Lock()

    @property
    def own_only(self) -> bool:
        """Whether only this user's processes are sampled, without kernel frames."""
        return self.access is Access.OWN

    @property
    def machine(self) -> capture_pb2.Machine:
        """The machine's last description."""
        return self._machine

    def refresh_machine(self) -> capture_pb2.Machine:
        """Describe the machine again: CPUs come and go, counters become busy."""
        self._machine = self._describe()
        return self._machine

    def _describe(self) -> capture_pb2.Machine:
        return describe(self.metrics.sources(), self._labels, own=self.own_only)

    def utilisation(self) -> float:
        """Mean busy share of all CPUs in the recent past, 0…1."""
        with self._meter_lock:
            return self._meter.recent()

    def capacity(self) -> Capacity:
        """Input of the next capture's schedule."""
        cost = self._drain_cost_s + _KERNEL_COST_S
        return Capacity(len(online_cpus()), cost, self._machine.nominal_mhz)

    def note_cost(self, cpu_s: float, samples: int) -> None:
        """Update the cost of a sample from the CPU time spent on reading and unwinding `samples`.

        The new value is the mean of the old one and the measurement: samples were seen to cost three times as much
        next to a load that used the caches, or while images were opened, and one such capture must not thin the
        next one that much.
        """
        if samples >= _MIN_SAMPLES:
            measured = min(_MAX_COST_S, max(_MIN_COST_S, cpu_s / samples))
            self._drain_cost_s = (self._drain_cost_s + measured) / 2

    def kernel(self) -> KernelMap:
        """The kernel's map, read when first needed and again when the loaded modules have changed."""
        modules = self.metrics.modules.read()
        if self._kernel is None or modules != self._modules:
            cached = self._kernel_map_cache.load(modules) if self._kernel_map_cache else None
            self._kernel, self._modules = cached or read_kernel_map(), modules
            if self._kernel_map_cache and not cached:
                self._kernel_map_cache.store(self._kernel, modules)
        return self._kernel

    @contextmanager
    def images_in_use(self) -> Iterator[Images]:
        """The images, whose files may be opened; they are closed when the last concurrent capture ends."""
        with self.images_lock:
            self._using_images += 1
        try:
            yield self.images
        finally:
            with self.images_lock:
                self._using_images -= 1
                if not self._using_images:
                    self.images.close_files()
