"""GIVEN a machine that keeps something from the gateway WHEN the doctor looks THEN it says what, its cost, and the remedy."""

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.doctor import node_facts
from gateway.doctor.findings import Finding, Grade, as_json, as_text, exit_status
from gateway.doctor.node_checks import check_facts
from gateway.doctor.node_facts import NodeFacts, read_node_facts
from gateway.privileges.capabilities import (
    CHECKPOINT_RESTORE,
    IPC_LOCK,
    NEEDED,
    PERFMON,
    SYS_ADMIN,
    SYS_PTRACE,
    SYSLOG,
    CapabilitySets,
    capabilities_to_keep,
)

ALL = sum(1 << capability.number for capability in NEEDED)
GOOD = NodeFacts(
    system="Linux",
    release="6.12.1",
    architecture="x86_64",
    uid=65534,
    cpus=64,
    sets=CapabilitySets(ALL, ALL, ALL),
    last_capability=40,
    seccomp=0,
    paranoid=2,
    kptr_restrict=1,
    mlock_kb=516,
    max_sample_rate=100_000,
    cpu_time_max_percent=25,
    ptrace_scope=1,
    lockdown="none",
    open_files=65536,
    locked_bytes=8 << 20,
    machine_errno=0,
    own_errno=0,
    pmu_errno=0,
    kernel_addresses=True,
    map_files=True,
    tracefs_errno=0,
    control_groups="/sys/fs/cgroup",
    host_processes=True,
    first_user_namespace=True,
    clocksource="tsc",
    clock_kept=True,
)


def without(*capabilities):
    mask = ALL & ~sum(1 << capability.number for capability in capabilities)
    return CapabilitySets(mask, mask, mask)


def by_subject(facts):
    found = check_facts(facts)
    assert len({finding.subject for finding in found}) == len(found)
    return {finding.subject: finding for finding in found}


def test_a_good_machine_is_fine_in_every_subject():
    assert {finding.grade for finding in check_facts(GOOD)} == {Grade.FINE}


@pytest.mark.parametrize(
    ("changed", "subject", "grade", "costs", "remedy"),
    [
        ({"system": "Darwin"}, "system", Grade.BAD, "everything", ""),
        ({"release": "3.10.0"}, "system", Grade.BAD, "everything", ""),
        ({"paranoid": None}, "perf events", Grade.BAD, "everything", "CONFIG_PERF_EVENTS"),
        ({"machine_errno": errno.EPERM, "seccomp": 2}, "perf events", Grade.BAD, "everything", "seccomp"),
        ({"machine_errno": errno.ENOSYS}, "perf events", Grade.BAD, "everything", "seccomp"),
        ({"machine_errno": errno.EACCES, "sets": without(PERFMON)}, "perf events", Grade.BAD, "other users", "CAP_PERFMON"),
        ({"machine_errno": errno.EACCES, "own_errno": errno.EACCES, "paranoid": 3, "sets": without(PERFMON)}, "perf events", Grade.BAD, "everything", "perf_event_paranoid=2"),
        ({"machine_errno": errno.EACCES, "own_errno": errno.EACCES, "paranoid": 4, "seccomp": 2}, "perf events", Grade.BAD, "everything", "perf_event_paranoid=2"),
        ({"machine_errno": errno.EACCES, "own_errno": errno.EACCES, "paranoid": 4}, "CAP_SYS_ADMIN", Grade.BAD, "replaced capabilities", "perf_event_paranoid=2"),
        ({"machine_errno": errno.EPERM, "own_errno": errno.EPERM, "paranoid": 4, "seccomp": 2}, "perf events", Grade.BAD, "everything", "seccomp"),
        ({"machine_errno": errno.EACCES, "paranoid": 3, "sets": without(PERFMON)}, "perf events", Grade.BAD, "other users", "CAP_PERFMON"),
        ({"sets": without(PERFMON), "machine_errno": errno.EACCES}, "CAP_PERFMON", Grade.BAD, "counters", "--cap-add PERFMON"),
        ({"sets": without(PERFMON), "paranoid": -1}, "CAP_PERFMON", Grade.NOTE, "counters", "AmbientCapabilities"),
        ({"sets": without(SYSLOG), "kernel_addresses": False}, "CAP_SYSLOG", Grade.BAD, "kernel", "CAP_SYSLOG"),
        ({"sets": without(CHECKPOINT_RESTORE), "map_files": False}, "CAP_CHECKPOINT_RESTORE", Grade.BAD, "deleted", ""),
        ({"sets": without(SYS_PTRACE)}, "CAP_SYS_PTRACE", Grade.BAD, "names", ""),
        ({"pmu_errno": errno.ENOENT}, "CPU counters", Grade.NOTE, "CPI", "PMU"),
        ({"host_processes": False}, "processes", Grade.BAD, "no names", "--pid=host"),
        ({"first_user_namespace": False}, "user namespace", Grade.BAD, "own processes", "outside"),
        ({"lockdown": "confidentiality"}, "kernel lockdown", Grade.BAD, "kernel", "integrity"),
        ({"open_files": 1024}, "open files", Grade.BAD, "counters", "LimitNOFILE=65536"),
        ({"sets": without(IPC_LOCK)}, "locked memory", Grade.NOTE, "lost", "CAP_IPC_LOCK"),
        ({"sets": without(IPC_LOCK), "locked_bytes": 0, "mlock_kb": 64}, "locked memory", Grade.BAD, "everything", "mlock_kb"),
        ({"max_sample_rate": 250}, "sample rate", Grade.NOTE, "250", "max_sample_rate"),
        ({"max_sample_rate": 50}, "sample rate", Grade.BAD, "50", "max_sample_rate"),
        ({"kernel_addresses": False, "kptr_restrict": 2}, "kernel addresses", Grade.BAD, "kernel", "kptr_restrict=1"),
        ({"map_files": False}, "map_files", Grade.BAD, "deleted", "CAP_CHECKPOINT_RESTORE"),
        ({"ptrace_scope": 3}, "ptrace scope", Grade.NOTE, "nothing", ""),
        ({"tracefs_errno": errno.ENOENT}, "tracepoints", Grade.NOTE, "tracepoint", "mount -t tracefs"),
        ({"tracefs_errno": errno.EACCES}, "tracepoints", Grade.NOTE, "tracepoint", "CAP_DAC_READ_SEARCH"),
        ({"control_groups": ""}, "control groups", Grade.NOTE, "control groups", "cgroup"),
        ({"clocksource": "hpet"}, "clock source", Grade.BAD, "overhead", "tsc"),
        ({"clock_kept": False}, "clock", Grade.NOTE, "time", "set-ntp"),
    ],
)  # fmt: skip
def test_each_lack_has_its_cost_and_its_remedy(changed, subject, grade, costs, remedy):
    found = by_subject(replace(GOOD, **changed))[subject]
    assert found.grade is grade
    assert costs in found.costs
    assert remedy in found.remedy
    assert found.costs


