"""Files of kernels and their modules on this machine: no capture says where they lie.

A capture knows the kernel as `[kernel]` and a module as `[ext4]`. Distributions keep the kernel with its
debug data at DEBUGROOT/boot/vmlinux-RELEASE (Debian) or DEBUGROOT/lib/modules/RELEASE/vmlinux (Debian, Fedora), a
module's beside it in the folders that /lib/modules/RELEASE has; `make install` of a kernel leaves
/lib/modules/RELEASE/build/vmlinux. Which of them is the sampled build its build-id tells.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

KERNEL: Final = "[kernel]"
_MODULES: Final = "lib/modules"
_NAME: Final = re.compile(r"\[[A-Za-z0-9_-]+\]", re.ASCII)
"""Names come from captures; no other character may get into a pattern."""
_ENDINGS: Final = (".ko.debug", ".ko")
_MAX_FILES: Final = 64
"""Kernels that are installed at once; more are not looked at."""


def kernel_files(name: str, debug_roots: Sequence[Path], root: Path = Path("/")) -> Iterator[Path]:
    """Yield where the files of `[kernel]` or of a module in brackets may be; nothing for other names."""
    if not _NAME.fullmatch(name):
        return
    found = _vmlinux(debug_roots, root) if name == KERNEL else _module(name.strip("[]"), debug_roots, root)
    for _, path in zip(range(_MAX_FILES), found, strict=False):
        yield path


def _vmlinux(debug_roots: Sequence[Path], root: Path) -> Iterator[Path]:
    for folder in debug_roots:
        yield from sorted(folder.glob("boot/vmlinux-*"))
        yield from sorted(folder.glob(f"{_MODULES}/*/vmlinux"))
    yield from sorted(root.glob(f"{_MODULES}/*/build/vmlinux"))


def _module(name: str, debug_roots: Sequence[Path], root: Path) -> Iterator[Path]:
    """By the module's name, in whose file name `-` and `_` are the same."""
    for folder in (*debug_roots, root):
        for release in sorted((folder / _MODULES).glob("*/kernel")):
            yield from _below(release, name)
            yield from _below(release.parent / "updates", name)
            yield from _below(release.parent / "extra", name)


def _below(folder: Path, name: str) -> Iterator[Path]:
    pattern = name.replace("_", "[-_]")
    for ending in _ENDINGS:
        yield from folder.rglob(pattern + ending)
