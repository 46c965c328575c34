"""The recorded programs: third-party programs at work on real input, each until it is ended.

Compilers and archivers end soon, so a shell restarts them.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_SOURCES: Final = Path(__file__).parents[1] / "agreement" / "programs"
_TEMPLATES: Final = """
#include <bits/stdc++.h>
int main() { std::map<std::string, std::vector<std::regex>> all; std::cout << all.size() << std::regex("a|b").mark_count(); }
"""
_NODE: Final = """
const zlib = require('zlib'), crypto = require('crypto'), fs = require('fs'), vm = require('vm');
const text = fs.readFileSync(process.argv[1] || process.execPath.replace(/.*/, '/etc/services'), 'utf8');
const fib = n => n < 2 ? n : fib(n - 1) + fib(n - 2);
for (let round = 0; ; round++) {
  fib(18);
  text.split('\\n').map(line => line.split(/\\s+/)).sort((a, b) => a[0] < b[0] ? -1 : 1);
  JSON.parse(JSON.stringify([...Array(300).keys()].map(n => ({n, s: 'x'.repeat(n % 50)}))));
  zlib.gzipSync(text); crypto.createHash('sha256').update(text).digest('hex');
  vm.runInNewContext(`let t${round % 9} = 0; for (let i = 0; i < 1e4; i++) t${round % 9} += i;`);
}
"""
_PERL: Final = "while (1) { my %h; $h{$_ % 977} .= $_ for 1..20000; my $t = join ',', sort keys %h; $t =~ s/(\\d+)/<$1>/g }"
_SQL: Final = """
create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000)
insert into t select i, hex(randomblob(8)) from n; create index u on t(b);
select count(*), sum(length(x.b || y.b)) from t x join t y on x.a = y.a + 1 where x.b > y.b group by x.a % 7;
"""


class NotHere(Exception):
    """A requirement of the program is not installed; the sentence names it."""


@dataclass(frozen=True, slots=True)
class Program:
    """A command that runs until it is killed with all its children."""

    name: str
    about: str
    command: tuple[str, ...]


def prepare(folder: Path, name: str) -> Program:
    """Prepare a program of `RECIPES` in an empty folder. Raises NotHere."""
    about, recipe = RECIPES[name]
    return Program(name, about, tuple(map(str, recipe(folder))))


def _needed(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        raise NotHere(f"{program} is not installed")
    return path


def _again_and_again(*command: str | Path) -> list[str | Path]:
    return ["sh", "-c", f"while :; do {shlex.join(map(str, command))} >/dev/null 2>&1; done"]


def _built(folder: Path, compiler: str, *arguments: str | Path) -> Path:
    binary = folder / "program"
    subprocess.run([_needed(compiler), *arguments, "-o", binary], check=True, capture_output=True)
    return binary


def _text(folder: Path) -> Path:
    """The standard library's sources as one file."""
    text = folder / "text"
    with text.open("wb") as file:
        for source in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
            file.write(source.read_bytes())
    return text


def _gcc(folder: Path) -> list[str | Path]:
    (folder / "t.cpp").write_text(_TEMPLATES)
    return _again_and_again(_needed("g++"), "-O2", "-c", folder / "t.cpp", "-o", folder / "t.o")


def _clang(folder: Path) -> list[str | Path]:
    (folder / "t.cpp").write_text(_TEMPLATES)
    found = [shutil.which(name) for name in ("clang++", *(f"clang++-{n}" for n in range(13, 22)))]
    found += [str(path) for path in Path("/usr/lib").glob("llvm-*/bin/clang++")]
    compiler = next(filter(None, found), None)
    if compiler is None:
        raise NotHere("clang++ is not installed")
    return _again_and_again(compiler, "-O2", "-c", folder / "t.cpp", "-o", folder / "t.o")


def _rustc(folder: Path) -> list[str | Path]:
    return _again_and_again(_needed("rustc"), "-O", _SOURCES / "collections.rs", "-o", folder / "made")


def _go_build(folder: Path) -> list[str | Path]:
    (folder / "cache").mkdir()
    return [
        "env",
        f"GOCACHE={folder / 'cache'}",
        *_again_and_again(_needed("go"), "build", "-a", "-o", folder / "made", "fmt"),
    ]


