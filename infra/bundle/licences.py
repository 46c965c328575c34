"""Licences of everything inside the bundle, as files beside it and one table."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path

ROOT = Path(__file__).parents[2]
# PyInstaller's part that travels is its loader, under the GPL with an exception for what it loads.
_TRAVELS = ("grpcio", "protobuf", "typing_extensions", "zstandard", "pyinstaller")


class Unlicensed(Exception):
    """A part of the bundle whose licence is not to be found on the machine that builds it."""


def write(bundle: Path, python: Path) -> None:
    """Fill `licences/`; raises Unlicensed for a file of unknown origin."""
    folder = bundle / "licences"
    folder.mkdir()
    rows = [("fleetprof", _own_version(), "LICENSE", _copy(ROOT / "LICENSE", folder / "fleetprof.txt"))]
    site = next((python.parents[1] / "lib").glob("python3.*/site-packages"))
    rows += [
        _row(distribution, folder)
        for distribution in distributions(path=[str(site)])
        if distribution.metadata["Name"].replace("-", "_") in _TRAVELS
    ]
    rows.append(_python_row(folder))
    rows += _library_rows(bundle, folder)
    lines = [f"{name} {version}: {file} (from {source})" for name, version, source, file in sorted(rows)]
    (folder / "CONTENTS").write_text("\n".join(lines) + "\n")


def _row(distribution: Distribution, folder: Path) -> tuple[str, str, str, str]:
    name = distribution.metadata["Name"]
    found = [
        file
        for file in distribution.files or ()
        if re.match(r"(LICENSE|COPYING|NOTICE)", file.name, re.IGNORECASE)
    ]
    if not found:
        raise Unlicensed(f"{name} {distribution.version} carries no licence")
    text = "\n\n".join(Path(str(distribution.locate_file(file))).read_text() for file in sorted(found))
    (folder / f"{name}.txt").write_text(text)
    return name, distribution.version, "its wheel", f"{name}.txt"


def _python_row(folder: Path) -> tuple[str, str, str, str]:
    version = ".".join(map(str, sys.version_info[:3]))
    series = ".".join(map(str, sys.version_info[:2]))
    places = (
        Path(sys.base_prefix, f"lib/python{series}/LICENSE.txt"),
        Path(f"/usr/share/doc/python{series}/copyright"),
    )
    for place in places:
        if place.exists():
            return "CPython", version, place.name, _copy(place, folder / "python.txt")
    raise Unlicensed(f"no licence of CPython {version} at {' or '.join(map(str, places))}")


def _library_rows(bundle: Path, folder: Path) -> list[tuple[str, str, str, str]]:
    """One row for each Debian package that a shared library was taken from."""
    rows = {}
    for library in sorted((bundle / "_internal").glob("*.so*")):
        if library.name.startswith("libpython"):
            continue
        package, version = _package_of(library.name)
        doc = Path("/usr/share/doc", package, "copyright")
        if not doc.exists():
            raise Unlicensed(f"{library.name}: {doc} is missing on this machine")
        rows[package] = (package, version, doc.name, _copy(doc, folder / f"{package}.txt"))
    return list(rows.values())


def _package_of(library: str) -> tuple[str, str]:
    query = ["dpkg-query", "--search", f"*/{library}"]
    done = subprocess.run(query, capture_output=True, text=True, check=False)
    native = subprocess.run(
        ["dpkg", "--print-architecture"], capture_output=True, text=True, check=True
    ).stdout
    for line in done.stdout.splitlines():
        package, _, path = line.partition(": ")
        if "x86_64-linux-gnu" in path and package.partition(":")[2] in {"", native.strip()}:
            show = ["dpkg-query", "--showformat", "${Version}", "--show", package]
            version = subprocess.run(show, capture_output=True, text=True, check=True).stdout
            return package.partition(":")[0], version
    raise Unlicensed(f"{library} belongs to no package of this machine")


def _own_version() -> str:
    return re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]  # type: ignore[index]  # it is there


def _copy(source: Path, target: Path) -> str:
    shutil.copyfile(source, target)
    return target.name
