"""What operators may write into options."""

from pathlib import Path

import pytest

from gateway.containers.label_settings import Kubelet, parse_environment_label, parse_kubelet, parse_pod_label


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("TEAM", ("TEAM", "env.TEAM")),
        ("SLURM_JOB_NAME=job", ("SLURM_JOB_NAME", "job")),
        ("A=k8s.pod.label.x/y", ("A", "k8s.pod.label.x/y")),
    ],
)
def test_variables(text: str, pair: tuple[str, str]):
    assert parse_environment_label(text) == pair


@pytest.mark.parametrize("text", ["", "=", "A=", "1A", "A-B", "A=b c", "A=1", "*", "A=" + "x" * 200, "A\0"])
def test_what_is_no_variable_or_label(text: str):
    with pytest.raises(ValueError, match=r"must be the name|begin with a letter"):
        parse_environment_label(text)


@pytest.mark.parametrize("text", ["team", "example.com/team", "app.kubernetes.io/part-of"])
def test_labels_of_pods(text: str):
    assert parse_pod_label(text) == text


@pytest.mark.parametrize("text", ["", "*", "a/b/c", "-a", "a b", "a" * 64])
def test_what_is_no_label_of_pods(text: str):
    with pytest.raises(ValueError, match="must be the key"):
        parse_pod_label(text)


@pytest.mark.parametrize(
    ("url", "kubelet"),
    [
        ("http://127.0.0.1:10255", Kubelet(False, "127.0.0.1:10255", "/pods")),
        ("http://127.0.0.1:10255/", Kubelet(False, "127.0.0.1:10255", "/pods")),
        ("https://node-1.example:10250/pods/", Kubelet(True, "node-1.example:10250", "/pods/")),
        ("https://[::1]:10250", Kubelet(True, "[::1]:10250", "/pods")),
    ],
)
def test_urls(url: str, kubelet: Kubelet):
    assert parse_kubelet(url, None, None) == kubelet


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:10255",
        "ftp://x",
        "http://user:pw@host",
        "http://h:99999",
        "http://h/ x",
        "file:///etc/passwd",
    ],
)
def test_what_is_no_url_of_a_kubelet(url: str):
    with pytest.raises(ValueError, match=r"must be http|at most"):
        parse_kubelet(url, None, None)


@pytest.mark.parametrize(("token", "authority"), [(Path("t"), None), (None, Path("ca"))])
def test_secrets_without_tls_are_refused(token: Path | None, authority: Path | None):
    with pytest.raises(ValueError, match="without TLS"):
        parse_kubelet("http://127.0.0.1:10255", token, authority)
