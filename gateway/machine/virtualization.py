"""Virtualization of this machine: the hypervisor, and the kind of container around the gateway.

Names are those of systemd-detect-virt(1). The hypervisor identifies itself in the CPU's leaf 0x40000000, which a
program cannot read portably. The kernel exposes it by /dev/cpu (a module), by the Xen folder of /sys, by the firmware's
tables, and by the guest's clock.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from gateway.machine.kernel_files import read_line, read_text
from gateway.machine.topology import PROC, SYS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

NONE: Final = "none"
OTHER: Final = "vm-other"
_LEAF: Final = 0x40000000
_SIGNATURES: Final = {
    b"KVMKVMKVM": "kvm",
    b"Linux KVM Hv": "kvm",
    b"TCGTCGTCGTCG": "qemu",
    b"VMwareVMware": "vmware",
    b"Microsoft Hv": "microsoft",
    b"XenVMMXenVMM": "xen",
    b"bhyve bhyve ": "bhyve",
    b"QNXQVMBSQG": "qnx",
    b"ACRNACRNACRN": "acrn",
    b"VBoxVBoxVBox": "oracle",
    b" lrpepyh vr": "parallels",
}
# First match wins; searched in sys_vendor, product_name, board_vendor, bios_vendor.
_FIRMWARE: Final = (
    (re.compile(r"KVM|OpenStack|KubeVirt|RHEV|oVirt|Google|Amazon EC2|DigitalOcean|Alibaba Cloud"), "kvm"),
    (re.compile(r"QEMU|Bochs|SeaBIOS"), "qemu"),
    (re.compile(r"VMware|VMW"), "vmware"),
    (re.compile(r"innotek GmbH|VirtualBox|Oracle Corporation"), "oracle"),
    (re.compile(r"Xen"), "xen"),
    (re.compile(r"Parallels"), "parallels"),
    (re.compile(r"BHYVE"), "bhyve"),
    (re.compile(r"Hyper-V|Virtual Machine"), "microsoft"),
    (re.compile(r"Apple Virtualization"), "apple"),
)
_CLOCKS: Final = (("kvm-clock", "kvm"), ("hyperv_clocksource", "microsoft"), ("xen", "xen"))
_CONTAINERS: Final = (
    ("/var/run/secrets/kubernetes.io/serviceaccount", "kubernetes"),
    ("/run/.containerenv", "podman"),
    ("/.dockerenv", "docker"),
)
_LONGEST_NAME: Final = 32
_NAME: Final = re.compile(r"[a-zA-Z0-9._-]{1,32}")


def hypervisor(
    cpuinfo: Mapping[str, str], proc: Path = PROC, sys: Path = SYS, cpuid: str = "/dev/cpu/0/cpuid"
) -> str:
    """The hypervisor's name, "none", or OTHER; "" if /proc/cpuinfo has no CPU flags."""
    if read_line(f"{sys}/hypervisor/type") == "xen":
        # Domain 0 is the host: it owns the hardware.
        return NONE if "control_d" in read_line(f"{proc}/xen/capabilities").split(",") else "xen"
    if "hypervisor" not in cpuinfo.get("flags", "").split():
        return NONE if "flags" in cpuinfo else ""
    firmware = "\n".join(
        read_line(f"{sys}/class/dmi/id/{name}")
        for name in ("sys_vendor", "product_name", "board_vendor", "bios_vendor")
    )
    by_firmware = next((name for pattern, name in _FIRMWARE if pattern.search(firmware)), "")
    clocks = read_text(f"{sys}/devices/system/clocksource/clocksource0/available_clocksource").split()
    by_clock = next((name for clock, name in _CLOCKS for each in clocks if each.startswith(clock)), "")
    # KVM guests have QEMU's firmware too; the clock distinguishes them.
    return (
        _by_cpuid(cpuid) or (by_clock if by_firmware in {"", "qemu"} and by_clock else by_firmware) or OTHER
    )


def container(proc: Path = PROC, root: str = "") -> str:
    """The kind of container the gateway runs in, or "none"; `root` is prefixed to the paths of marker files."""
    for path, kind in _CONTAINERS:
        if os.path.exists(root + path):  # noqa: PTH110 - a Path costs more than the call
            return kind
    # systemd, and runtimes that start it, set this variable for its first process.
    for entry in read_text(f"{proc}/1/environ", 1 << 16).split("\0"):
        name, equals, value = entry.partition("=")
        if name == "container" and equals and _NAME.fullmatch(value):
            return value
    return read_line(f"{root}/run/systemd/container")[:_LONGEST_NAME] or NONE


def _by_cpuid(path: str) -> str:
    """The signature in EBX, ECX and EDX of the leaf (cpuid(4)); "" if the module is not loaded."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        leaf = os.pread(descriptor, 16, _LEAF)
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    return _SIGNATURES.get(leaf[4:16].rstrip(b"\0"), "") if len(leaf) == 16 else ""
