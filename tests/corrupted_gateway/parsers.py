"""Every parser of the gateway, with sound input of its kind."""

import contextlib
import os
import random
import struct
from pathlib import Path

from gateway.containers.cgroup_path import choose_cgroup
from gateway.containers.labels_file import parse_labels_file
from gateway.containers.placement import parse_cgroup
from gateway.containers.pods import parse_pods
from gateway.containers.process_environment import parse_environment
from gateway.errors import GatewayError
from gateway.machine.cpu_usage import parse_stat
from gateway.machine.frequency import parse_cpuinfo
from gateway.machine.kernel_map import build_id_of_notes
from gateway.machine.meminfo import parse_meminfo
from gateway.machine.pressure import parse_pressure
from gateway.machine.topology import parse_cpu_list
from gateway.perf.cgroup_hierarchy import parse_mounts
from gateway.perf.event_names import parse_event_name
from gateway.perf.records import FLAT, STACKS
from gateway.perf.sysfs_formats import parse_format, parse_id, parse_scale, parse_unit
from gateway.process import mounts
from gateway.process.images import own_vdso
from gateway.process.maps import parse_maps
from gateway.process.script_names import script_name
from gateway.unwind.elf import read_layout
from gateway.unwind.frameless import return_address_words
from gateway.unwind.machine_code import plt_words
from tests.corrupted_gateway.damage import Parser
from tests.corrupted_gateway.hotspot import jvm_memory, jvm_tables
from tests.corrupted_gateway.perf import read_record, read_ring, sound_records
from tests.corrupted_gateway.symbols import KALLSYMS, MAPS, check_sound, read_kallsyms, read_perf_map
from tests.corrupted_gateway.unwinding import (
    EXPRESSIONS,
    read_entries,
    read_expression,
    read_small_elf,
    read_unwind_table,
    reader,
    walk,
    without_index,
)

GOLDEN = Path(__file__).parents[1] / "golden/gateway" / "frames.elf"


def parsers(folder: Path) -> dict[str, Parser]:
    """All of them by name."""
    elf = [GOLDEN.read_bytes(), own_vdso(), Path("/lib64/ld-linux-x86-64.so.2").read_bytes()[: 256 << 10]]
    golden = GOLDEN.read_bytes()
    tables = golden[0x1158:0x12DC]  # its .eh_frame
    records = sound_records()
    status = Path("/proc/self/status").read_bytes()
    return {
        "perf record, stacks": Parser(records, lambda data, _: read_record(data, STACKS)),
        "perf record, flat": Parser(records, lambda data, _: read_record(data, FLAT)),
        "ring": Parser([b"".join(records)], read_ring(folder)),
        "ELF headers and notes": Parser(elf, lambda data, _: read_layout(reader(data))),
        ".eh_frame_hdr and .eh_frame": Parser(elf, read_unwind_table),
        ".eh_frame without an index": Parser([without_index(golden)], read_unwind_table),
        "CIE and FDE": Parser([tables], read_entries),
        "CFI expression": Parser(EXPRESSIONS, read_expression),
        "walk of a stack": Parser([os.urandom(512)], walk(golden)),
        "PLT stub": Parser([bytes.fromhex("ff251afc1c006802000000e9c0ffffff") * 2], lambda data, c: plt_words(data, c.randrange(32))),
        "code without a frame": Parser(_CODE, lambda data, c: return_address_words(data, c.randrange(len(data) + 1))),
        "small ELF": Parser(elf, read_small_elf),
        "JVM": Parser(*jvm_memory()),
        "JVM's tables": Parser(*jvm_tables()),
        "/proc/PID/maps": Parser([Path("/proc/self/maps").read_bytes()], lambda data, _: check_sound(parse_maps(data)), text=True),
        "perf map": Parser(MAPS, read_perf_map, text=True),
        "/proc/PID/mountinfo": Parser([Path("/proc/self/mountinfo").read_bytes()], lambda data, _: mounts.parse_mounts(data), text=True),
        "/proc/kallsyms": Parser([KALLSYMS], read_kallsyms, text=True),
        "kernel notes": Parser([_NOTE * 2], lambda data, _: build_id_of_notes(data)),
        "/proc/PID/cgroup": Parser(_CGROUPS, lambda data, _: parse_cgroup(choose_cgroup(text_of(data))), text=True),
        "/proc/PID/cmdline": Parser([b"/usr/bin/python3\0-X\0dev\0-m\0http.server\0", b"java\0-cp\0a.jar\0@f\0Main\0", status],
                                    lambda data, c: script_name(c.choice(("/usr/bin/python3", "/bin/node", "java", "perl")), data), text=True),
        "/proc/PID/environ": Parser([b"A=1\0TEAM=x\0PATH=/bin\0"], lambda data, _: parse_environment(data, {b"TEAM": "team", b"A": "a"}), text=True),
        "/proc/stat": Parser([Path("/proc/stat").read_bytes()[:2000]], lambda data, _: parse_stat(text_of(data)), text=True),
        "/proc/cpuinfo": Parser([Path("/proc/cpuinfo").read_bytes()[:3000]], lambda data, _: parse_cpuinfo(text_of(data)), text=True),
        "/proc/meminfo": Parser([Path("/proc/meminfo").read_bytes()], lambda data, _: parse_meminfo(text_of(data)), text=True),
        "pressure": Parser([b"some avg10=1.50 avg60=0.00 avg300=0.00 total=123\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"],
                           lambda data, _: parse_pressure(text_of(data)), text=True),
        "CPU list": Parser([b"0-3,8,10-127\n", b"0 1 2 3"], lambda data, _: parse_cpu_list(text_of(data)), text=True),
        "mounts": Parser([Path("/proc/self/mounts").read_bytes(), b"cgroup /sys/fs/cgroup/perf\\040event cgroup rw,perf_event 0 0\n"],
                         lambda data, _: parse_mounts(text_of(data)), text=True),
        "event's name": Parser([b"pmu:cpu:event=0x3c,umask=0", b"tracepoint:sched:sched_switch", b"raw:0x1c2", b"page-faults"],
                               lambda data, _: parse_event_name(text_of(data)), text=True),
        "event source's files": Parser([b"config:0-7,32-35\n", b"2.3283064365386962890625e-10\n", b"MiB\n", b"332\n"], _source_files, text=True),
        "pods of a kubelet": Parser([_PODS], lambda data, _: parse_pods(text_of(data), ("app",)), text=True),
        "labels file": Parser([b"container 0123abcd team=a cost='b c'\ncgroup /a/*/b env=prod # why\nunit x.service a=b\n"] ,
                              lambda data, _: parse_labels_file(text_of(data)), text=True),
    }  # fmt: skip


