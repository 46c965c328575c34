"""Files of kernels and their modules on this machine: no capture says where they lie.

A capture knows the kernel as `[kernel]` and a module as `[ext4]`. Distributions keep the kernel with its
debug data at DEBUGROOT/boot/vmlinux-RELEASE (Debian) or DEBUGROOT/lib/modules/RELEASE/vmlinux (Debian, Fedora), a
module's in the folders that /lib/modules/RELEASE has; a kernel built by hand leaves its vmlinux at
/lib/modules/RELEASE/build. Which of them is the sampled build its build-id tells.
"""

import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

KERNEL: Final = "[kernel]"
RECHECK_S: Final = 600.0
_MODULES: Final = "lib/modules"
_ENDINGS: Final = (".ko.debug", ".ko")
"""The better first: what a .ko was stripped of is in the other."""
_MAX_FILES: Final = 64
"""Kernels that are installed at once; more are not looked at."""
_MAX_LISTED: Final = 200_000
"""Modules of all of them; a distribution's kernel has 4,000."""


class KernelFiles:
    """Paths of kernels and modules; lists the folders of modules once in `RECHECK_S`. For one thread."""

    def __init__(
        self,
        debug_roots: Sequence[Path],
        root: Path = Path("/"),
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Modules are looked for below the debug roots and `root`."""
        self._debug_roots = tuple(debug_roots)
        self._root = root
        self._clock = clock
        self._listed: dict[str, list[Path]] = {}
        self._until = float("-inf")

    def find(self, name: str) -> list[Path]:
        """Where the files of `[kernel]`, or of a module in brackets, may be; none for other names."""
        if name == KERNEL:
            return list(self._vmlinux())[:_MAX_FILES]
        if not (name.startswith("[") and name.endswith("]")):
            return []
        if self._clock() >= self._until:
            self._listed = self._list()
            self._until = self._clock() + RECHECK_S
        return self._listed.get(_module_name(name.strip("[]")), [])[:_MAX_FILES]

    def _vmlinux(self) -> Iterator[Path]:
        for folder in self._debug_roots:
            yield from sorted(folder.glob("boot/vmlinux-*"))
            yield from sorted(folder.glob(f"{_MODULES}/*/vmlinux"))
        yield from sorted(self._root.glob(f"{_MODULES}/*/build/vmlinux"))

    def _list(self) -> dict[str, list[Path]]:
        """All modules by name; those of debug roots first."""
        found: dict[str, list[tuple[int, Path]]] = defaultdict(list)
        files = (path for folder in (*self._debug_roots, self._root) for path in _below(folder / _MODULES))
        for _, path in zip(range(_MAX_LISTED), files, strict=False):
            for rank, ending in enumerate(_ENDINGS):
                if path.endswith(ending):
                    name = os.path.basename(path).removesuffix(ending)  # noqa: PTH119 - thousands of them
                    found[_module_name(name)].append((rank, Path(path)))
        return {name: [path for _, path in sorted(files)] for name, files in found.items()}


def _below(folder: Path) -> Iterator[str]:
    """Files below a folder; `build` and `source`, which lead to whole kernel trees, are links and not followed."""
    for where, _, names in os.walk(folder):
        yield from (f"{where}/{name}" for name in names)


def _module_name(name: str) -> str:
    """As the kernel calls it: in the names of files `-` and `_` are the same."""
    return name.replace("-", "_")
