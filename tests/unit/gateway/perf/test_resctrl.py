"""GIVEN resctrl as the kernel shows it WHEN it is read twice THEN the bytes between are by L3, and an error is none."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gateway.perf.resctrl import BytesMoved, package_of_domain, read_moved
from tests.fake_pmu_sysfs import write


def test_each_l3_is_read_and_what_is_unavailable_left_out(tmp_path: Path):
    write(
        tmp_path / "fs/resctrl/mon_data",
        {
            "mon_L3_00/mbm_total_bytes": "1000",
            "mon_L3_01/mbm_total_bytes": "Unavailable",
            "mon_L3_12/mbm_total_bytes": "7",
            "mon_L3_12/llc_occupancy": "5",
            "other/mbm_total_bytes": "9",
        },
    )
    assert read_moved(tmp_path).by_domain == {0: 1000, 12: 7}
    assert read_moved(tmp_path / "none").by_domain == {}


def test_an_l3_is_of_the_socket_of_its_cpus(tmp_path: Path):
    for cpu, (domain, package) in enumerate([(0, 0), (0, 0), (3, 1)]):
        write(
            tmp_path / f"devices/system/cpu/cpu{cpu}",
            {"cache/index3/id": str(domain), "topology/physical_package_id": str(package)},
        )
    assert [package_of_domain(domain, [0, 1, 2], tmp_path) for domain in (0, 3, 9)] == [0, 1, -1]


counts = st.dictionaries(st.integers(0, 5), st.integers(0, 1 << 60), max_size=5)


@given(counts, counts)
def test_what_passed_is_never_negative_nor_of_an_l3_that_was_not_there(
    before: dict[int, int], after: dict[int, int]
):
    passed = BytesMoved(after).since(BytesMoved(before))
    assert passed.keys() <= before.keys() & after.keys()
    assert all(moved == after[domain] - before[domain] >= 0 for domain, moved in passed.items())
