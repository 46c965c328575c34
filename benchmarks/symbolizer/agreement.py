"""Whether two programs symbolize an address alike, and the kinds of their differences.

The comparison covers whole chains: function, file and line of every inlined call. Different spellings are normalized
first: directories (two releases of llvm-symbolizer differ in them on 77 % of libLLVM's addresses), suffixes of clones,
and the variants C1/C2, D1/D2 of constructors and destructors.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

_CLONES: Final = re.compile(
    r"\.(?:llvm\.\d+|isra\.\d+|part\.\d+|constprop\.\d+|cold(?:\.\d+)?|lto_priv\.\d+|localalias)|@.*$"
)
_STRUCTORS: Final = re.compile(r"(?<=[CD])[0-5](?=[EIB])")


class Level(NamedTuple):
    """One level of a chain."""

    function: str
    file: str
    line: int


Chain: TypeAlias = tuple[Level, ...]


@dataclass
class Agreement:
    """Counts over addresses."""

    compared: int = 0
    identical: int = 0
    same_functions: int = 0
    misses: Counter[str] = field(default_factory=Counter)
    examples: dict[str, tuple[int, Chain, Chain]] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """Share of addresses with identical chains; NaN if none was compared."""
        return self.identical / self.compared if self.compared else float("nan")

    @property
    def functions_share(self) -> float:
        """Share of addresses whose chains have the same functions, whatever their lines."""
        return self.same_functions / self.compared if self.compared else float("nan")

    def by_class(self) -> str:
        """The differences in parts per thousand, the most frequent first."""
        return ", ".join(
            f"{1000 * count / self.compared:.1f} ‰ {name}" for name, count in self.misses.most_common()
        )


def compare(reference: Mapping[int, Chain], ours: Mapping[int, Chain]) -> Agreement:
    """Compare every address that both symbolized."""
    found = Agreement()
    for address in reference.keys() & ours.keys():
        left, right = _plain(reference[address]), _plain(ours[address])
        found.compared += 1
        found.same_functions += [level.function for level in left] == [level.function for level in right]
        if left == right:
            found.identical += 1
            continue
        kind = _difference(left, right)
        found.misses[kind] += 1
        found.examples.setdefault(kind, (address, reference[address], ours[address]))
    return found


def _plain(chain: Chain) -> Chain:
    return tuple(
        Level(
            _STRUCTORS.sub("x", _CLONES.sub("", level.function)),
            posixpath.basename(level.file),
            level.line,
        )
        for level in chain
    )


def _difference(reference: Chain, ours: Chain) -> str:
    if not ours:
        return "no function here by us"
    if not reference:
        return "no function here by the peer"
    if len(reference) != len(ours):
        return f"{'fewer' if len(ours) < len(reference) else 'more'} inlined calls"
    functions = any(a.function != b.function for a, b in zip(reference, ours, strict=True))
    if all((a.file, a.line) == (b.file, b.line) for a, b in zip(reference, ours, strict=True)):
        return "another name of the same code"
    pairs = list(zip(reference, ours, strict=True))
    if all((a.file, a.line) == (b.file, b.line) or 0 in {a.line, b.line} for a, b in pairs):
        return "line 0 by one" + (", another name" if functions else "")
    return "other line" + (", other function" if functions else "")
