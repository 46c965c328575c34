"""From a process in a pod's control group to rows under the pod's name: gateway, kubelet, capture, ingestion, query."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine, select

from fleetpb import capture_pb2
from storage.ingest.decode_capture import decode_capture
from storage.ingest.ingest import ingest
from storage.ingest.interning import Interner
from storage.ingest.symbolized import FunctionName, ResolvedFrames, Status
from storage.query.selections import label_names
from storage.query.selections.grammar import parse_matchers
from storage.schema import capture_system, dim_value, label_set, profile
from tests.fake_gateways import packed
from tests.fake_kubelet import POD, UID, A, kubelet, listed, says
from tests.gateway_daemon import (
    DEADLINE_S,
    ask,
    groups_where,
    plan,
    running,
    wait_until,
)
from tests.ingested import archived

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("permitted")]

BUSY = "import sys; print(flush=True); input()\nwhile True: sum(range(10000))"
MOST_CAPTURES = 6
# Beside the real ones of this machine, if it has any.
TOP = f"fleetprof-test-{os.getpid()}"
POD_GROUP = f"{TOP}/kubepods/burstable/pod{UID}/{A}"
UNIT_GROUP = f"{TOP}/system.slice/nightly@7.service"


@pytest.fixture(scope="module")
def hierarchy() -> Iterator[Path]:
    """The mount of version 2 of control groups, where groups can be made; they are gone afterwards."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    root = next((Path(fields[1]) for fields in mounts if fields[2] == "cgroup2"), None)
    if root is None or not os.access(root, os.W_OK):
        pytest.skip("no control groups can be made here")
    try:
        for group in (POD_GROUP, UNIT_GROUP):
            (root / group).mkdir(parents=True)
    except OSError as error:
        pytest.skip(f"no control groups can be made here: {error}")
    yield root
    for folder, _, _ in os.walk(root / TOP, topdown=False):
        Path(folder).rmdir()


@pytest.fixture(scope="module")
def workload(hierarchy: Path) -> Iterator[None]:
    """A busy process in a pod's group and one in a unit's, each moved there before it does anything."""
    started = []
    try:
        for group, given in ((POD_GROUP, {}), (UNIT_GROUP, {"NIGHTLY": "report"})):
            process = subprocess.Popen(
                [sys.executable, "-c", BUSY],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=os.environ | given | {"TEAM": "ads", "PASSWORD": "s3cr3t"},
            )
            started.append(process)
            assert process.stdout is not None
            assert process.stdin is not None
            process.stdout.readline()
            (hierarchy / group / "cgroup.procs").write_text(f"{process.pid}\n")
            process.stdin.write(b"\n")
            process.stdin.flush()
        yield
    finally:
        for process in started:
            process.kill()
            process.communicate(timeout=DEADLINE_S)
        wait_until("the groups are empty", lambda: not _members(hierarchy))


def _members(root: Path) -> str:
    return "".join((root / group / "cgroup.procs").read_text() for group in (POD_GROUP, UNIT_GROUP))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("containers")


def captured(
    options: list[str], folder: Path, enough: Callable[[capture_pb2.Capture], object] = lambda _: True
) -> capture_pb2.Capture:
    """A capture in which both processes were sampled, and that is enough: a kubelet has its length to answer."""
    with running(folder, *options) as daemon, daemon.stub() as stub:
        for _ in range(MOST_CAPTURES):
            capture = ask(stub, plan(seconds=1, rate_hz=99)).capture
            both = all(groups_where(capture, cgroup=f"/{group}") for group in (POD_GROUP, UNIT_GROUP))
            if both and enough(capture):
                return capture
    pytest.fail(f"{MOST_CAPTURES} captures had too little of them")


def labels_of(capture: capture_pb2.Capture, group: str) -> list[dict[str, str]]:
    text = capture.strings
    return [
        {
            text[key]: text[value]
            for key, value in zip(
                capture.groups[number].labels[::2], capture.groups[number].labels[1::2], strict=True
            )
        }
        for number in groups_where(capture, cgroup=f"/{group}")
    ]


