"""The application rule, one row a case."""

from uuid import UUID

import pytest

from fleetpb import capture_pb2
from storage.ingest.process_labels import MAX_LENGTH, derive, thread_family
from tests.synthetic_captures import SyntheticCapture

VISIT = UUID(int=7)
BUILD_ID = bytes.fromhex("0123456789abcdef0123456789abcdef01234567")


def group_of(**fields: str) -> tuple[capture_pb2.Capture, capture_pb2.ProcessGroup]:
    """A group with these strings; `user` is "k=v,k=v"."""
    made = SyntheticCapture(VISIT)
    made.mapping(fields.get("exe", ""), build_id=BUILD_ID)
    user = dict(pair.split("=") for pair in fields.pop("user", "").split(",") if pair)
    made.group(fields.pop("exe", ""), comm=fields.pop("comm", "comm"), **user)
    group = made.message.groups[0]
    group.main_mapping = 1
    for name, value in fields.items():
        setattr(group, name, made.text(value))
    return made.finished()[0], group


@pytest.mark.parametrize(
    ("fields", "application", "version"),
    [
        # The base name of the executable, and the executable's build-id.
        ({"exe": "/usr/sbin/nginx"}, "nginx", BUILD_ID.hex()),
        ({"exe": "/usr/sbin/nginx (deleted)"}, "nginx", BUILD_ID.hex()),
        ({"exe": "", "comm": "mystery"}, "mystery", BUILD_ID.hex()),
        # An interpreter's script says more than the interpreter.
        ({"exe": "/usr/bin/python3.11", "script": "serve.py"}, "serve.py", BUILD_ID.hex()),
        # A unit says more than both, unless it is a shell for whatever runs in it.
        ({"exe": "/usr/sbin/sshd", "unit": "ssh.service"}, "ssh", BUILD_ID.hex()),
        ({"exe": "/usr/lib/postgres", "unit": "postgresql@15-main.service"}, "postgresql", BUILD_ID.hex()),
        ({"exe": "/usr/bin/python3", "script": "job.py", "unit": "cron.service"}, "job.py", BUILD_ID.hex()),
        ({"exe": "/usr/bin/bash", "unit": "user@1000.service"}, "bash", BUILD_ID.hex()),
        ({"exe": "/usr/bin/bash", "unit": "session-12.scope"}, "bash", BUILD_ID.hex()),
        # Kubernetes says more than the unit.
        ({"exe": "/app", "unit": "containerd.service", "user": "app=shop,version=1.2"}, "shop", "1.2"),
        (
            {
                "exe": "/app",
                "user": "app.kubernetes.io/name=shop,app.kubernetes.io/version=3,app=other,version=9",
            },
            "shop",
            "3",
        ),
        ({"exe": "/app", "user": "io.kubernetes.container.name=sidecar"}, "sidecar", BUILD_ID.hex()),
        # As gateways send it: the pod's labels, else the container's name; its image's tag is a version.
        (
            {
                "exe": "/app",
                "user": "k8s.pod.label.app=shop,k8s.pod.label.version=1.2,k8s.container.name=main,container.image.tags=9",
            },
            "shop",
            "1.2",
        ),
        ({"exe": "/app", "user": "k8s.pod.label.app=shop,container.image.tags=9"}, "shop", "9"),
        (
            {"exe": "/app", "user": "k8s.pod.label.app=shop,container.image.tags=latest"},
            "shop",
            BUILD_ID.hex(),
        ),
        (
            {"exe": "/app", "user": "k8s.container.name=main,container.name=x,container.image.tags=9"},
            "main",
            "9",
        ),
        ({"exe": "/app", "unit": "x.service", "user": "container.name=web-1"}, "web-1", BUILD_ID.hex()),
        ({"exe": "/app", "user": "env.application=no,k8s.pod.label.team=no"}, "app", BUILD_ID.hex()),
        # Job metadata say more than all of them.
        (
            {"exe": "/app", "unit": "x.service", "user": "application=search,version=r7,app=pod"},
            "search",
            "r7",
        ),
        ({"exe": "/app", "user": "job=nightly"}, "nightly", BUILD_ID.hex()),
        # The version is of the source that named the application, never of another.
        ({"exe": "/app", "user": "app.kubernetes.io/name=shop,version=9"}, "shop", BUILD_ID.hex()),
    ],
)
def test_the_first_source_that_applies_names_application_and_version(
    fields: dict[str, str], application: str, version: str
) -> None:
    labels = derive(*group_of(**fields))
    assert (labels.application, labels.version) == (application, version)


