"""The bundle as a tarball and as a Debian package: the same bytes from the same bundle."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
UNITS = ROOT / "infra/systemd"
DEBIAN = ROOT / "infra/debian"
_LIBRARY = "usr/lib/fleetprof-gateway"


def tarball(bundle: Path, version: str, epoch: int, target: Path) -> Path:
    """`fleetprof-gateway-VERSION-linux-x86_64.tar.gz`, with the units beside the program."""
    name = f"fleetprof-gateway-{version}"
    file = target / f"{name}-linux-x86_64.tar.gz"
    tree = bundle.parent / name
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(bundle, tree, symlinks=True)
    shutil.copytree(UNITS, tree / "systemd")
    shutil.copyfile(DEBIAN / "fleetprof-gateway.default", tree / "systemd/fleetprof-gateway.default")
    shutil.copyfile(ROOT / "infra/bundle/INSTALL", tree / "INSTALL")

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = "root"
        member.mtime = epoch
        return member

    with (
        file.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=9, mtime=epoch) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        for path in [tree, *sorted(tree.rglob("*"))]:
            archive.add(path, path.relative_to(tree.parent), recursive=False, filter=plain)
    return file


def debian_package(bundle: Path, version: str, glibc: str, epoch: int, target: Path) -> Path:
    """`fleetprof-gateway_VERSION_amd64.deb`; needs dpkg-deb."""
    tree = bundle.parent / "deb"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(bundle, tree / _LIBRARY, symlinks=True)
    _place(UNITS, tree / "usr/lib/systemd/system")
    (tree / "usr/bin").mkdir()
    (tree / "usr/bin/fleetprof-gateway").symlink_to(f"../../{_LIBRARY}/fleetprof-gateway")
    doc = tree / "usr/share/doc/fleetprof-gateway"
    doc.mkdir(parents=True)
    shutil.copyfile(DEBIAN / "copyright", doc / "copyright")
    changelog = (DEBIAN / "changelog").read_text()
    (doc / "changelog.gz").write_bytes(gzip.compress(changelog.encode(), mtime=0))
    (tree / "etc/default").mkdir(parents=True)
    (tree / "etc/fleetprof").mkdir(mode=0o755)
    shutil.copyfile(DEBIAN / "fleetprof-gateway.default", tree / "etc/default/fleetprof-gateway")

    _place_one(DEBIAN / "sysctl.conf", tree / "usr/lib/sysctl.d/60-fleetprof-gateway.conf")

    control = tree / "DEBIAN"
    control.mkdir()
    for script in ("postinst", "prerm", "postrm"):
        shutil.copyfile(DEBIAN / script, control / script)
        (control / script).chmod(0o755)
    (control / "conffiles").write_text("/etc/default/fleetprof-gateway\n")
    kib = sum(_size_kib(path) for path in tree.rglob("*") if control not in path.parents)
    fields = {"VERSION": version, "GLIBC": glibc, "SIZE": str(kib)}
    text = re.sub(r"@(\w+)@", lambda word: fields[word[1]], (DEBIAN / "control").read_text())
    (control / "control").write_text(text)
    for path in tree.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
    file = target / f"fleetprof-gateway_{version}_amd64.deb"
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(epoch)}
    build = ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(tree), str(file)]
    subprocess.run(build, check=True, stdout=subprocess.DEVNULL, env=environment)
    return file


def _place(source: Path, target: Path) -> None:
    target.mkdir(parents=True)
    for file in source.iterdir():
        shutil.copyfile(file, target / file.name)


def _place_one(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True)
    shutil.copyfile(source, target)


def _size_kib(path: Path) -> int:
    return 1 if path.is_symlink() or path.is_dir() else -(-path.stat().st_size // 1024)
