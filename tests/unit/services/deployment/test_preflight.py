"""GIVEN a machine's facts WHEN they are judged THEN the sentence names the lack and the remedy."""

from dataclasses import replace

import pytest

from services.deployment.preflight import MachineFacts, judge, read_facts

ABLE = MachineFacts("Linux", "x86_64", (6, 1), 2, may_see_everything=True)


def test_a_privileged_process_sees_the_whole_machine_whatever_paranoid_says():
    for paranoid in (-1, 0, 2, 4):
        assert judge(replace(ABLE, perf_event_paranoid=paranoid)).whole_machine


@pytest.mark.parametrize("paranoid", [1, 2])
def test_an_ordinary_user_sees_own_processes(paranoid):
    verdict = judge(replace(ABLE, perf_event_paranoid=paranoid, may_see_everything=False))
    assert verdict.problem is None
    assert not verdict.whole_machine


def test_a_paranoid_kernel_names_the_command_that_grants_access():
    verdict = judge(replace(ABLE, perf_event_paranoid=3, may_see_everything=False))
    assert verdict.problem is not None
    assert verdict.problem.endswith("sudo sysctl kernel.perf_event_paranoid=2")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"system": "Darwin"}, "Darwin"),
        ({"architecture": "aarch64"}, "aarch64"),
        ({"kernel": (4, 19)}, "4.19"),
        ({"perf_event_paranoid": None}, "CONFIG_PERF_EVENTS"),
    ],
)
def test_each_lack_is_one_sentence_that_names_it(change, word):
    verdict = judge(replace(ABLE, **change))
    assert verdict.problem is not None
    assert word in verdict.problem
    assert "\n" not in verdict.problem


def test_facts_of_this_machine_are_read():
    facts = read_facts()
    assert facts.system == "Linux"
    assert facts.kernel > (2, 6)
