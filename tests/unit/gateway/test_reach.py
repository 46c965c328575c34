"""GIVEN the gateway's sources WHEN they reach out of it THEN they do so in the few modules that are made for it."""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

GATEWAY: Final = Path(__file__).parents[3] / "gateway"

FILE_CALLS: Final = frozenset(
    {
        "open",
        "read_text",
        "read_bytes",
        "write_text",
        "write_bytes",
        "fdopen",
        "stat",
        "lstat",
        "exists",
        "lexists",
        "is_file",
        "is_dir",
        "isfile",
        "isdir",
        "is_socket",
        "is_fifo",
        "is_symlink",
        "samefile",
        "realpath",
        "resolve",
        "access",
        "walk",
        "iterdir",
        "scandir",
        "listdir",
        "glob",
        "rglob",
        "statvfs",
        "load_cert_chain",
        "load_verify_locations",
        "rmtree",
        "copy2",
        "copyfile",
        "copytree",
    }
)
CONNECTING: Final = frozenset(
    {
        "connect",
        "connect_ex",
        "create_connection",
        "urlopen",
        "HTTPConnection",
        "HTTPSConnection",
        "insecure_channel",
        "secure_channel",
        "sendto",
        "sendmsg",
        "open_connection",
        "getaddrinfo",
        "gethostbyname",
    }
)
NO_FILES: Final = frozenset({"_images", "_kernel", "_walker", "hierarchy"})
"""Objects of the gateway whose methods have the names of calls on files."""
BELOW_PROC: Final = "it reads what the kernel tells, below a /proc or /sys that tests replace"
ALLOWED: Final = {
    "process/untrusted_file.py": "it is the one way to files of others",
    "shared_memory.py": "it keeps the gateway's own counts, in a file that must be the gateway's own user's",
    "serving/runtime_folder.py": "it makes the gateway's own folder and looks for those of its own user",
    "serving/listeners.py": "it looks at the socket that the operator named, and its folder, before it listens",
    "serving/tls.py": "it reads the operator's certificates and keys",
    "options.py": "it looks whether files that the operator named can be read",
    "runtimes/python/programs.py": "it reads the object beside it in the package, and the kernel's lockdown state",
    "containers/runtime_state.py": "it lists the folder of containerd, which is root's",
    "machine/virtualization.py": "it reads a device of the kernel's, and looks for marks that root or a runtime left",
    **dict.fromkeys(
        {
            "capture/host.py",
            "capture/quota.py",
            "capture/source_frames.py",
            "doctor/node_facts.py",
            "jit/map_file.py",
            "machine/kernel_map.py",
            "machine/kernel_files.py",
            "machine/cpu_usage.py",
            "perf/uncore.py",
            "perf/cgroup_hierarchy.py",
            "perf/resctrl.py",
            "process/thread_lists.py",
            "perf/cpu_models.py",
            "perf/event_sources.py",
            "perf/tracefs.py",
            "privileges/capabilities.py",
            "process/file_systems.py",
            "runtimes/bpf/kernel_types.py",
        },
        BELOW_PROC,
    ),
}
LEADING_ELSEWHERE: Final = ("/root", "/cwd", "/exe", "/fd/", "/map_files/")
"""Of /proc/PID: what lies behind is not the kernel's."""


def name_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def opens(call: ast.Call) -> bool:
    """Whether it is a call on a file that is not, by its text alone, one of the kernel's own."""
    if name_of(call) not in FILE_CALLS:
        return False
    if isinstance(call.func, ast.Name) and call.func.id != "open":
        return False  # a function of the gateway's own, in a module that is looked at too
    if isinstance(call.func, ast.Attribute):
        receiver = call.func.value
        if isinstance(receiver, ast.Call) and name_of(receiver) == "Path":
            call = receiver
        elif getattr(receiver, "attr", getattr(receiver, "id", "")) in NO_FILES:
            return False
    return not (call.args and is_the_kernels(call.args[0]))


def is_the_kernels(path: ast.expr) -> bool:
    pieces = path.values if isinstance(path, ast.JoinedStr) else [path]
    text = "".join(str(piece.value) if isinstance(piece, ast.Constant) else "{}" for piece in pieces)
    return text.startswith(("/proc/", "/sys/")) and not any(part in text for part in LEADING_ELSEWHERE)


def connects(call: ast.Call) -> bool:
    return name_of(call) in CONNECTING


def found(wanted: Callable[[ast.Call], bool], source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and wanted(node):
            yield f"line {node.lineno}: {ast.unparse(node)}"


def in_modules(wanted: Callable[[ast.Call], bool]) -> dict[str, list[str]]:
    modules = {
        path.relative_to(GATEWAY).as_posix(): list(found(wanted, path.read_text()))
        for path in GATEWAY.rglob("*.py")
    }
    return {module: calls for module, calls in modules.items() if calls}


def test_files_of_others_are_opened_by_one_module():
    """What another user owns or chooses goes through `untrusted_file`; a module that opens its own files says here why."""
    assert {module: calls for module, calls in in_modules(opens).items() if module not in ALLOWED} == {}


def test_each_module_that_may_open_files_does():
    assert set(ALLOWED) - set(in_modules(opens)) == set()


@pytest.mark.parametrize(
    ("source", "is_one"),
    [
        ("open(path)", True),
        ("os.open(path, os.O_RDONLY)", True),
        ("self._path.open('rb')", True),
        ("Path(name).read_text()", True),
        ("os.path.exists(root + path)", True),
        ("open(f'/proc/{pid}/root/etc/passwd')", True),
        ("os.open(f'/proc/{pid}/map_files/{start:x}-{end:x}', flags)", True),
        ("os.open('/tmp/x', 0)", True),
        ("open('/proc/self/mountinfo')", False),
        ("Path(f'/proc/{pid}/stat').open('rb')", False),
        ("self._images.open(pid, vma)", False),
        ("read_text(f'{sys}/devices')", False),
        ("os.pread(descriptor, 1, 0)", False),
    ],
)
def test_what_counts_as_opening(source: str, is_one: bool):
    assert bool(list(found(opens, source))) is is_one


def test_connections_are_made_to_a_kubelet_and_to_the_gateways_own_sockets():
    """Of a Unix socket `str` makes the path; an address of the network is a tuple."""
    calls = in_modules(connects)
    calls.pop("containers/kubelet.py")
    own = {module: [call.partition(": ")[2] for call in made] for module, made in calls.items()}
    assert own == {
        "serving/connections.py": ["server.connect(str(pending.inner))"],
        "serving/listeners.py": ["probe.connect(str(path))"],
    }
