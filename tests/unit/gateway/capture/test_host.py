"""GIVEN a machine that cannot be sampled WHEN the gateway starts THEN one sentence says why and what to run."""

import errno
from pathlib import Path

import pytest

from gateway.capture import host
from gateway.capture.host import Access, find_access, refusal, require_supported
from gateway.errors import EventUnavailable, UnsafeAddress, UnsupportedHost
from gateway.serving.listeners import require_private
from gateway.settings import Limits, OwnProcesses, Settings, TcpAddress, UnixAddress, parse_address

AUTO, ALWAYS, NEVER = OwnProcesses.AUTO, OwnProcesses.ALWAYS, OwnProcesses.NEVER


@pytest.mark.parametrize(
    ("uname", "says"),
    [
        (("Darwin", "23.1.0", "arm64"), "this system is Darwin"),
        (("Linux", "4.4.0-generic", "x86_64"), "needs Linux 4.8 or newer; this is 4.4.0-generic"),
        (("Linux", "6.18.0", "aarch64"), "this machine is aarch64"),
    ],
)
def test_an_unsupported_host_is_named(uname: tuple[str, str, str], says: str):
    with pytest.raises(UnsupportedHost, match=says):
        require_supported(*uname)


@pytest.mark.parametrize("release", ["4.8.0", "5.10.0-8-amd64", "6.18.44", "10.0"])
def test_a_supported_host_passes(release: str):
    require_supported("Linux", release, "x86_64")


@pytest.mark.parametrize(
    ("machine", "own", "wanted", "access"),
    [
        (0, 0, AUTO, Access.MACHINE),
        (errno.EACCES, 0, AUTO, Access.OWN),
        (0, 0, ALWAYS, Access.OWN),
        (0, 0, NEVER, Access.MACHINE),
        (errno.EACCES, 0, NEVER, None),
        (errno.EACCES, errno.EACCES, AUTO, None),
        (errno.ENOSYS, errno.ENOSYS, AUTO, None),
    ],
)
def test_access_is_what_the_kernel_permits(
    monkeypatch: pytest.MonkeyPatch, machine: int, own: int, wanted: OwnProcesses, access: Access | None
):
    monkeypatch.setattr(host, "probe", lambda event, *, own: codes[own])
    codes = {False: machine, True: own}
    if access:
        assert find_access(wanted) is access
    else:
        with pytest.raises(EventUnavailable):
            find_access(wanted)


@pytest.mark.parametrize(
    ("code", "paranoid", "wanted", "says"),
    [
        (
            errno.EACCES,
            4,
            AUTO,
            "allow a user to sample own processes: sudo sysctl kernel.perf_event_paranoid=2",
        ),
        (errno.EPERM, 3, ALWAYS, "sudo sysctl kernel.perf_event_paranoid=2"),
        (errno.EACCES, 4, NEVER, "sudo setcap cap_perfmon"),
        (errno.EPERM, 1, AUTO, "a seccomp profile that allows it"),
        (errno.ENOSYS, 2, AUTO, "a seccomp profile that allows it"),
        (errno.ENOENT, 2, AUTO, "perf_event_open: No such file or directory"),
        (errno.ENOSYS, None, AUTO, "perf_event_open: Function not implemented"),
    ],
)
def test_a_refusal_names_the_one_command(code: int, paranoid: int | None, wanted: OwnProcesses, says: str):
    sentence = refusal(code, paranoid, wanted)
    assert says in sentence
    assert sentence.count("sudo") <= 1


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("unix:/run/gateway.sock", UnixAddress(Path("/run/gateway.sock"))),
        ("0.0.0.0:7411", TcpAddress("0.0.0.0", 7411)),
        ("[::1]:0", TcpAddress("::1", 0)),
        ("gw.example.com:443", TcpAddress("gw.example.com", 443)),
    ],
)
def test_addresses(text: str, address: UnixAddress | TcpAddress):
    assert parse_address(text) == address
    assert str(address) == text


@pytest.mark.parametrize("text", ["", "unix:relative.sock", "host", ":80", "host:", "host:x", "host:65536"])
def test_addresses_that_are_none(text: str):
    with pytest.raises(ValueError, match="must be"):
        parse_address(text)


def test_an_open_address_without_tls_cannot_be_set():
    with pytest.raises(UnsafeAddress, match="mutual TLS"):
        Settings((TcpAddress("127.0.0.1", 7411),), None, Limits(), AUTO, (), 60.0)


def test_a_folder_for_the_socket_is_ours_alone(tmp_path: Path):
    tmp_path.chmod(0o755)
    require_private(tmp_path)
    tmp_path.chmod(0o770)
    with pytest.raises(UnsafeAddress, match="other users can write"):
        require_private(tmp_path)
    with pytest.raises(UnsafeAddress, match="mkdir -m 0700 -p"):
        require_private(tmp_path / "missing")
