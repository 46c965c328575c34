"""Partitions of captures by the symbols they need, by which workers divide their work.

A worker caches the binaries it has opened and the symcaches it has fetched, so captures with the same program should
go to the same worker. A machine runs many programs; a capture is assigned by the one with the most samples.
"""

from collections import Counter
from hashlib import blake2b
from typing import Final

from fleetpb import capture_pb2
from storage.ingest.binary_images import image_of

PARTITIONS: Final = 16
"""Far more than workers would be too many queues to poll; far fewer would leave workers without their own. Stored
numbers are below this one."""


def partition_of(capture: capture_pb2.Capture) -> int:
    """The partition of a checked capture, 0…`PARTITIONS` − 1; 0 for a capture without samples.

    Determined by the image of the executable with the most samples. Kernel threads, which every machine has, only count
    if nothing else ran.
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
    # Ties go to the program that sorts first, independent of the order of samples.
    heaviest = min(weights, key=lambda program: (-weights[program], program)) if weights else "[kernel]"
    return blake2b(heaviest.encode("utf-8", "replace"), digest_size=2).digest()[0] % PARTITIONS


def _program(capture: capture_pb2.Capture, group: capture_pb2.ProcessGroup) -> str:
    if group.main_mapping:
        return image_of(capture, capture.mappings[group.main_mapping - 1]).key
    return capture.strings[group.exe] or capture.strings[group.comm]
