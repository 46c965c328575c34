"""Which captures need the same symbols: what workers divide their work by.

A worker keeps the binaries it has opened and the caches it has fetched; a capture of a machine that runs the
same program as the last one finds them there. A machine runs many programs, so a capture goes by the one that
has most of its samples.
"""

from collections import Counter
from hashlib import blake2b
from typing import Final

from fleetpb import capture_pb2
from storage.ingest.binary_images import image_of

PARTITIONS: Final = 16
"""Far more than workers would be too many queues to look through, far fewer leaves workers without any of
their own; what is stored is a number below this one."""


def partition_of(capture: capture_pb2.Capture) -> int:
    """The partition of a checked capture, 0…`PARTITIONS` − 1; 0 for one without a sample.

    By the image of the executable with most samples; kernel threads, which every machine has, only decide
    where nothing else ran.
    """
    samples: Counter[int] = Counter()
    for segment in capture.segments:
        for profile in segment.profiles:
            samples[profile.group] += sum(profile.count)
    weights: Counter[str] = Counter()
    kernel = 0
    for group, count in samples.items():
        if capture.groups[group].kernel_thread:
            kernel += count
        else:
            weights[_program(capture, capture.groups[group])] += count
    if not weights and not kernel:
        return 0
    # Of two as heavy the one that sorts first, whatever order they came in.
    heaviest = min(weights, key=lambda program: (-weights[program], program)) if weights else "[kernel]"
    return blake2b(heaviest.encode("utf-8", "replace"), digest_size=2).digest()[0] % PARTITIONS


def _program(capture: capture_pb2.Capture, group: capture_pb2.ProcessGroup) -> str:
    if group.main_mapping:
        return image_of(capture, capture.mappings[group.main_mapping - 1]).key
    return capture.strings[group.exe] or capture.strings[group.comm]
