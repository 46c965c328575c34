"""The kernel's interface for counters: a protocol, and its implementation by perf_event_open."""

import os
from fcntl import ioctl
from typing import Protocol

from gateway.perf.attributes import IOC_ENABLE, Attributes, open_event


class Kernel(Protocol):
    """The system calls that counters use; tests implement it too."""

    def open(self, attributes: Attributes, *, pid: int, cpu: int, group: int, in_cgroup: bool) -> int:
        """A descriptor; raises OSError."""

    def enable(self, leader: int) -> None:
        """Start a group."""

    def read(self, leader: int, length: int) -> bytes:
        """The group's reading in the layout of read_format."""

    def close(self, descriptor: int) -> None:
        """Close a counter."""


class PerfEvents:
    """The running kernel."""

    def open(self, attributes: Attributes, *, pid: int, cpu: int, group: int, in_cgroup: bool) -> int:
        """perf_event_open."""
        return open_event(attributes, pid=pid, cpu=cpu, group=group, in_cgroup=in_cgroup)

    def enable(self, leader: int) -> None:
        """Enable the leader only: its siblings were never disabled."""
        ioctl(leader, IOC_ENABLE, 0)

    def read(self, leader: int, length: int) -> bytes:
        """One system call for the whole group."""
        return os.read(leader, length)

    def close(self, descriptor: int) -> None:
        """Closing also unmaps it and removes it from its group."""
        os.close(descriptor)
