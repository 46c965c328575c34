"""GIVEN samples in stacks WHEN a capture is assembled THEN it is the message that the gateway's packer makes."""

from uuid import uuid4

import numpy as np
import pytest

from fleetpb import capture_pb2
from gateway.capture.packer import FrameKey, GroupKey, Packer
from simulation.binaries import executable
from simulation.capture_assembly import Assembly, Profile
from simulation.catalogue import APPLICATIONS
from simulation.groups import Identity
from simulation.placed_stacks import placed
from storage.ingest.decode_capture import decode_capture

OK = capture_pb2.SUPPORT_OK
SEED = 7
BY_NAME = {application.name: application for application in APPLICATIONS}


def identity(name: str) -> Identity:
    return Identity(name[:15], f"/srv/{name}", "", "", "", "", kernel_thread=False)


def samples(names: list[str], random: np.random.Generator) -> list[tuple[str, np.ndarray, np.ndarray]]:
    chosen = []
    for name in names:
        stacks = placed(BY_NAME[name], SEED, 3, 0)
        many = min(40, len(stacks.end))
        stack = np.sort(random.choice(len(stacks.end), many, replace=False))
        chosen.append((name, stack, random.integers(1, 9, many)))
    return chosen


def assembled(chosen: list[tuple[str, np.ndarray, np.ndarray]]) -> capture_pb2.Capture:
    assembly = Assembly(capture_pb2.Capture(visit_id=uuid4().bytes))
    profiles = [
        Profile(assembly.group(identity(name), None, 1, ()), placed(BY_NAME[name], SEED, 3, 0), stack, count)
        for name, stack, count in chosen
    ]
    assembly.segment(capture_pb2.Segment(event=assembly.text("cpu"), support=OK, period=1), profiles)
    return decode_capture(assembly.finish().data)


def packed(
    chosen: list[tuple[str, np.ndarray, np.ndarray]], like: capture_pb2.Capture
) -> capture_pb2.Capture:
    """By the gateway's own packer, one sample after the other; images in the order of `like`."""
    packer = Packer()
    images = {image for name, *_ in chosen for image in placed(BY_NAME[name], SEED, 3, 0).images}
    by_content = {(image.path, image.build_id): image for image in images}
    for mapping in like.mappings:
        packer.image(by_content[like.strings[mapping.path], mapping.build_id])
    segment = packer.segment(capture_pb2.Segment(event=packer.text("cpu"), support=OK, period=1))
    for name, stacks, counts in chosen:
        table = placed(BY_NAME[name], SEED, 3, 0)
        group = packer.group(GroupKey(identity(name), 0), 1)
        for stack, count in zip(stacks.tolist(), counts.tolist(), strict=True):
            keys = [
                FrameKey(
                    packer.image(table.images[table.image[at]]),
                    int(table.offset[at]),
                    int(table.into_function[at]),
                    int(table.flags[at]),
                    table.names[table.name[at]],
                )
                for at in range(table.starts[stack], table.starts[stack + 1])
            ]
            index = packer.stack(tuple(packer.frame(key) for key in keys), int(table.end[stack]))
            segment.counts[group, index] += count
    return decode_capture(packer.pack(capture_pb2.Capture(visit_id=uuid4().bytes)).data)


@pytest.mark.parametrize(
    "names",
    [
        ["search-ranker"],
        ["checkout", "edge-proxy", "[kworker]"],
        ["feed", "recommender", "web-frontend"],
        ["[kworker]", "[ksoftirqd]", "[rcu_preempt]", "systemd"],
    ],
)
def test_it_is_what_the_packer_makes(names):
    chosen = samples(names, np.random.default_rng(3))
    ours = assembled(chosen)
    theirs = packed(chosen, ours)
    assert ours.frames == theirs.frames
    assert ours.stacks == theirs.stacks
    assert [(p.group, list(p.stack_delta), list(p.count)) for p in ours.segments[0].profiles] == [
        (p.group, list(p.stack_delta), list(p.count)) for p in theirs.segments[0].profiles
    ]
    assert ours.segments[0].samples == theirs.segments[0].samples
    assert names_of_jit_code(ours) == names_of_jit_code(theirs)


def names_of_jit_code(capture: capture_pb2.Capture) -> dict[int, dict[int, str]]:
    return {
        excerpt.group: {f: capture.strings[n] for f, n in zip(excerpt.frame, excerpt.name, strict=True)}
        for excerpt in capture.excerpts
    }


def test_stacks_that_two_groups_share_are_there_once():
    stacks = placed(BY_NAME["[kworker]"], SEED, 0, 0)
    assembly = Assembly(capture_pb2.Capture(visit_id=uuid4().bytes))
    every, once = np.arange(len(stacks.end)), np.ones(len(stacks.end), np.int64)
    profiles = [
        Profile(assembly.group(identity(name), None, 1, ()), stacks, every, once) for name in ("one", "two")
    ]
    assembly.segment(capture_pb2.Segment(support=OK, period=1), profiles)
    capture = decode_capture(assembly.finish().data)
    assert len(capture.stacks.length) == len(stacks.end)
    assert capture.segments[0].samples == 2 * len(stacks.end)


def test_a_capture_without_samples_is_one():
    assembly = Assembly(capture_pb2.Capture(visit_id=uuid4().bytes))
    assembly.segment(capture_pb2.Segment(support=OK, period=1), [])
    capture = decode_capture(assembly.finish().data)
    assert (len(capture.segments), len(capture.frames.mapping), capture.segments[0].samples) == (1, 0, 0)


def test_a_group_knows_its_executable():
    build = executable(BY_NAME["checkout"], SEED, 4)
    assert build is not None
    stacks = placed(BY_NAME["checkout"], SEED, 4, 0)
    image = next(image for image in stacks.images if image.build_id == build.build_id)
    assembly = Assembly(capture_pb2.Capture(visit_id=uuid4().bytes))
    group = assembly.group(identity("checkout"), image, 2, [("app.kubernetes.io/name", "checkout")])
    assembly.segment(
        capture_pb2.Segment(support=OK, period=1), [Profile(group, stacks, np.array([0]), np.array([5]))]
    )
    capture = decode_capture(assembly.finish().data)
    mapping = capture.mappings[capture.groups[0].main_mapping - 1]
    assert mapping.build_id == build.build_id
    assert [capture.strings[text] for text in capture.groups[0].labels] == [
        "app.kubernetes.io/name",
        "checkout",
    ]
