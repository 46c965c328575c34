"""Paths of control groups as managers make them."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.containers.placement import Placement, parse_cgroup

A = "0123456789abcdef" * 4
B = "f" * 64
UID = "1f3b7a12-9c2e-4a57-8a0f-3c2b1d4e5f60"
SLICE = UID.replace("-", "_")
STATIC = "0123456789abcdef0123456789abcdef"
KIND = f"/system.slice/docker-{B}.scope/kubelet.slice/kubelet-kubepods.slice"
USER = "/user.slice/user-1000.slice/user@1000.service"
OF_THE_USER = Placement(unit="user@1000.service")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        # docker, nerdctl, podman
        (f"/docker/{A}", Placement(A, "docker")),
        (f"/system.slice/docker-{A}.scope", Placement(A, "docker")),
        (f"/system.slice/nerdctl-{A}.scope", Placement(A, "containerd")),
        (f"/machine.slice/libpod-{A}.scope", Placement(A, "podman")),
        (f"/machine.slice/libpod-{A}.scope/container", Placement(A, "podman")),
        (f"/machine.slice/libpod-payload-{A}/container", Placement(A, "podman")),
        (f"/libpod_parent/libpod-{A}", Placement(A, "podman")),
        # what watches over a container is none
        (f"/machine.slice/libpod-conmon-{A}.scope", Placement(unit=f"libpod-conmon-{A}.scope")),
        (f"/kubepods.slice/kubepods-pod{SLICE}.slice/crio-conmon-{A}.scope",
         Placement(pod_uid=UID, qos="Guaranteed", unit=f"crio-conmon-{A}.scope")),
        # Kubernetes, cgroupfs driver
        (f"/kubepods/burstable/pod{UID}/{A}", Placement(A, "", "", UID, "Burstable")),
        (f"/kubepods/besteffort/pod{UID}/{A}", Placement(A, "", "", UID, "BestEffort")),
        (f"/kubepods/pod{UID}/{A}", Placement(A, "", "", UID, "Guaranteed")),
        (f"/kubepods/pod{STATIC}/{A}", Placement(A, "", "", STATIC, "Guaranteed")),
        (f"/kubepods/burstable/pod{UID}/crio-{A}", Placement(A, "cri-o", "", UID, "Burstable")),
        (f"/kubepods/pod{UID}", Placement(pod_uid=UID, qos="Guaranteed")),
        # Kubernetes, systemd driver
        (f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{SLICE}.slice/cri-containerd-{A}.scope",
         Placement(A, "containerd", "", UID, "Burstable")),
        (f"/kubepods.slice/kubepods-pod{SLICE}.slice/crio-{A}.scope/container",
         Placement(A, "cri-o", "", UID, "Guaranteed")),
        (f"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{STATIC}.slice/docker-{A}.scope",
         Placement(A, "docker", "", STATIC, "BestEffort")),
        (f"/system.slice/containerd.service/kubepods-burstable-pod{SLICE}.slice:cri-containerd:{A}",
         Placement(A, "containerd", "", UID, "Burstable")),
        # a container in a container: what the outer one makes are names it chose (kind, docker in docker)
        (f"/docker/{B}/kubelet/kubepods/burstable/pod{UID}/{A}", Placement(B, "docker")),
        (f"{KIND}/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod{SLICE}.slice/cri-containerd-{A}.scope",
         Placement(B, "docker")),
        (f"/docker/{A}/docker/{B}", Placement(A, "docker")),
        (f"/kubepods/burstable/pod{UID}/{A}/docker/{B}", Placement(A, "", "", UID, "Burstable")),
        (f"/kubepods/burstable/pod{UID}/{A}/kubepods/pod{STATIC}/{B}", Placement(A, "", "", UID, "Burstable")),
        (f"/docker/{A}/ecs/{STATIC}/{B}", Placement(A, "docker")),
        # systemd within a container
        (f"/system.slice/docker-{B}.scope/system.slice/nginx.service", Placement(B, "docker", unit="nginx.service")),
        (f"/docker/{A}/init.scope", Placement(A, "docker", unit="init.scope")),
        # seen from a control group namespace
        (f"/../cri-containerd-{A}.scope", Placement(A, "containerd")),
        (f"/../../kubepods-burstable-pod{SLICE}.slice/cri-containerd-{A}.scope",
         Placement(A, "containerd", "", UID, "Burstable")),
        (f"/../../pod{UID}/{A}", Placement(A, "", "", UID)),
        (f"/../{A}", Placement(A)),
        # kata, docker in an LXC container
        (f"/kubepods/burstable/pod{UID}/kata_{A}", Placement(A, "", "", UID, "Burstable")),
        (f"/lxc/105/ns/docker/{A}", Placement(runtime="lxc", name="105")),
        (f"/docker/{A}/lxc/105", Placement(A, "docker")),
        # ECS
        (f"/ecs/{STATIC}/{A}", Placement(A, "docker", ecs_task=STATIC)),
        (f"/ecs/{UID}/{A}", Placement(A, "docker", ecs_task=UID)),
        (f"/ecs/cluster/{STATIC}/{A}", Placement(A, "", ecs_task=STATIC)),
        (f"/ecs/{STATIC}/{STATIC}-1234567890", Placement(f"{STATIC}-1234567890", ecs_task=STATIC)),
        (f"/ecstasks.slice/ecstasks-{STATIC}.slice/docker-{A}.scope", Placement(A, "docker", ecs_task=STATIC)),
        # system containers
        ("/lxc.payload.web1", Placement(runtime="lxc", name="web1")),
        ("/lxc/web1/system.slice/nginx.service", Placement(runtime="lxc", name="web1", unit="nginx.service")),
        ("/lxc.payload/web1", Placement(runtime="lxc", name="web1")),
        ("/machine.slice/machine-web1.scope/payload/system.slice/x.service",
         Placement(runtime="systemd-nspawn", name="web1", unit="x.service")),
        ("/machine.slice/systemd-nspawn@web1.service", Placement(runtime="systemd-nspawn", name="web1")),
        # systemd
        ("/system.slice/ssh.service", Placement(unit="ssh.service")),
        ("/system.slice/system-postgresql.slice/postgresql@15-main.service",
         Placement(unit="postgresql@15-main.service")),
        ("/system.slice/nginx.service/worker", Placement(unit="nginx.service")),
        ("/system.slice/_cgroup.service", Placement(unit="cgroup.service")),
        ("/system.slice/ci.service/nginx.service", Placement(unit="ci.service")),
        # what a user's manager, or the user himself, made: any name
        (USER, OF_THE_USER),
        (f"{USER}/init.scope", OF_THE_USER),
        (f"{USER}/app.slice/app-x.service", OF_THE_USER),
        (f"{USER}/app.slice/nginx.service", OF_THE_USER),
        (f"{USER}/app.slice/cri-containerd-{A}.scope", OF_THE_USER),
        (f"{USER}/user.slice/libpod-{A}.scope/container", OF_THE_USER),
        (f"{USER}/kubepods/burstable/pod{UID}/{A}", OF_THE_USER),
        (f"{USER}/ecs/{STATIC}/{STATIC}-1234567890", OF_THE_USER),
        (f"{USER}/lxc/web1", OF_THE_USER),
        (f"/lxc.payload.web1{USER}/kubepods/pod{UID}/{A}", Placement(runtime="lxc", name="web1", unit="user@1000.service")),
        ("/user.slice/user-1000.slice/session-3.scope", Placement(unit="session-3.scope")),
        ("/system.slice/dev-hugepages\\x2d1.service", Placement(unit="dev-hugepages\\x2d1.service")),
        # nothing that is known
        (f"/user.slice/{A}0", Placement()),
        (f"/user.slice/{A[:-1]}", Placement()),
        (f"/user.slice/{A.upper()}", Placement()),
        (f"/system.slice/x{A}.service", Placement(unit=f"x{A}.service")),
        ("/kubepods/besteffort", Placement()),
        ("/kubepods/podx", Placement()),
        ("/slurm/uid_1000/job_7/step_0", Placement()),
        ("/.service/.scope", Placement()),
        ("/", Placement()),
        ("", Placement()),
    ],
)  # fmt: skip
def test_what_a_path_says(path: str, expected: Placement):
    assert parse_cgroup(path) == expected


PIECES = st.sampled_from(
    ["/", "kubepods", ".slice", "-", "pod", UID, SLICE, A, B, "docker", ":", "cri-containerd", ".scope", "burstable",
     "ecs", STATIC, "lxc", "..", ".service", "_", "machine-", "\\x2d", "é", "\n"]
)  # fmt: skip


@given(st.text(max_size=200) | st.lists(PIECES, max_size=30).map("".join))
def test_any_path_says_something_or_nothing(path: str):
    found = parse_cgroup(path)
    assert found.container == "" or found.container in path
    assert found.qos in {"", "Guaranteed", "Burstable", "BestEffort"}
    assert found.qos == "" or found.pod_uid
    assert found.unit == "" or found.unit in path
    assert "/" not in found.name + found.unit + found.container


@given(st.sampled_from([A, B]), st.lists(st.sampled_from(["a", "b.slice", "c.scope", "d"]), max_size=5))
def test_a_container_is_found_below_anything(container: str, above: list[str]):
    path = "/".join(["", *above, f"docker-{container}.scope"])
    assert parse_cgroup(path) == Placement(container, "docker")


@given(
    st.lists(PIECES, max_size=20).map("".join), st.sampled_from([USER, f"/docker/{A}", "/lxc.payload.web1"])
)
def test_nobody_names_himself_after_others_by_groups_of_his_own(made: str, own: str):
    found, expected = parse_cgroup(f"{own}/{made}"), parse_cgroup(own)
    unit = found.unit if own != USER else expected.unit
    assert found == dataclasses.replace(expected, unit=unit)


def test_a_path_of_many_folders_of_ecs_is_read_once():
    """In seconds, not hours: each folder was tried with each part."""
    assert parse_cgroup("/ecs" * 200_000) == Placement()


def test_a_path_made_to_be_slow_is_not():
    """Every expression is linear in the path: these are the shapes that would not be."""
    for shape in (
        "-" * 4096,
        "a-" * 2048,
        "/ecs/" + "a/" * 2000,
        "/pod" * 1000,
        f"/x-{A}" * 60,
        "/lxc/" + "a" * 4000,
    ):
        parse_cgroup(shape)
