"""Time in idle states."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gateway.machine.idle_states import IdleStates, find_idle_states, residency
from tests.fake_sysfs import cpuidle


def test_states_are_read_in_their_order(tmp_path: Path):
    for cpu in (0, 1):
        cpuidle(tmp_path, cpu, POLL=1, C1=20, C6=300)
    found = find_idle_states([0, 1], tmp_path)
    assert found.states == (("POLL", 0), ("C1", 10), ("C6", 20))
    assert found.read() == {0: (1, 20, 300), 1: (1, 20, 300)}
    assert [(state.name, state.exit_latency_us) for state in found.messages()] == list(found.states)


def test_a_cpu_with_other_states_or_an_unreadable_one_is_left_out(tmp_path: Path):
    cpuidle(tmp_path, 0, POLL=1, C1=2)
    cpuidle(tmp_path, 1, POLL=1)
    cpuidle(tmp_path, 2, POLL=1, C1=2)
    found = find_idle_states([0, 1, 2], tmp_path)
    (tmp_path / "devices/system/cpu/cpu2/cpuidle/state1/time").write_text("garbage")
    assert found.read() == {0: (1, 2)}


def test_a_machine_without_them_is_looked_at_once(tmp_path: Path):
    assert find_idle_states(range(4096), tmp_path) == IdleStates()


def test_more_than_nine_states_are_in_the_order_of_their_numbers(tmp_path: Path):
    cpuidle(tmp_path, 0, **{f"S{n}": n for n in range(12)})
    assert find_idle_states([0], tmp_path).read() == {0: tuple(range(12))}


def test_a_stay_that_began_long_before_is_no_longer_than_the_window():
    assert residency({0: (0, 0)}, {0: (60_000_000, 1_000)}, 5000.0) == {0: [5000, 0]}
    assert residency({0: (5,), 1: (5,)}, {0: (2_000_005,)}, 5000.0) == {0: [2000]}


@given(
    st.dictionaries(st.integers(0, 3), st.tuples(*[st.integers(0, 1 << 64)] * 2)),
    st.dictionaries(st.integers(0, 3), st.tuples(*[st.integers(0, 1 << 64)] * 2)),
    st.floats(0, 1e6),
)
def test_the_states_together_never_outlast_the_window(
    before: dict[int, tuple[int, ...]], after: dict[int, tuple[int, ...]], window_ms: float
):
    for spent in residency(before, after, window_ms).values():
        assert window_ms == 0 or sum(spent) <= window_ms + len(spent)
        assert all(0 <= ms < 1 << 32 for ms in spent)