@pytest.mark.parametrize("sets", [GOOD.sets, without(PERFMON)])
def test_debians_own_level_is_told_from_a_filter(sets):
    """Whoever runs in a container has a filter; CAP_PERFMON, held or not, is not what is missing."""
    refused = replace(
        GOOD, sets=sets, paranoid=4, machine_errno=errno.EACCES, own_errno=errno.EACCES, seccomp=2
    )
    found = by_subject(refused)["perf events"]
    assert "seccomp" not in found.says + found.remedy
    assert "kernel.perf_event_paranoid is 4" in found.says
    assert found.remedy.startswith("sudo sysctl kernel.perf_event_paranoid=2")


def test_who_holds_what_debians_level_asks_for_is_not_sent_for_it():
    mask = ALL | 1 << SYS_ADMIN.number
    facts = replace(GOOD, sets=CapabilitySets(mask, mask, mask), paranoid=4)
    assert by_subject(facts)["CAP_SYS_ADMIN"].grade is Grade.FINE
    filtered = replace(facts, machine_errno=errno.EACCES, own_errno=errno.EACCES, seccomp=2)
    assert "seccomp" in by_subject(filtered)["perf events"].remedy


def test_the_doctor_counts_the_machines_cpus_not_its_own(monkeypatch):
    """A container's cpuset, or taskset: rings are opened on every CPU all the same."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0})
    monkeypatch.setattr(node_facts, "online_cpus", lambda: list(range(7)))
    assert read_node_facts().cpus == 7


def test_locked_memory_is_shared_between_the_cpus():
    """8 MiB of RLIMIT_MEMLOCK are plenty for 2 CPUs and nothing for 64."""
    few = replace(GOOD, sets=without(IPC_LOCK), cpus=2)
    assert by_subject(few)["locked memory"].grade is Grade.FINE
    assert by_subject(replace(few, cpus=64))["locked memory"].grade is Grade.NOTE


@pytest.mark.parametrize(
    ("last", "nice", "names"),
    [
        (40, True, set()),
        (40, False, {"CAP_SYS_NICE"}),
        (39, True, {"CAP_SYS_ADMIN"}),
        (37, True, {"CAP_SYS_ADMIN"}),
    ],
)
def test_older_kernels_know_no_capability_for_sampling(last, nice, names):
    held = {capability.name for capability in capabilities_to_keep(last=last, may_raise_priority=nice)}
    assert held == {capability.name for capability in NEEDED if capability.number <= last} | names


@pytest.mark.parametrize(("paranoid", "kept_too"), [(-1, False), (2, False), (3, True), (4, True)])
def test_debians_own_level_takes_more_than_perfmon(paranoid, kept_too):
    held = {
        capability.name
        for capability in capabilities_to_keep(last=40, may_raise_priority=True, paranoid=paranoid)
    }
    assert ("CAP_SYS_ADMIN" in held) == kept_too


def test_the_status_and_both_forms_of_the_report():
    found = [
        Finding("clock", Grade.FINE, "tsc"),
        Finding("tracepoints", Grade.NOTE, "not mounted", "tracepoints", "mount it"),
        Finding("perf events", Grade.BAD, "none", "everything", "another kernel"),
    ]
    assert exit_status(found) == 1
    assert exit_status(found[:2]) == 0
    rows = json.loads(as_json(found))
    assert rows[1] == {"subject": "tracepoints", "grade": "note", "says": "not mounted", "costs": "tracepoints", "remedy": "mount it"}  # fmt: skip
    text = as_text(found)
    assert "costs: everything" in text
    assert "fix: another kernel" in text
    assert text.endswith("1 bad, 1 to note, 1 fine")


def test_this_machine_can_be_examined():
    facts = read_node_facts()
    assert facts.system == "Linux"
    assert facts.cpus >= 1
    assert check_facts(facts)


def test_the_documented_costs_are_the_doctors():
    """docs/security.md has the table that the doctor prints from."""
    text = " ".join((Path(__file__).parents[4] / "docs/security.md").read_text().split())
    for capability in NEEDED:
        row = f"| `{capability.name}` | {capability.purpose} | {capability.costs} |"
        assert " ".join(row.split()) in text, row