def test_the_rest_is_kept_beside() -> None:
    labels = derive(
        *group_of(exe="/opt/app", comm="app-main", unit="app.service", container="c0ffee", user="team=ads")
    )
    assert (labels.image, labels.build_id, labels.container) == ("app", BUILD_ID.hex(), "c0ffee")
    assert labels.others == {"comm": "app-main", "team": "ads", "unit": "app.service"}


@pytest.mark.parametrize(
    ("user", "job"),
    [
        ("job=nightly,k8s.job.name=x", "nightly"),
        ("k8s.job.name=report-28912345,k8s.cronjob.name=report", "report"),
        ("k8s.job.name=import", "import"),
        ("k8s.pod.label.batch.kubernetes.io/job-name=import", "import"),
        ("k8s.pod.name=x", ""),
    ],
)
def test_the_job_is_the_one_that_stays_the_same_from_day_to_day(user: str, job: str) -> None:
    assert derive(*group_of(exe="/app", user=user)).job == job


def test_what_has_a_column_of_its_own_is_not_a_label_too() -> None:
    labels = derive(*group_of(exe="/app", user="application=a,version=1,job=j,machine=m,team=ads"))
    assert (labels.application, labels.version, labels.job) == ("a", "1", "j")
    assert labels.others == {"comm": "comm", "team": "ads"}


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        ({"cgroup": "/build/42"}, True),
        ({"cgroup": "/"}, False),
        ({"cgroup": "/system.slice/x.service", "unit": "x.service"}, False),
        ({"cgroup": "/kubepods/podab/c0ffee", "container": "c0ffee"}, False),
    ],
)
def test_a_control_group_is_kept_only_where_nothing_says_it_better(
    fields: dict[str, str], kept: bool
) -> None:
    assert ("cgroup" in derive(*group_of(exe="/app", **fields)).others) is kept


@pytest.mark.parametrize(
    ("comm", "family"),
    [
        ("kworker/0:1", "kworker"),
        ("kworker/u8:2-events_unbound", "kworker"),
        ("ksoftirqd/3", "ksoftirqd"),
        ("migration/11", "migration"),
        ("irq/24-nvme0q1", "irq"),
        ("jbd2/vda1-8", "jbd2"),
        ("kswapd0", "kswapd"),
        ("scsi_eh_1", "scsi_eh"),
        ("kdamond.0", "kdamond"),
        ("rcu_preempt", "rcu_preempt"),
        ("ext4-rsv-conver", "ext4-rsv-conver"),
        ("kthreadd", "kthreadd"),
        ("0:1", "0:1"),
        ("", ""),
    ],
)
def test_kernel_threads_are_named_by_what_they_share(comm: str, family: str) -> None:
    assert thread_family(comm) == family


def test_two_kernel_threads_of_a_family_have_equal_labels() -> None:
    made = SyntheticCapture(VISIT)
    made.kernel_thread("kworker/0:1")
    made.kernel_thread("kworker/1:0-events")
    message, _ = made.finished()
    first, second = (derive(message, group) for group in message.groups)
    assert first == second
    assert (first.application, first.version, first.image) == ("[kworker]", "6.18.0", "")


def test_what_the_store_cannot_hold_is_cut() -> None:
    labels = derive(*group_of(exe="/bin/" + "x" * 5000, comm="a\0b"))
    assert len(labels.application) == MAX_LENGTH
    assert labels.others["comm"] == "a�b"
