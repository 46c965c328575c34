"""Folders that look like /sys and /proc of machines that tests have not: a Xeon, an EPYC, a guest without a PMU.

The texts are those that the kernel's drivers write (arch/x86/events of Linux 6.12); of each event source only
the terms and events that are used, and a few that are not.
"""

from collections.abc import Mapping
from pathlib import Path

SOURCES = "bus/event_source/devices"

INTEL_CPU = {
    "type": "4",
    "format/event": "config:0-7",
    "format/umask": "config:8-15",
    "format/edge": "config:18",
    "format/any": "config:21",
    "format/inv": "config:23",
    "format/cmask": "config:24-31",
    "format/offcore_rsp": "config1:0-63",
    "format/ldlat": "config1:0-15",
    "format/frontend": "config1:0-23",
    "events/cpu-cycles": "event=0x3c",
    "events/mem-loads": "event=0xcd,umask=0x1,ldlat=3",
    "events/topdown-recovery-bubbles": "event=0xd,umask=0x1,cmask=1",
    "events/topdown-recovery-bubbles.scale": "2",
}
AMD_CPU = {
    "type": "4",
    "format/event": "config:0-7,32-35",
    "format/umask": "config:8-15",
    "format/edge": "config:18",
    "format/inv": "config:23",
    "format/cmask": "config:24-31",
    "events/cpu-cycles": "event=0x76",
    "events/cache-misses": "event=0x64,umask=0x09",
}
MSR = {
    "type": "9",
    "format/event": "config:0-63",
    "events/tsc": "event=0x00",
    "events/aperf": "event=0x01",
    "events/mperf": "event=0x02",
}
IMC = {
    "type": "14",
    "cpumask": "0,28",
    "format/event": "config:0-7",
    "format/umask": "config:8-15",
    "events/clockticks": "event=0xff,umask=0x00",
    "events/cas_count_read": "event=0x04,umask=0x03",
    "events/cas_count_read.scale": "6.103515625e-5",
    "events/cas_count_read.unit": "MiB",
    "events/cas_count_write": "event=0x04,umask=0x0c",
    "events/cas_count_write.scale": "6.103515625e-5",
    "events/cas_count_write.unit": "MiB",
}
IMC_IN_HALVES = {
    "type": "30",
    "cpumask": "0",
    "format/event": "config:0-7",
    "format/umask": "config:8-15",
} | {
    f"events/cas_count_{way}_sch{half}{end}": text
    for half in (0, 1)
    for way, umask in (("read", "0xcf"), ("write", "0xf0"))
    for end, text in (
        ("", f"event=0x0{5 + half},umask={umask}"),
        (".scale", "6.103515625e-5"),
        (".unit", "MiB"),
    )
}
POWER = {
    "type": "25",
    "cpumask": "0,28",
    "format/event": "config:0-7",
    "events/energy-pkg": "event=0x02",
    "events/energy-pkg.scale": "2.3283064365386962890625e-10",
    "events/energy-pkg.unit": "Joules",
    "events/energy-ram": "event=0x03",
    "events/energy-ram.scale": "1.52587890625e-05",
    "events/energy-ram.unit": "Joules",
}
UMC = {"type": "21", "cpumask": "0", "format/event": "config:0-7", "format/rdwrmask": "config:8-9"}
DF = {
    "type": "11",
    "cpumask": "0,64",
    "format/event": "config:0-7,32-35,59-60",
    "format/umask": "config:8-15",
}

XEON_6148 = {"vendor_id": "GenuineIntel", "cpu family": "6", "model": "85"}
XEON_8480 = {"vendor_id": "GenuineIntel", "cpu family": "6", "model": "143"}
EPYC_7763 = {"vendor_id": "AuthenticAMD", "cpu family": "25", "model": "1"}
EPYC_9654 = {"vendor_id": "AuthenticAMD", "cpu family": "25", "model": "17"}


def write(folder: Path, files: Mapping[str, str]) -> Path:
    """Files below a folder, each ending in a newline as the kernel writes them."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return folder


def sources(folder: Path, **found: Mapping[str, str]) -> Path:
    """A /sys with these event sources."""
    (folder / SOURCES).mkdir(parents=True, exist_ok=True)
    for name, files in found.items():
        write(folder / SOURCES / name, files)
    return folder


def cpuinfo(folder: Path, fields: Mapping[str, str]) -> Path:
    """A /proc with these fields of each of two CPUs."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{name}\t: {value}\n" for name, value in fields.items()]
    text = "".join("".join([f"processor\t: {cpu}\n", *lines, "flags\t\t: fpu vme\n\n"]) for cpu in (0, 1))
    (folder / "cpuinfo").write_text(text)
    return folder


def xeon(folder: Path, fields: Mapping[str, str] = XEON_6148) -> tuple[Path, Path]:
    """(/sys, /proc) of a two-socket Xeon: core counters, two memory controllers, energy."""
    sys = sources(
        folder / "sys",
        cpu=INTEL_CPU,
        msr=MSR,
        uncore_imc_0=IMC,
        uncore_imc_1=IMC | {"type": "15"},
        power=POWER,
    )
    return sys, cpuinfo(folder / "proc", fields)


def epyc(folder: Path, fields: Mapping[str, str] = EPYC_9654) -> tuple[Path, Path]:
    """(/sys, /proc) of an EPYC: core counters, memory controllers of Zen 4 and the data fabric, energy."""
    sys = sources(
        folder / "sys",
        cpu=AMD_CPU,
        msr=MSR,
        amd_umc_0=UMC,
        amd_umc_1=UMC | {"type": "22"},
        amd_df=DF,
        power={name: text for name, text in POWER.items() if "ram" not in name},
    )
    return sys, cpuinfo(folder / "proc", fields)
