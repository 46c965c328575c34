"""What counting asks of the kernel, and the kernel that runs here."""

import os
from fcntl import ioctl
from typing import Protocol

from gateway.perf.attributes import IOC_ENABLE, Attributes, open_event


class Kernel(Protocol):
    """What counting needs of perf events; a test has its own."""

    def open(self, attributes: Attributes, *, pid: int, cpu: int, group: int, in_cgroup: bool) -> int:
        """A descriptor; raises OSError."""

    def enable(self, leader: int) -> None:
        """Let a group count."""

    def read(self, leader: int, length: int) -> bytes:
        """The group's reading as read_format lays it out."""

    def close(self, descriptor: int) -> None:
        """Give a counter back."""


class PerfEvents:
    """The kernel that runs here."""

    def open(self, attributes: Attributes, *, pid: int, cpu: int, group: int, in_cgroup: bool) -> int:
        """perf_event_open."""
        return open_event(attributes, pid=pid, cpu=cpu, group=group, in_cgroup=in_cgroup)

    def enable(self, leader: int) -> None:
        """Of the leader alone: its siblings were never disabled."""
        ioctl(leader, IOC_ENABLE, 0)

    def read(self, leader: int, length: int) -> bytes:
        """One system call for the whole group."""
        return os.read(leader, length)

    def close(self, descriptor: int) -> None:
        """And with it its mapping and its place in the group."""
        os.close(descriptor)
