"""One capture of a simulated machine: the message that a gateway would return at that moment.

The window is drawn around the model (`window`), and then

    samples ~ Multinomial(ticks, busy · shares).

Within a group, samples fall on a third as many pieces of work, each drawn from the application's stacks, so samples of
one visit resemble each other. The expectation of every sample is still its share in the model.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from fleetpb import capture_pb2
from gateway.capture.limits import PlannedEvent, Schedule
from gateway.capture.packer import Image, Packed
from simulation import binaries
from simulation.binaries import Build
from simulation.capture_assembly import Assembly, Profile
from simulation.catalogue import APPLICATIONS, Kind
from simulation.counter_readings import add_counters, add_usage
from simulation.fleet import Fleet
from simulation.groups import labels
from simulation.machine_facts import (
    PRODUCER,
    can_sample,
    clock_skew_s,
    describe,
    has_counters,
    kernel_of,
)
from simulation.placed_stacks import PlacedStacks, placed
from simulation.seeded_random import Indexes
from simulation.variants import shares
from simulation.window import Window, draw

SAMPLES_OF_ONE_WORK: Final = 3
_ENOENT: Final = 2


@dataclass(frozen=True, slots=True)
class Taken:
    """A complete capture."""

    packed: Packed
    utilisation: float
    """Busy share of the machine in the window, 0…1."""
    seconds: float
    builds: tuple[Build, ...]
    """All builds that contain its frames."""


def take(
    fleet: Fleet, machine: int, schedule: Schedule, visit_id: bytes, *, at: float, random: np.random.Generator
) -> Taken:
    """The capture of a machine at a time, seconds since 1970 UTC, with a schedule of `gateway.capture.limits`."""
    window = draw(fleet, machine, at, random)
    assembly = Assembly(
        capture_pb2.Capture(
            visit_id=visit_id, producer=PRODUCER, machine=describe(fleet, machine), notes=schedule.changes
        )
    )
    capture = assembly.capture
    capture.window.wall_start_ns = round((at + clock_skew_s(fleet, machine)) * 1e9)
    capture.window.monotonic_start_ns = round((at % 8_640_000.0) * 1e9)
    capture.window.duration_ns = round(schedule.seconds * 1e9)
    numbers: dict[int, int] = {}
    builds: dict[bytes, Build] = {}
    began = 0.0
    for turn in schedule.turns:
        for event in turn:
            message = _segment(assembly, fleet, machine, event, began)
            if message.support == capture_pb2.SUPPORT_OK:
                counts = _samples(fleet, machine, window, event, random)
                profiles = []
                for number in np.flatnonzero(counts).tolist():
                    stacks, drawn = _placed(fleet, machine, window, number), int(counts[number])
                    if number not in numbers:
                        numbers[number] = _add_group(assembly, fleet, window, number)
                    builds.update((build.build_id, build) for build in stacks.builds)
                    profiles.append(
                        Profile(numbers[number], stacks, *_stacks(fleet, window, number, drawn, random))
                    )
                assembly.segment(message, profiles)
            else:
                assembly.segment(message, [])
        began += max(event.seconds for event in turn)
    if schedule.counters:
        physical = has_counters(fleet, machine)
        add_counters(assembly, schedule, random, window=window, sampled=numbers, physical=physical)
    add_usage(assembly, schedule.seconds, random, fleet=fleet, machine=machine, window=window)
    return Taken(assembly.finish(), window.busy, schedule.seconds, tuple(builds.values()))


def _segment(
    assembly: Assembly, fleet: Fleet, machine: int, event: PlannedEvent, began: float
) -> capture_pb2.Segment:
    known = event.event is not None
    can = known and can_sample(event.name, physical=has_counters(fleet, machine))
    message = capture_pb2.Segment(
        event=assembly.text(event.name),
        source=assembly.text(event.event.source if event.event else ""),
        unit=assembly.text(event.event.unit if event.event else ""),
        support=capture_pb2.SUPPORT_OK if can else capture_pb2.SUPPORT_UNSUPPORTED,
        errno=_ENOENT if known and not can else 0,
        stacks=event.stacks,
    )
    if can:
        message.period, message.requested_period = event.period, event.requested_period
        message.thinned_why = assembly.text(event.thinned_why)
        message.start_offset_ns = round(began * 1e9)
        message.duration_ns = round(event.seconds * 1e9)
        message.cpus.extend(range(int(fleet.cpus[machine])))
        message.lost.extend([0] * int(fleet.cpus[machine]))
    return message


def _samples(
    fleet: Fleet, machine: int, window: Window, event: PlannedEvent, random: np.random.Generator
) -> Indexes:
    """Number of samples of each group."""
    cpus = int(fleet.cpus[machine])
    if event.name == "cpu":
        ticks = round(cpus * event.seconds * 1e9 / event.period)
        chances = np.append(window.busy * window.share, 0.0)
        chances[-1] = max(0.0, 1.0 - chances.sum())
        return np.asarray(random.multinomial(ticks, chances / chances.sum())[:-1], np.int64)
    expected = window.cores * event.seconds * window.rates(event.name) / event.period
    return np.asarray(random.poisson(expected), np.int64)


def _placed(fleet: Fleet, machine: int, window: Window, number: int) -> PlacedStacks:
    application = APPLICATIONS[window.groups[number].application]
    return placed(application, fleet.seed, window.release[number], kernel_of(fleet, machine))


def _stacks(
    fleet: Fleet, window: Window, number: int, samples: int, random: np.random.Generator
) -> tuple[Indexes, Indexes]:
    """Distinct stacks of a group's samples, and the number of samples of each."""
    application = APPLICATIONS[window.groups[number].application]
    cumulated = shares(application, fleet.seed, window.variant[number]).cumulated
    works = math.ceil(samples / SAMPLES_OF_ONE_WORK)
    drawn = np.minimum(np.searchsorted(cumulated, random.random(works), "right"), len(cumulated) - 1)
    sizes = random.exponential(size=works)
    counts = random.multinomial(samples, sizes / sizes.sum())
    distinct, inverse = np.unique(drawn[counts > 0], return_inverse=True)
    return distinct.astype(np.int64), np.bincount(inverse, weights=counts[counts > 0]).astype(np.int64)


def _add_group(assembly: Assembly, fleet: Fleet, window: Window, number: int) -> int:
    group, release = window.groups[number], window.release[number]
    application = APPLICATIONS[group.application]
    build = binaries.executable(application, fleet.seed, release)
    image = Image(capture_pb2.Mapping.FILE, build.path, build.build_id) if build else None
    container_labels = labels(application, release) if application.kind is Kind.SERVICE else ()
    return assembly.group(group.identity, image, group.processes, container_labels)
