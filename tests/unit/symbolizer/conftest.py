"""Programs compiled when the tests run, in the shapes that trip symbolizers up."""

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = """
#include <stdio.h>
#include <stdlib.h>
static inline int square(int x) { return x * x + 1; }
static inline __attribute__((always_inline)) int cube(int x)
{
    return square(x) * x;
}
__attribute__((noinline)) int work(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += cube(i) ^ square(sum);
    return sum;
}
__attribute__((noinline)) static int quiet(int n) { return work(n) + n; }
__attribute__((noinline, noreturn)) void give_up(void)
{
    puts("giving up");
    abort();
}
int main(int argc, char **argv)
{
    if (argc > 5)
        give_up();
    printf("%d\\n", quiet(argc * 1000) + square(argc));
    return 0;
}
"""


class Programs:
    """Compiles on demand; every variant once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._made: dict[str, Path] = {}
        (folder / "program.c").write_text(SOURCE)

    def compiled(self, name: str, *options: str) -> Path:
        """program.c by gcc with -O2 -g and the options."""
        if name not in self._made:
            self.run("gcc", "-O2", "-g", *options, "program.c", "-o", name)
            self._made[name] = self.folder / name
        return self._made[name]

    def run(self, *command: str) -> str:
        if shutil.which(command[0]) is None:
            pytest.skip(f"{command[0]} is not installed")
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def pie(self) -> Path:
        return self.compiled("pie")

    @property
    def fixed(self) -> Path:
        """Not position-independent: linked at 0x400000."""
        return self.compiled("fixed", "-no-pie")

    @property
    def by_lld(self) -> Path:
        """Linked by lld: file offsets and virtual addresses differ by a page for each segment."""
        if shutil.which("ld.lld-14") is None and shutil.which("ld.lld") is None:
            pytest.skip("lld is not installed")
        linker = "lld" if shutil.which("ld.lld") else "/usr/bin/ld.lld-14"
        if linker != "lld":
            tools = self.folder / "tools"
            tools.mkdir(exist_ok=True)
            if not (tools / "ld.lld").exists():
                (tools / "ld.lld").symlink_to(linker)
            return self.compiled("by_lld", f"-B{tools}", "-fuse-ld=lld")
        return self.compiled("by_lld", "-fuse-ld=lld")

    def stripped(self, name: str) -> Path:
        """Without .symtab and debug data, and without a link to them."""
        if name not in self._made:
            self.run("objcopy", "--strip-all", str(self.pie), name)
            self._made[name] = self.folder / name
        return self._made[name]


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    return Programs(tmp_path_factory.mktemp("programs"))
