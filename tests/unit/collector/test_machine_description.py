"""GIVEN what the inventory says WHEN a capture or the calendar says otherwise THEN the machine is asked again."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from collector.machine_description import STALE_AFTER, has_changed, is_stale
from fleetpb import capture_pb2
from storage.inventory import Machine

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
KNOWN = Machine(
    machine_id=1,
    name="m1",
    address="unix:/g",
    datacenter="",
    cluster="",
    platform="Zen",
    architecture="x86_64",
    kernel="6.18.0",
    logical_cpus=8,
    cores=4,
    packages=1,
    threads_per_core=2,
    nominal_mhz=None,
    memory_bytes=None,
    labels={},
    described_at=NOW - timedelta(hours=1),
    enabled=True,
)


def test_a_description_lasts_a_day():
    assert not is_stale(KNOWN, NOW)
    assert is_stale(KNOWN, NOW - timedelta(hours=1) + STALE_AFTER)
    assert is_stale(replace(KNOWN, described_at=None), NOW)


def test_a_new_kernel_or_cpu_is_a_change_and_silence_is_none():
    assert not has_changed(KNOWN, None)
    assert not has_changed(KNOWN, capture_pb2.Machine())
    assert not has_changed(KNOWN, capture_pb2.Machine(platform="Zen", kernel_release="6.18.0"))
    assert has_changed(KNOWN, capture_pb2.Machine(platform="Zen", kernel_release="6.19.0"))
    assert has_changed(KNOWN, capture_pb2.Machine(platform="Zen 2"))


def test_text_that_the_inventory_cuts_is_no_change():
    long = "x" * 300
    assert not has_changed(replace(KNOWN, platform=long[:256]), capture_pb2.Machine(platform=long))
