"""The CPython interpreters of this machine that tests run programs with: on the PATH and of pyenv."""

import os
import subprocess
from functools import cache
from pathlib import Path

MINORS = range(9, 15)
_SHOW = (
    "import sys; print(sys.version_info[1], sys.executable); "
    "print(*sorted({l.split()[-1] for l in open('/proc/self/maps') "
    "if 'python3' in l.rsplit('/', 1)[-1] and '.cpython-' not in l}, key=lambda p: 'libpython' not in p))"
)


@cache
def interpreters() -> dict[str, tuple[int, Path]]:
    """Minor version and the file with the interpreter, by the program that runs it; one for each distinct file."""
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(":") if folder]
    folders += sorted(Path.home().glob(".pyenv/versions/*/bin"))
    found: dict[Path, tuple[str, int]] = {}
    for minor in MINORS:
        for folder in folders:
            program = folder / f"python3.{minor}"
            if not program.is_file():
                continue
            done = subprocess.run([program, "-c", _SHOW], capture_output=True, text=True, check=False)
            if done.returncode == 0:
                first, files = done.stdout.splitlines()
                stated, executable = first.split(maxsplit=1)
                found.setdefault(Path(files.split()[0]), (executable, int(stated)))
    return {program: (minor, file) for file, (program, minor) in found.items()}
