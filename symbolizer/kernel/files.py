"""Finds files of kernels and their modules on this machine: captures do not contain their paths.

A capture names the kernel `[kernel]` and a module like `[ext4]`. Distributions install the kernel with its
debug data at DEBUGROOT/boot/vmlinux-RELEASE (Debian) or DEBUGROOT/lib/modules/RELEASE/vmlinux (Debian, Fedora), and a
module's in the folders of /lib/modules/RELEASE. A kernel built by hand leaves its vmlinux at
/lib/modules/RELEASE/build. The build-id identifies the file of the sampled build.
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
"""The better first: it has what was stripped from the .ko."""
_MAX_FILES: Final = 64
"""Limit of installed kernels that are checked."""
_MAX_LISTED: Final = 200_000
"""Limit of modules of all kernels; a distribution's kernel has 4,000."""


class KernelFiles:
    """Paths of kernels and modules; lists the folders of modules once per `RECHECK_S`. For one thread."""

    def __init__(
        self,
        debug_roots: Sequence[Path],
        root: Path = Path("/"),
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Modules are searched below the debug roots and `root`."""
        self._debug_roots = tuple(debug_roots)
        self._root = root
        self._clock = clock
        self._listed: dict[str, list[Path]] = {}
        self._until = float("-inf")

    def find(self, name: str) -> list[Path]:
        """Candidate paths for `[kernel]`, or for a module in brackets; none for other names."""
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
    """Files below a folder; does not follow the links `build` and `source`, which lead to whole kernel trees."""
    for where, _, names in os.walk(folder):
        yield from (f"{where}/{name}" for name in names)


def _module_name(name: str) -> str:
    """The kernel's name of a module: file names may have `-` for `_`."""
    return name.replace("-", "_")
