"""GIVEN two workers and more programs than one remembers WHEN captures are routed THEN images are at hand more often.

The fleet runs 60 programs; a machine runs one of them, every third machine another one beside, and all the same
daemons. A program has four images of its own, the daemons have four. A worker remembers 128 images. Captures
come in bursts as rounds bring them; each worker in turn takes the next message its queues hold, another's
when its own are empty.
"""

import logging
from collections import deque
from uuid import UUID

import numpy as np
import pytest

from fleetpb import capture_pb2
from storage.work_partitions import partition_of
from symbolizer.identity import identity_of
from symbolizer.images.images import Images
from symbolizer.kernel.identity import KernelIdentity
from symbolizer.sources.source import Missing
from symbolizer.worker import routing
from symbolizer.worker.routing import WorkerPartitions

PROGRAMS, CAPTURES, BURST, REMEMBERED = 60, 600, 50, 128
NO_KERNEL = KernelIdentity(b"")

log = logging.getLogger(__name__)


class Nowhere:
    """Has no image, and counts how often it is asked: once for each that a worker has not at hand."""

    def __init__(self):
        self.asked = 0

    def executable(self, _):
        self.asked += 1
        return Missing("It is nowhere.")

    def debug_file(self, *_):
        return Missing("It is nowhere.")


class NothingBuilt:
    def find(self, _):
        return None


class Worker:
    def __init__(self, number, of):
        self.source = Nowhere()
        self.images = Images(self.source, NothingBuilt(), capacity=REMEMBERED, clock=lambda: 0.0)
        self.order = routing.queues(WorkerPartitions(number, of), f"w{number}")
        self.opened = 0

    def ingest(self, capture):
        for mapping in capture.mappings:
            self.images.open(mapping.kind, identity_of(capture, mapping), NO_KERNEL)
            self.opened += 1


def captures():
    random = np.random.default_rng(3)
    for number in range(CAPTURES):
        yield a_capture(random.choice(PROGRAMS, 2 if number % 3 == 0 else 1, replace=False).tolist())


def a_capture(programs):
    capture = capture_pb2.Capture(format=1, visit_id=UUID(int=1).bytes)
    capture.strings.append("")
    segment = capture.segments.add()
    for place, program in enumerate(programs):
        for image in range(4):
            add_image(capture, f"/opt/{program}/{image}", bytes([program, image]) * 10)
        capture.groups.add(main_mapping=len(capture.mappings) - 3)
        segment.profiles.add(group=place, stack_delta=[0], count=[90 if place == 0 else 5])
    for shared in range(4):
        add_image(capture, f"/usr/lib/{shared}", bytes([255, shared]) * 10)
    return capture


def add_image(capture, path, build_id):
    capture.strings.append(path)
    capture.mappings.add(kind=capture_pb2.Mapping.FILE, path=len(capture.strings) - 1, build_id=build_id)


def share_at_hand(*, routed, workers=2):
    """Of the images that captures need, those that the worker who ingests them has at hand."""
    crew = [Worker(number, workers) for number in range(1, workers + 1)]
    waiting = {name: deque() for name in crew[0].order}
    turn = 0
    for number, capture in enumerate(captures(), start=1):
        waiting[routing.new_queue(partition_of(capture) if routed else 0)].append(capture)
        while number % BURST == 0 and any(waiting.values()):
            worker = crew[turn % workers]
            turn += 1
            worker.ingest(next(waiting[name] for name in worker.order if waiting[name]).popleft())
    assert not any(waiting.values())
    opened = sum(worker.opened for worker in crew)
    return 1 - sum(worker.source.asked for worker in crew) / opened


@pytest.fixture(scope="module")
def shares():
    return share_at_hand(routed=False), share_at_hand(routed=True)


def test_routing_keeps_images_at_hand(shares):
    without, routed = shares
    log.info("images at hand: %.1f %% without routing, %.1f %% with", 100 * without, 100 * routed)
    assert 1 - routed < 0.75 * (1 - without), "at least a quarter fewer are looked for anew"
