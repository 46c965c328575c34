"""A kernel whose counters are as many and as free as a test says."""

import errno
import struct
from dataclasses import dataclass, field

from gateway.perf.attributes import Attributes


@dataclass
class Opened:
    config: int
    cpu: int
    pid: int
    in_cgroup: bool
    members: list["Opened"] = field(default_factory=list)
    enabled: bool = False


class FakeKernel:
    """So many counters a CPU; `held` of them are another's, so that larger groups open but never run.

    Every event counts its own number for each ns that it runs; a group runs all of its `enabled` ns unless it is
    one of `turns` that share the counters.
    """

    def __init__(
        self, counters: int = 4, held: int = 0, missing: dict[int, int] | None = None, turns: int = 1
    ) -> None:
        self.counters, self.held, self.turns = counters, held, turns
        self.missing = missing or {}
        self.busy: set[tuple[int, int]] = set()
        self.failing: dict[tuple[int, int], int] = {}
        """Error numbers by event and CPU."""
        self.idle_cpus: set[int] = set()
        self.open_now: dict[int, Opened] = {}
        self.next = 100

    def open(self, attributes: Attributes, *, pid: int, cpu: int, group: int, in_cgroup: bool) -> int:
        if code := self.missing.get(attributes.config):
            raise OSError(code, "missing")
        if (attributes.config, cpu) in self.busy:
            raise OSError(errno.EBUSY, "busy")
        if code := self.failing.get((attributes.config, cpu)):
            raise OSError(code, "failing on this CPU")
        made = Opened(attributes.config, cpu, pid, in_cgroup)
        if group >= 0:
            leader = self.open_now[group]
            if len(leader.members) + 2 > self.counters:
                raise OSError(errno.EINVAL, "the group is full")
            leader.members.append(made)
        self.next += 1
        self.open_now[self.next] = made
        return self.next

    def enable(self, leader: int) -> None:
        self.open_now[leader].enabled = True

    def read(self, leader: int, length: int) -> bytes:
        group = self.open_now[leader]
        assert group.enabled
        configs = [group.config, *(member.config for member in group.members)]
        enabled = 0 if group.cpu in self.idle_cpus else 1000
        running = enabled // self.turns if len(configs) <= self.counters - self.held else 0
        read = struct.pack(
            f"<{3 + len(configs)}Q", len(configs), enabled, running, *(c * running for c in configs)
        )
        assert len(read) == length
        return read

    def close(self, descriptor: int) -> None:
        del self.open_now[descriptor]
