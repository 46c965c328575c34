"""Call graphs and a small language for them.

One line is one place in a program,

    caller ; weight of its own code ; callee~weight ; callee~weight …

An omitted weight is 1; a caller on several lines has the callees of all of them. A name begins with its image
(`libc:memcpy`, `kernel:vfs_read`, `jit:…`; without one it is the program's own) and may end in `#context`: the same
function in another place of the graph, such as `do_syscall_64` under `read` and under `write`. C++ functions end in
`()` and Rust functions in `[rs]`; their symbols are mangled, as linkers see them.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from simulation.seeded_random import word

MAIN: Final = "main"
"""Image of names without an image: the program's own executable."""
KERNEL: Final = "kernel"
JIT: Final = "jit"
"""Code generated and named by a runtime."""

_CALLERS_OWN: Final = 0.25
_IMAGES: Final = re.compile(
    r"^(kernel|jit|libc|libpython|libjvm|libcrypto|libssl|libz|libstdcpp|node|python):(.+)$"
)
_WEIGHT: Final = re.compile(r"^(.*)~(\d+(?:\.\d+)?)$")


@dataclass(frozen=True, slots=True, order=True)
class Function:
    """A function by its image and symbol."""

    image: str
    symbol: str


@dataclass(slots=True)
class Place:
    """A function at one place of the graph: weights of its own code and of its callees."""

    own: float = 0.0
    callees: dict[str, float] = field(default_factory=dict)


class CallGraph:
    """Places by name; a place that is only called has no callees and runs its own code."""

    def __init__(self) -> None:
        self.places: dict[str, Place] = {}

    def read(self, text: str) -> "CallGraph":
        """Add lines of the language. Raises ValueError for an invalid weight."""
        for line in text.strip().splitlines():
            if not line.strip():
                continue
            caller, own, *callees = (part.strip() for part in line.split(" ; "))
            # Callers mostly wait for their callees, so the weight of their own code is reduced.
            share = _CALLERS_OWN if callees else 1.0
            self.add(caller, float(own) * share, (_weighted(callee) for callee in callees))
        return self

    def add(self, caller: str, own: float, callees: Iterable[tuple[str, float]] = ()) -> None:
        """Add weights to a place."""
        place = self.places.setdefault(caller, Place())
        place.own += own
        for callee, weight in callees:
            place.callees[callee] = place.callees.get(callee, 0.0) + weight


@lru_cache(maxsize=1 << 16)
def function_of(name: str) -> Function:
    """The function of a place's name."""
    bare = name.partition("#")[0]
    match = _IMAGES.match(bare)
    image, symbol = (match[1], match[2]) if match else (MAIN, bare)
    if image not in {KERNEL, JIT} and symbol.endswith("()"):
        symbol = _mangled(symbol.removesuffix("()"), "Ev")
    elif symbol.endswith("[rs]"):
        path = symbol.removesuffix("[rs]")
        symbol = _mangled(path, f"17h{word(path):016x}E")
    return Function(image, symbol)


def _mangled(path: str, ending: str) -> str:
    """Mangled name: Itanium C++ ABI 5.1.3, nested names; Rust's older scheme adds a hash as the last part."""
    parts = path.replace("(anonymous namespace)", "_GLOBAL__N_1").split("::")
    if len(parts) == 1 and ending == "Ev":
        return f"_Z{len(path)}{path}v"
    return f"_ZN{''.join(f'{len(part)}{part}' for part in parts)}{ending}"


def _weighted(text: str) -> tuple[str, float]:
    match = _WEIGHT.match(text)
    return (match[1], float(match[2])) if match else (text, 1.0)