def _gofmt(_: Path) -> list[str | Path]:
    root = subprocess.run(
        [_needed("go"), "env", "GOROOT"], capture_output=True, text=True, check=True
    ).stdout.strip()
    return _again_and_again(Path(root, "bin", "gofmt"), "-l", Path(root, "src"))


def _clang_built(folder: Path) -> list[str | Path]:
    for compiler in ("clang++", *map(str, Path("/usr/lib").glob("llvm-*/bin/clang++"))):
        if shutil.which(compiler):
            return [_built(folder, compiler, "-O2", _SOURCES / "containers.cpp")]
    raise NotHere("clang++ is not installed")


def _python_tests(_: Path) -> list[str | Path]:
    return _again_and_again(
        sys.executable, "-m", "test", "-q", "test_json", "test_re", "test_sort", "test_generators"
    )


def _python_perf(_: Path) -> list[str | Path]:
    """CPython's own trampolines, which have neither unwind entries nor frame pointers."""
    for path in (
        shutil.which("python3.12"),
        shutil.which("python3.13"),
        *map(str, Path.home().glob(".pyenv/versions/3.1[23]*/bin/python3")),
    ):
        if (
            path
            and not subprocess.run(
                [path, "-c", "import sys; sys.exit(sys.version_info < (3, 12))"],
                capture_output=True,
                check=False,
            ).returncode
        ):
            return [path, "-X", "perf", _SOURCES / "documents.py"]
    raise NotHere("CPython 3.12 or 3.13 is not installed")


def _javac(folder: Path) -> list[str | Path]:
    methods = "\n".join(
        f"  static int f{n}(java.util.List<Integer> l) {{ return l.stream().map(x -> x + {n}).reduce(0, Integer::sum); }}"
        for n in range(400)
    )
    (folder / "Many.java").write_text(f"class Many {{\n{methods}\n}}\n")
    (folder / "Again.java").write_text(
        "class Again { public static void main(String[] a) { while (true) "
        'javax.tools.ToolProvider.getSystemJavaCompiler().run(null, null, null, "-d", a[0], a[1]); } }'
    )
    return [_needed("java"), "-XX:+PreserveFramePointer", folder / "Again.java", folder, folder / "Many.java"]


RECIPES: Final[dict[str, tuple[str, Callable[[Path], list[str | Path]]]]] = {
    "gcc": ("g++ -O2 compiling templates: C++ by gcc", _gcc),
    "clang": ("clang++ -O2 compiling templates: libLLVM and libclang", _clang),
    "clang-built": ("C++ containers, built by clang -O2", _clang_built),
    "rustc": ("rustc -O: Rust, and Rust's own libLLVM", _rustc),
    "rust-built": ("Rust collections, built by rustc -O", lambda folder: [_built(folder, "rustc", "-O", _SOURCES / "collections.rs")]),
    "go": ("go build -a fmt: Go's compiler and linker", _go_build),
    "gofmt": ("gofmt over Go's sources", _gofmt),
    "gzip": ("gzip -9: C without symbols", lambda folder: _again_and_again(_needed("gzip"), "-9", "-c", _text(folder))),
    "xz": ("xz -9: C, hand-written checksums", lambda folder: _again_and_again(_needed("xz"), "-9", "-c", _text(folder))),
    "perl": ("perl: hashes, sorting, regular expressions", lambda _: [_needed("perl"), "-e", _PERL]),
    "sqlite": ("sqlite3: recursive query, index, join", lambda _: _again_and_again(_needed("sqlite3"), ":memory:", _SQL)),
    "openssl": ("openssl speed: assembly by perlasm", lambda _: _again_and_again(_needed("openssl"), "speed", "-seconds", "1", "sha256", "aes-256-gcm", "chacha20-poly1305", "rsa2048", "ecdsap256")),
    "cpython": ("python -m test: four of CPython's own tests", _python_tests),
    "cpython-perf": ("CPython ≥ 3.12 -X perf: code made at run time", _python_perf),
    "node": ("node: JIT, regular expressions, zlib, crypto, vm", lambda _: [_needed("node"), "-e", _NODE, "/etc/services"]),
    "java": ("javac in a JVM with -XX:+PreserveFramePointer", _javac),
}  # fmt: skip
