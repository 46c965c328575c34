"""All sources together: who counts over whom, and what is said when one fails."""

from pathlib import Path

from gateway.containers.label_settings import NO_LABELS, LabelSettings, parse_kubelet
from gateway.containers.label_sources import MAX_LABELS, LabelSources
from tests.fake_kubelet import POD, UID, A, kubelet, listed, says
from tests.fake_sysfs import write

DEADLINE_S = 20.0

POD_GROUP = f"/kubepods/burstable/pod{UID}/{A}"


def answered(names: LabelSources) -> None:
    names.begin()
    assert names._kubelet is not None
    assert names._kubelet.wait(DEADLINE_S)


def test_without_any_source_the_path_says_what_it_can():
    group = LabelSources(NO_LABELS).finish()
    assert dict(group.labels(POD_GROUP, ())) == {"k8s.pod.qos_class": "Burstable", "k8s.pod.uid": UID}
    assert dict(group.labels("/lxc/web1", ())) == {"container.name": "web1", "container.runtime": "lxc"}
    assert group.labels("", ()) == ()
    assert group.notes() == []


def test_later_sources_count_over_earlier_ones(tmp_path: Path):
    write(
        tmp_path,
        f"var/lib/docker/containers/{A}/config.v2.json",
        '{"Name": "/by-docker", "Config": {"Image": "i:1"}}',
    )
    file = tmp_path / "labels"
    file.write_text(f"container {A} k8s.namespace.name=by-file application=by-file\n")
    with kubelet(says(listed(POD))) as (_, url):
        names = LabelSources(
            LabelSettings(file, parse_kubelet(url, None, None), (), (("APP", "application"),), tmp_path)
        )
        answered(names)
    labels = dict(
        names.finish().labels(POD_GROUP, (("application", "by-environment"), ("container.name", "by-env")))
    )
    assert labels["application"] == "by-file"
    assert labels["k8s.namespace.name"] == "by-file"
    assert labels["container.name"] == "by-env"
    assert labels["container.image.tags"] == "1.2"
    assert labels["k8s.pod.label.app"] == "shop"
    assert "k8s.pod.uid" not in labels


def test_two_processes_of_one_group_have_their_own_labels():
    group = LabelSources(NO_LABELS).finish()
    assert dict(group.labels("/a", (("env.X", "1"),))) == {"env.X": "1"}
    assert dict(group.labels("/a", (("env.X", "2"),))) == {"env.X": "2"}
    assert dict(group.labels("/a", ())) == {}


def test_a_process_of_a_pod_outside_its_containers_is_named_by_the_pod():
    with kubelet(says(listed(POD))) as (_, url):
        names = LabelSources(LabelSettings(kubelet=parse_kubelet(url, None, None)))
        answered(names)
    labels = dict(names.finish().labels(f"/kubepods/burstable/pod{UID}", ()))
    assert labels["k8s.pod.name"] == "shop-6f7d9c5b8-x2x9z"
    assert "k8s.container.name" not in labels


def test_a_kubelet_that_fails_is_a_note_only_where_pods_run(tmp_path: Path):
    with kubelet(says("", 401)) as (_, url):
        names = LabelSources(LabelSettings(tmp_path / "none", kubelet=parse_kubelet(url, None, None)))
        answered(names)
    group = names.finish()
    group.labels("/system.slice/x.service", ())
    (note,) = group.notes()
    assert note.startswith("labels file: ")
    group.labels(POD_GROUP, ())
    assert [note.startswith("the kubelet at") for note in group.notes()] == [False, True]


def test_a_bad_line_of_the_labels_file_is_a_note(tmp_path: Path):
    file = tmp_path / "labels"
    file.write_text("nonsense\n")
    (note,) = LabelSources(LabelSettings(file)).finish().notes()
    assert note.startswith("labels file: line 1: ")


def test_labels_are_bounded(tmp_path: Path):
    file = tmp_path / "labels"
    file.write_text("".join(f"cgroup /a l{n}=x\n" for n in range(200)))
    assert len(LabelSources(LabelSettings(file)).finish().labels("/a", ())) == MAX_LABELS