def nameless(capture: capture_pb2.Capture) -> ResolvedFrames:
    """What a symbolizer without any files says."""
    frames = len(capture.frames.mapping)
    return ResolvedFrames(
        functions=(FunctionName("f", "f", "", "b", Status.SYMTAB),),
        offsets=np.arange(frames + 1, dtype=np.int64),
        function=np.zeros(frames, np.int32),
        line=np.zeros(frames, np.int32),
        status=np.full(frames, Status.SYMTAB, np.uint8),
    )


@pytest.mark.slow
@pytest.mark.usefixtures("workload")
def test_a_pods_samples_ingest_under_its_applications_name(folder: Path, engine: Engine):
    labels_file = folder / "labels"
    labels_file.write_text("unit nightly@*.service team=data\n")
    [visit_id] = archived(engine)
    with kubelet(says(listed(POD))) as (server, url):
        options = [
            "--kubelet-url", url, "--pod-label", "team", "--env-label", "TEAM", "--env-label", "NIGHTLY=job",
            "--labels-file", str(labels_file), "--container-state", "no",
        ]  # fmt: skip
        named = "k8s.pod.name"
        capture = captured(
            options, folder, lambda taken: any(named in labels for labels in labels_of(taken, POD_GROUP))
        )
        assert {path for path, _ in server.asked} == {"/pods"}
    for labels in labels_of(capture, POD_GROUP):
        assert labels["k8s.pod.name"] == "shop-6f7d9c5b8-x2x9z"
        assert labels["k8s.pod.label.app"] == "shop"
        assert labels["k8s.pod.label.team"] == labels["env.TEAM"] == "ads"
        assert labels["k8s.deployment.name"] == "shop"
    for labels in labels_of(capture, UNIT_GROUP):
        assert labels == {"team": "data", "env.TEAM": "ads", "job": "report"}
    assert b"s3cr3t" not in capture.SerializeToString()
    assert not capture.notes

    capture.visit_id = visit_id.bytes
    message = decode_capture(packed(capture))
    ingest(engine, Interner(engine), visit_id, 1, message, nameless(message))
    with engine.connect() as connection:
        application = (
            select(dim_value.c.value)
            .join(profile, profile.c.application == dim_value.c.value_id)
            .join(label_set, label_set.c.label_set_id == profile.c.label_set_id)
        )
        version = select(dim_value.c.value).join(profile, profile.c.version == dim_value.c.value_id)
        [matcher] = parse_matchers('{k8s.namespace.name="web"}')
        in_web = label_names.condition(connection, matcher)
        assert set(connection.scalars(application.where(in_web))) == {"shop"}
        assert set(connection.scalars(version.where(in_web))) == {"1.2"}
        container = select(dim_value.c.value).join(profile, profile.c.container == dim_value.c.value_id)
        assert set(connection.scalars(container.where(in_web))) == {A}
        [matcher] = parse_matchers('{unit="nightly@7.service"}')
        of_unit = label_names.condition(connection, matcher)
        # The job was given by the environment, and says more than the unit.
        assert set(connection.scalars(application.where(of_unit))) == {"report"}
        state = connection.execute(select(capture_system)).one()
        assert state.logical_cpus == os.cpu_count()
        assert state.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()


@pytest.mark.slow
@pytest.mark.usefixtures("workload")
def test_without_any_option_the_path_alone_says_container_and_unit(folder: Path):
    capture = captured([], folder)
    for labels in labels_of(capture, POD_GROUP):
        assert labels == {"k8s.pod.uid": UID, "k8s.pod.qos_class": "Burstable"}
    (group, *_) = groups_where(capture, cgroup=f"/{POD_GROUP}")
    assert capture.strings[capture.groups[group].container] == A
    (group, *_) = groups_where(capture, cgroup=f"/{UNIT_GROUP}")
    assert capture.strings[capture.groups[group].unit] == "nightly@7.service"


@pytest.mark.slow
@pytest.mark.usefixtures("workload")
def test_a_kubelet_that_is_away_costs_its_names_only(folder: Path):
    with kubelet(says("")) as (_, url):
        pass
    capture = captured(
        ["--kubelet-url", url], folder, lambda taken: any("the kubelet at" in note for note in taken.notes)
    )
    assert all("k8s.pod.name" not in labels for labels in labels_of(capture, POD_GROUP))
