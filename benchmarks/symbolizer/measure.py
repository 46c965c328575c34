"""One process that symbolizes addresses from a cache and measures the cost; run by `engine.py`.

    python -m benchmarks.symbolizer.measure CACHE KEY ADDRESSES.npy [--first]

Prints one JSON object. Times start after all imports and before any file is opened.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from statistics import median

import numpy as np

from symbolizer.builds.outcome import Built
from symbolizer.builds.symcaches import local_symcaches
from symbolizer.images.batch import SymbolizedBinary

_ROUNDS = 5
_AS_IN_A_CAPTURE = 10_000


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.symbolizer.measure")
    parser.add_argument("cache", type=Path)
    parser.add_argument("key")
    parser.add_argument("addresses", type=Path)
    parser.add_argument("--first", action="store_true", help="the first answer only")
    wanted = parser.parse_args(arguments)
    addresses = np.load(wanted.addresses)
    started, started_cpu = time.perf_counter(), time.process_time()
    built = local_symcaches(wanted.cache).find(wanted.key)
    if not isinstance(built, Built):
        raise SystemExit(f"{wanted.key} is not built: {built}")
    binary = SymbolizedBinary(built.symbols)
    found = binary.symbolize(addresses[:1])
    chain = [binary.frame(frame) for frame in found.frames.tolist()]
    figures: dict[str, float] = {"first_ms": 1000 * (time.perf_counter() - started), "levels": len(chain)}
    if not wanted.first:
        sample = addresses[:_AS_IN_A_CAPTURE]
        batch = binary.symbolize(sample)
        for frame in np.unique(batch.frames).tolist():
            binary.frame(frame)
        figures["cold_per_s"] = len(sample) / (time.process_time() - started_cpu)
        figures["rss_mib"] = _peak_rss_mib()
        figures |= _warm(binary, addresses)
    print(json.dumps(figures))
    return 0


def _warm(binary: SymbolizedBinary, addresses: np.ndarray) -> dict[str, float]:
    """Rates per CPU second of one core: chains of all addresses, and names of distinct frames."""
    took = []
    for _ in range(_ROUNDS):
        started = time.process_time()
        batch = binary.symbolize(addresses)
        took.append(time.process_time() - started)
    frames = np.unique(batch.frames)[: len(addresses) // 10].tolist()
    started = time.process_time()
    for frame in frames:
        binary.frame(frame)
    names_s = time.process_time() - started
    return {
        "per_s": len(addresses) / median(took),
        "names_per_s": len(frames) / max(names_s, 1e-9),
        "all_rss_mib": _peak_rss_mib(),
    }


def _peak_rss_mib() -> float:
    """Peak resident memory of this process, including touched pages of mapped files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
