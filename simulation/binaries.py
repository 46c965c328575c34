"""Files that simulated programs run from: their builds, and the place of each function in them."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final

from simulation.calls import JIT, KERNEL, MAIN, Function
from simulation.catalogue import APPLICATIONS, Application, Kind
from simulation.elf_writer import TEXT_OFFSET, Symbol, elf_file
from simulation.platforms import KERNELS
from simulation.programs import program_of
from simulation.seeded_random import word

_LIBRARIES: Final[Mapping[str, str]] = {
    "libc": "/usr/lib/x86_64-linux-gnu/libc.so.6",
    "libpython": "/usr/lib/x86_64-linux-gnu/libpython3.12.so.1.0",
    "libjvm": "/usr/lib/jvm/java-21-openjdk-amd64/lib/server/libjvm.so",
    "libcrypto": "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
    "libssl": "/usr/lib/x86_64-linux-gnu/libssl.so.3",
    "libz": "/usr/lib/x86_64-linux-gnu/libz.so.1.3",
    "libstdcpp": "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.32",
    "python": "/usr/bin/python3.12",
    "node": "/usr/bin/node",
}
"""Paths of images with short names; for other shared images the name is the path."""
KERNEL_PATH: Final = "[kernel]"
_SMALLEST, _LARGEST = 48, 640


@dataclass(frozen=True)
class Build:
    """One build of one image."""

    path: str
    """Path as processes see it."""
    build_id: bytes
    symbols: tuple[str, ...]

    @cached_property
    def places(self) -> Mapping[str, tuple[int, int]]:
        """File offset and length of each function; for the kernel, offsets from `_stext`."""
        at = 0 if self.path == KERNEL_PATH else TEXT_OFFSET
        places = {}
        for symbol in self.symbols:
            size = (
                _SMALLEST + (word(symbol) ^ int.from_bytes(self.build_id[:4], "little")) % _LARGEST // 16 * 16
            )
            places[symbol] = at, size
            at += size
        return places


@lru_cache(maxsize=1)
def _shared_symbols(seed: int) -> Mapping[str, tuple[str, ...]]:
    """Symbols of every file shared by several applications, by path."""
    found: dict[str, set[str]] = {}
    for application in APPLICATIONS:
        for function in program_of(application, seed).functions:
            if function.image not in {MAIN, JIT}:
                found.setdefault(_shared_path(function.image), set()).add(function.symbol)
    return {path: tuple(sorted(symbols)) for path, symbols in found.items()}


def _shared_path(image: str) -> str:
    return KERNEL_PATH if image == KERNEL else _LIBRARIES.get(image, image)


def executable_path(application: Application, seed: int) -> str:
    """Path of the executable of an application's processes; "" for kernel threads."""
    if application.kind is Kind.KERNEL:
        return ""
    if interpreter := program_of(application, seed).image:
        return (
            "/usr/lib/jvm/java-21-openjdk-amd64/bin/java"
            if interpreter == "java"
            else f"/usr/bin/{interpreter}"
        )
    if application.kind is Kind.DAEMON:
        return f"/usr/bin/{application.binary}"
    return f"/srv/{application.name}/bin/{application.binary}"


@lru_cache(maxsize=1024)
def executable(application: Application, seed: int, release: int) -> Build | None:
    """Build of an application's executable; interpreters do not change with releases. None for a kernel thread."""
    path = executable_path(application, seed)
    if not path:
        return None
    program = program_of(application, seed)
    if program.image:
        shared = {_LIBRARIES[image]: image for image in _LIBRARIES}
        return library(shared[path], seed) if path in shared else _build(seed, path, ("main",))
    symbols = sorted(function.symbol for function in program.functions if function.image == MAIN)
    return _build(seed, path, tuple(symbols), release)


@lru_cache(maxsize=64)
def library(image: str, seed: int) -> Build:
    """Build of an image shared by applications."""
    path = _shared_path(image)
    return _build(seed, path, _shared_symbols(seed)[path])


@lru_cache(maxsize=16)
def kernel(number: int, seed: int) -> Build:
    """Build of a kernel; `number` is an index into `platforms.KERNELS`."""
    return _build(seed, KERNEL_PATH, _shared_symbols(seed)[KERNEL_PATH], KERNELS[number])


def build_of(function: Function, application: Application, seed: int, release: int, on: int) -> Build | None:
    """Build that contains a function of an application, on kernel number `on`; None for code without a file."""
    if function.image == MAIN:
        return executable(application, seed, release)
    if function.image == KERNEL:
        return kernel(on, seed)
    return None if function.image == JIT else library(function.image, seed)


class SymbolFolder:
    """A folder of symbol files by build-id, laid out like /usr/lib/debug/.build-id and filled on demand."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written: set[bytes] = set()

    def add(self, builds: Sequence[Build]) -> None:
        """Write the missing files of these builds. Safe for several processes at once."""
        for build in builds:
            if build.build_id in self._written:
                continue
            text = build.build_id.hex()
            target = self._folder / ".build-id" / text[:2] / text[2:]
            if not target.exists():
                for folder in (self._folder, target.parent.parent, target.parent):
                    _make_readable(folder)
                with NamedTemporaryFile(dir=target.parent, delete=False) as file:
                    file.write(content_of(build))
                Path(file.name).chmod(0o644)
                Path(file.name).replace(target)
            self._written.add(build.build_id)


def _make_readable(folder: Path) -> None:
    """Make a folder that a symbolizer under another account may read; its files are not secret."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o755)
        folder.chmod(0o755)  # independent of the umask, which keeps the fleet's sockets private


def content_of(build: Build) -> bytes:
    """The symbol file of a build; for a kernel like vmlinux, with `_stext` before its first function."""
    shift = TEXT_OFFSET if build.path == KERNEL_PATH else 0
    symbols = [Symbol(name, start + shift, size) for name, (start, size) in build.places.items()]
    if shift:
        symbols.insert(0, Symbol("_stext", shift, 0))
    return elf_file(build.build_id, symbols, kernel=bool(shift))


def _build(seed: int, path: str, symbols: tuple[str, ...], *what: object) -> Build:
    """A build with an id of its content, like a linker's, so files of an older simulator do not match."""
    return Build(path, blake2b(repr((seed, path, symbols, what)).encode(), digest_size=20).digest(), symbols)
