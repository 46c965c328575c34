"""`make bundle`: the gateway for nodes without a Python of their own, as tarball and Debian package in dist/."""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import licences
import packages
from freeze import answer_once, freeze, glibc_needed, make_environment

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Build; with --check build twice in different folders, and compare."""
    parser = argparse.ArgumentParser(prog="infra/bundle", description=__doc__)
    parser.add_argument("--target", type=Path, default=ROOT / "dist", help="where the files go")
    parser.add_argument("--work", type=Path, default=ROOT / "build/bundle", help="where it is built; kept")
    parser.add_argument("--check", action="store_true", help="build again elsewhere and compare the bytes")
    options = parser.parse_args()
    work, target = options.work.resolve(), options.target.resolve()
    files = build(work, work, target)
    for file in files:
        print(f"{_digest(file)}  {file.stat().st_size / 1e6:.1f} MB  {file}")
    if options.check:
        with tempfile.TemporaryDirectory(prefix="fleetprof-bundle-") as other:
            again = build(work, Path(other) / "work", Path(other))
            for first, second in zip(files, again, strict=True):
                if _digest(first) != _digest(second):
                    sys.exit(f"{first.name} is not the same when it is built again: {_digest(second)}")
        print("built twice in two folders, the same bytes")


def build(tools: Path, work: Path, target: Path) -> list[Path]:
    """Both files."""
    for folder in (tools, work, target):
        folder.mkdir(parents=True, exist_ok=True)
    epoch = _epoch()
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version
    python = make_environment(tools / "environment")
    bundle = freeze(python, work, epoch)
    answer_once(python, bundle)
    licences.write(bundle, python)
    glibc = glibc_needed(bundle)
    size = sum(file.stat().st_size for file in bundle.rglob("*") if file.is_file() and not file.is_symlink())
    print(f"{size / 1e6:.1f} MB unpacked; runs with glibc {glibc} and newer")
    return [
        packages.tarball(bundle, version[1], epoch, target),
        packages.debian_package(bundle, version[1], glibc, epoch, target),
    ]


def _epoch() -> int:
    """When the sources were last changed: SOURCE_DATE_EPOCH, or the newest commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return int(done.stdout) if done.returncode == 0 else 1


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
