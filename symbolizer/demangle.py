"""Demangles linkage names; the caller keeps the raw name beside the result.

`pycxxfilt` wraps LLVM's demanglers: Itanium C++ and Rust v0 in one call, three times as fast as
`pydemumble` (782 k against 263 k names/s on libLLVM) and as close to llvm-cxxfilt (99.9 %).
Rust's older scheme is Itanium with a hash and escapes that LLVM leaves in; this module decodes them.

A mangled name may refer back to its own parts, so 270 bytes can expand to gigabytes. LLVM calls abort() if it cannot
allocate them, and overflows the stack on deep nesting. Names with that risk, 3 % of real C++ and Rust, are
demangled in a separate process (`demangle_process.py`), which takes some 50 us more.
"""

import math
import re
from functools import lru_cache
from typing import Final

import pycxxfilt

from symbolizer.demangle_process import DemanglerProcess

MAX_MANGLED: Final = 1 << 14
"""Longer names are not demangled: the time grows faster than the length."""

_MAX_NEAR: Final = 1 << 10
"""Longer names are demangled in a separate process: their nesting might exhaust a thread's stack of 8 MiB, as 16,000
times Z does."""
_MAX_GROWTH_BITS: Final = 22
"""Names that might grow to more than 2 to this power characters are demangled in a separate process."""
_BITS_EACH: Final = math.log2(math.e) / math.e
"""Growth per reference: n references that double, or multiply by k, give at most k^(n/k) ≤ e^(n/e)."""
_FEW: Final = int((_MAX_GROWTH_BITS - math.log2(_MAX_NEAR)) / _BITS_EACH)
"""A name of up to `_MAX_NEAR` characters with at most this many references cannot grow too much."""
_REFERENCE: Final = re.compile(r"[ST][0-9A-Z]*_")
_RUST_REFERENCE: Final = re.compile(r"B[0-9A-Za-z]*_")
_EXPANSION: Final = re.compile(r"Dp|sp|f[lLrR]|s[PZ]")
"""Expansion of a pack of template arguments (`J…E`): repeats its pattern for each."""
_LLVM_MODULE: Final = re.compile(r"\.llvm\.\d+(?=\.|$)")
"""Suffix of a local function that link-time optimization made visible: a hash of its module, new with every build."""
_RUST_HASH: Final = re.compile(r"::h[0-9a-f]{16}(?=$| \()")
_RUST_ESCAPE: Final = re.compile(r"\$(SP|BP|RF|LT|GT|LP|RP|C|u[0-9a-f]{1,6})\$")
_RUST_CHARACTER: Final = {
    "SP": "@",
    "BP": "*",
    "RF": "&",
    "LT": "<",
    "GT": ">",
    "LP": "(",
    "RP": ")",
    "C": ",",
}


@lru_cache(maxsize=1 << 16)
def demangle(raw: str) -> str:
    """The name as in source code; if `raw` is not mangled, `raw` without the suffixes of linkers and LLVM."""
    name = _LLVM_MODULE.sub("", _without_version(raw)) or raw
    if not name.startswith(("_Z", "_R")) or len(name) > MAX_MANGLED or "\n" in name:
        return name
    plain = _near(name) if _is_tame(name) else _APART.demangle(name)
    if not plain:
        return name
    return _plain_rust(plain) if name.startswith("_ZN") and _RUST_HASH.search(plain) else plain


def _near(name: str) -> str:
    try:
        return pycxxfilt.demangle(name) or ""
    except ValueError:  # not a mangled name: _Read, _Zebra
        return ""


def _is_tame(name: str) -> bool:
    """Whether the demangled name certainly has a limited size; true of all short names."""
    if len(name) > _MAX_NEAR:
        return False
    if "J" not in name and name.count("_") <= _FEW:  # true of most names; every reference ends in "_"
        return True
    own_bits = math.log2(len(name))
    if name.startswith("_R"):
        references, expansions = len(_RUST_REFERENCE.findall(name)), 0
    else:
        references = len(_REFERENCE.findall(name))
        expansions = len(_EXPANSION.findall(name)) if "J" in name else 0
    return (1 + expansions) * own_bits + references * _BITS_EACH <= _MAX_GROWTH_BITS


def _without_version(raw: str) -> str:
    """memcpy@@GLIBC_2.14 is memcpy: the linker added the version. But malloc@plt is a stub, not malloc."""
    name, at, version = raw.partition("@")
    return name if at and name and version != "plt" else raw


def _plain_rust(name: str) -> str:
    name = _RUST_HASH.sub("", name)
    # A path component that begins with an escape is prefixed with "_" to be a C identifier.
    name = re.sub(r"(^|::)_(?=\$)", r"\1", name)
    return _RUST_ESCAPE.sub(_unescape, name).replace("..", "::")


_APART: Final = DemanglerProcess()


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if code in _RUST_CHARACTER:
        return _RUST_CHARACTER[code]
    point = int(code[1:], 16)
    return chr(point) if 0x20 <= point <= 0x10FFFF and not 0xD800 <= point <= 0xDFFF else match[0]
