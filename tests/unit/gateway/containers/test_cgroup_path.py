"""The choice among the hierarchies of /proc/PID/cgroup."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.containers.cgroup_path import choose_cgroup

A = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("text", "path"),
    [
        # version 2 is preferred
        ("1:name=systemd:/old\n0::/system.slice/x.service\n", "/system.slice/x.service"),
        # where version 2 has everything at its root, version 1 says more
        (f"12:cpu,cpuacct:/docker/{A}/deeper\n1:name=systemd:/docker/{A}\n0::/\n", f"/docker/{A}"),
        ("3:cpu:/a\n2:memory:/a/b\n", "/a/b"),
        ("", ""),
        ("0::/\n", "/"),
        ("0::/a:b\n", "/a:b"),
        # seen from a namespace, a removed group, a name with a line's end in it
        ("0::/../sibling.scope\n", "/../sibling.scope"),
        ("0::/system.slice/x.service (deleted)\n", "/system.slice/x.service"),
        ("0::/" + "x" * 5000, ""),
        ("0::relative", ""),
        ("nonsense", ""),
    ],
)
def test_the_path_that_says_most(text: str, path: str):
    assert choose_cgroup(text) == path


@given(
    st.text(max_size=300)
    | st.lists(st.sampled_from(["0:", ":", "/", "a", "\n", "name=systemd", " (deleted)"])).map("".join)
)
def test_any_text_has_a_path_or_none(text: str):
    path = choose_cgroup(text)
    assert path == "" or (path.startswith("/") and path in text)
