"""Reproducible random numbers: each depends only on a seed and its purpose.

SplitMix64 (Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014, figure 16) as a hash: the
load of machine 17 in five-minute slot 5 800 000 is the same in any process and any order, so true values and captures
need no shared state.
"""

import hashlib
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Indexes = npt.NDArray[np.int64]
_Words = npt.NDArray[np.uint64]

_GAMMA: Final = np.uint64(0x9E3779B97F4A7C15)
_FIRST: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND: Final = np.uint64(0x94D049BB133111EB)


def word(text: str) -> int:
    """64-bit hash of a text, the same in every process."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def uniform(seed: int, what: str, *keys: npt.ArrayLike) -> Floats:
    """Numbers uniform on [0, 1), one per combination of integer keys, which broadcast."""
    with np.errstate(over="ignore"):  # arithmetic modulo 2⁶⁴
        state = np.asarray(_mixed(np.uint64((seed ^ word(what)) & 0xFFFFFFFFFFFFFFFF)), np.uint64)
        for key in keys:
            state = _mixed(state ^ _mixed(np.asarray(key).astype(np.uint64)))
    return np.asarray((state >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def normal(seed: int, what: str, *keys: npt.ArrayLike) -> Floats:
    """Standard normal numbers (Box and Muller 1958), one per combination of keys."""
    radius = np.sqrt(-2.0 * np.log1p(-uniform(seed, f"{what} radius", *keys)))
    return np.asarray(radius * np.cos(2.0 * np.pi * uniform(seed, f"{what} angle", *keys)))


def generator(seed: int, what: str, *keys: int) -> np.random.Generator:
    """A generator for one purpose."""
    return np.random.default_rng([seed & 0xFFFFFFFFFFFFFFFF, word(what), *keys])


def _mixed(words: "_Words | np.uint64") -> "_Words":
    words = np.asarray(words, np.uint64) + _GAMMA
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    return np.asarray(words ^ (words >> np.uint64(31)))
