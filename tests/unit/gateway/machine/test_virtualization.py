"""What the machine runs on, by the traces that known hypervisors leave."""

from pathlib import Path

import pytest

from gateway.machine.virtualization import container, hypervisor
from tests.fake_sysfs import write

GUEST = {"flags": "fpu hypervisor"}
KVM_LEAF = b"\1\0\0\x40" + b"KVMKVMKVM\0\0\0"


@pytest.mark.parametrize(
    ("cpuinfo", "files", "leaf", "name"),
    [
        ({}, {}, b"", ""),
        ({"flags": "fpu"}, {"class/dmi/id/sys_vendor": "Amazon EC2"}, b"", "none"),
        (GUEST, {}, b"", "vm-other"),
        (GUEST, {}, KVM_LEAF, "kvm"),
        (GUEST, {"class/dmi/id/sys_vendor": "Microsoft Corporation"}, KVM_LEAF, "kvm"),
        (GUEST, {}, b"\0\0\0\0Microsoft Hv", "microsoft"),
        (GUEST, {}, b"short", "vm-other"),
        (GUEST, {"class/dmi/id/sys_vendor": "Amazon EC2"}, b"", "kvm"),
        (GUEST, {"class/dmi/id/sys_vendor": "Google"}, b"", "kvm"),
        (GUEST, {"class/dmi/id/sys_vendor": "QEMU"}, b"", "qemu"),
        (GUEST, {"class/dmi/id/product_name": "VMware Virtual Platform"}, b"", "vmware"),
        (GUEST, {"class/dmi/id/product_name": "VirtualBox"}, b"", "oracle"),
        (GUEST, {"class/dmi/id/sys_vendor": "Microsoft Corporation", "class/dmi/id/product_name": "Virtual Machine"},
         b"", "microsoft"),
        (GUEST, {"class/dmi/id/sys_vendor": "QEMU", "devices/system/clocksource/clocksource0/available_clocksource":
                 "kvm-clock tsc acpi_pm"}, b"", "kvm"),
        (GUEST, {"devices/system/clocksource/clocksource0/available_clocksource": "tsc kvm-clock"}, b"", "kvm"),
        (GUEST, {"hypervisor/type": "xen"}, b"", "xen"),
        ({"flags": "fpu"}, {"hypervisor/type": "xen"}, b"", "xen"),
        (GUEST, {"hypervisor/type": "xen", "xen/capabilities": "control_d"}, b"", "none"),
    ],
)  # fmt: skip
def test_hypervisors(tmp_path: Path, cpuinfo: dict[str, str], files: dict[str, str], leaf: bytes, name: str):
    for path, text in files.items():
        write(tmp_path, path, text)
    cpuid = tmp_path / "cpuid"
    if leaf:
        cpuid.write_bytes(bytes(0x40000000 - 0x40000000))
        with cpuid.open("wb") as file:
            file.seek(0x40000000)  # a sparse file reads like the device
            file.write(leaf)
    assert hypervisor(cpuinfo, tmp_path, tmp_path, str(cpuid)) == name


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({}, "none"),
        ({"/.dockerenv": ""}, "docker"),
        ({"/run/.containerenv": ""}, "podman"),
        ({"/var/run/secrets/kubernetes.io/serviceaccount/token": "", "/.dockerenv": ""}, "kubernetes"),
        ({"/run/systemd/container": "systemd-nspawn"}, "systemd-nspawn"),
        ({"/1/environ": "PATH=/bin\0container=lxc\0HOME=/"}, "lxc"),
        ({"/1/environ": "container=\x1b[31m\0"}, "none"),
        ({"/1/environ": "container=" + "x" * 99}, "none"),
    ],
)
def test_containers_around_the_gateway(tmp_path: Path, files: dict[str, str], kind: str):
    for path, text in files.items():
        write(tmp_path, path.lstrip("/"), text)
    assert container(tmp_path, str(tmp_path)) == kind
