from pathlib import Path

import pytest

from symbolizer.kernel.files import RECHECK_S, KernelFiles


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in (
        "debug/boot/vmlinux-6.1.0-53-amd64",
        "debug/lib/modules/6.1.0-53-amd64/vmlinux",
        "debug/lib/modules/6.1.0-53-amd64/kernel/net/netfilter/nf_tables.ko",
        "debug/lib/modules/6.1.0-53-amd64/kernel/drivers/virtio-net.ko.debug",
        "lib/modules/6.1.0-53-amd64/kernel/drivers/virtio-net.ko",
        "lib/modules/6.1.0-53-amd64/updates/dkms/zfs.ko",
        "lib/modules/6.9.0/build/vmlinux",
        "lib/modules/6.9.0/kernel/drivers/virtio_net_failover.ko",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path


def found(root: Path, name: str) -> list[str]:
    return [str(path.relative_to(root)) for path in KernelFiles([root / "debug"], root).find(name)]


def test_a_kernel_is_where_distributions_put_it(root: Path):
    assert found(root, "[kernel]") == [
        "debug/boot/vmlinux-6.1.0-53-amd64",
        "debug/lib/modules/6.1.0-53-amd64/vmlinux",
        "lib/modules/6.9.0/build/vmlinux",
    ]


def test_a_modules_debug_file_comes_before_the_module(root: Path):
    assert found(root, "[virtio_net]") == [
        "debug/lib/modules/6.1.0-53-amd64/kernel/drivers/virtio-net.ko.debug",
        "lib/modules/6.1.0-53-amd64/kernel/drivers/virtio-net.ko",
    ]
    assert found(root, "[nf_tables]") == [
        "debug/lib/modules/6.1.0-53-amd64/kernel/net/netfilter/nf_tables.ko"
    ]
    assert found(root, "[zfs]") == ["lib/modules/6.1.0-53-amd64/updates/dkms/zfs.ko"]


@pytest.mark.parametrize(
    "name", ["libc.so.6", "[ext4]", "[vdso]", "[*]", "[../../x]", "[", "[]", "[a\0b]", "", "zfs"]
)
def test_no_other_name_leads_anywhere(root: Path, name: str):
    assert found(root, name) == []


def test_folders_are_listed_once_and_again_after_a_while(root: Path):
    now = 0.0
    files = KernelFiles([root / "debug"], root, clock=lambda: now)
    assert len(files.find("[zfs]")) == 1
    (root / "lib/modules/6.1.0-53-amd64/kernel/ext4.ko").touch()
    assert files.find("[ext4]") == []
    now = RECHECK_S
    assert len(files.find("[ext4]")) == 1