_NOTE = struct.pack("<III", 4, 20, 3) + b"GNU\0" + bytes(range(20))
# Where functions of Go and of HotSpot begin and end, and vector instructions of each encoding.
_CODE = [bytes.fromhex(text) for text in (
    "4c8d64248049 3b6610763055 4889e5", "89842400c0feff55488bec", "493ba7400300000f8701000000c3",
    "c5fe6f4424e0c4e37d39c10162f1fe486f4701c5f877c3", "660f3a0fc108f30f6f06f7c107000000eb0290909048b80102030405060708c3",
)]  # fmt: skip
_CGROUPS = [
    b"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0a1b2c3d_0000_1111_2222_333344445555.slice/cri-containerd-" + b"ab" * 32 + b".scope\n",
    b"12:cpu,cpuacct:/docker/" + b"0f" * 32 + b"\n1:name=systemd:/system.slice/ssh.service\n0::/\n",
    b"0::/ecs/task/0123456789abcdef0123456789abcdef-1234567890\n0::/machine.slice/machine-a\\x2db.scope\n",
]  # fmt: skip
_PODS = (
    b'{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"web-6d4b75cb6d-x2v9k","namespace":"shop",'
    b'"uid":"0a1b2c3d-0000-1111-2222-333344445555","labels":{"app":"web","pod-template-hash":"6d4b75cb6d"},"annotations":'
    b'{"kubernetes.io/config.hash":"0123456789abcdef0123456789abcdef"},"ownerReferences":[{"kind":"ReplicaSet","name":'
    b'"web-6d4b75cb6d","controller":true}]},"status":{"containerStatuses":[{"name":"web","image":"docker.io/shop/web:1.2",'
    b'"containerID":"containerd://' + b"ab" * 32 + b'"}]}}]}'
)


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _source_files(data: bytes, _chance: random.Random) -> None:
    for read in (parse_format, parse_scale, parse_unit, parse_id):
        with contextlib.suppress(GatewayError):
            read(text_of(data))
