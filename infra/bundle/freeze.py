"""The gateway with an interpreter of its own, as one folder.

One folder and not one file: a single file unpacks 40 MB to a temporary folder at each start, which the socket
activation of a node would pay at each visit, and its loader forks, so that LISTEN_PID would name the wrong process.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROGRAM = "fleetprof-gateway"
# grpcio takes these along where it finds them; the rest is what the standard library's own modules would pull in.
_UNWANTED = (
    "asyncio.__main__", "cffi", "distutils", "grpc_tools", "lib2to3", "multiprocessing", "pip", "pkg_resources",
    "pydoc", "setuptools", "sqlite3", "tkinter", "unittest", "zstandard._cffi", "zstandard.backend_cffi",
)  # fmt: skip
_GLIBC = re.compile(rb"GLIBC_2\.(\d+)(?:\.\d+)?\0")


def make_environment(folder: Path) -> Path:
    """A virtual environment with the pinned packages; its interpreter."""
    python = folder / "bin/python"
    stamp = folder / "requirements.txt"
    wanted = (HERE / "requirements.txt").read_text() + f"# {sys.version}\n"
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
        subprocess.run(
            [*pip, "--require-hashes", "--only-binary=:all:", "-r", HERE / "requirements.txt"], check=True
        )
        stamp.write_text(wanted)
    return python


def freeze(python: Path, work: Path, epoch: int) -> Path:
    """The folder with the program, made from this checkout; nothing of `work` is in its bytes."""
    for leftover in (work / "dist", work / "build"):
        shutil.rmtree(leftover, ignore_errors=True)
    environment = os.environ | {
        "PYTHONHASHSEED": "0",  # the order of sets gets into compiled code
        "SOURCE_DATE_EPOCH": str(epoch),
        "PYINSTALLER_CONFIG_DIR": str(work / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [
        python,
        "-m",
        "PyInstaller",
        "--onedir",
        "--noconfirm",
        "--strip",
        "--noupx",
        "--log-level",
        "WARN",
    ]
    command += ["--name", PROGRAM, "--paths", ROOT, "--paths", ROOT / "proto"]
    # Imported when they are first needed, by functions; and by compiled code, which no analysis sees into.
    command += ["--collect-submodules", "gateway", "--collect-data", "gateway", "--optimize", "1"]
    command += [word for module in _imported(python) for word in ("--hidden-import", module)]
    command += [word for module in _UNWANTED for word in ("--exclude-module", module)]
    command += ["--distpath", work / "dist", "--workpath", work / "build", "--specpath", work / "build"]
    subprocess.run([*command, HERE / "launch.py"], check=True, cwd=work, env=environment)
    folder = work / "dist" / PROGRAM
    for file in folder.rglob("*"):
        if not file.is_symlink():
            file.chmod(0o755 if file.is_dir() or os.access(file, os.X_OK) else 0o644)
    return folder


def answer_once(python: Path, bundle: Path) -> None:
    """Start the program and let it say that it is well: what is missing shows only when it is imported."""
    with tempfile.TemporaryDirectory(prefix="fleetprof-bundle-") as folder:
        log, listen = Path(folder) / "log", f"unix:{folder}/g"
        with (
            log.open("wb") as stderr,
            subprocess.Popen([bundle / PROGRAM, "--listen", listen], stderr=stderr) as process,
        ):
            try:
                deadline = time.monotonic() + 60
                while b"listening on" not in log.read_bytes():
                    # A build machine without perf events is told so by the server, after everything was imported.
                    if process.poll() is not None and b"perf events" in log.read_bytes():
                        return
                    if process.poll() is not None or time.monotonic() > deadline:
                        raise RuntimeError(f"the bundle does not start: {log.read_text()}")
                    time.sleep(0.1)
                ask = (
                    "import grpc, sys; from fleetpb import gateway_pb2 as g, gateway_pb2_grpc as s\n"
                    "print(s.GatewayStub(grpc.insecure_channel(sys.argv[1])).Health(g.HealthRequest(), timeout=30))"
                )
                environment = os.environ | {"PYTHONPATH": str(ROOT / "proto"), "PYTHONDONTWRITEBYTECODE": "1"}
                call = [python, "-c", ask, listen]
                subprocess.run(call, check=True, env=environment, stdout=subprocess.DEVNULL)
            finally:
                process.terminate()


def _imported(python: Path) -> list[str]:
    """What the server has loaded once it could answer."""
    ask = "import sys, gateway.daemon, gateway.serving.server; print(*sys.modules)"
    paths = {"PYTHONPATH": f"{ROOT}:{ROOT / 'proto'}", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [python, "-c", ask], check=True, capture_output=True, text=True, env=os.environ | paths
    )
    skipped = ("__", "typing.", "_distutils_hack", "_cython", "cython_runtime", "grpc._cython.cygrpc.")
    return sorted(name for name in done.stdout.split() if not name.startswith(skipped))


def glibc_needed(folder: Path) -> str:
    """The oldest glibc that every ELF file of the folder runs with, e.g. "2.31"."""
    newest = 0
    for file in folder.rglob("*"):
        if not file.is_file() or file.is_symlink():
            continue
        content = file.read_bytes()
        if content.startswith(b"\x7fELF"):
            newest = max([newest, *(int(minor) for minor in _GLIBC.findall(content))])
    return f"2.{newest}"
