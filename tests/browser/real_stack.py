"""`fleetprof up` on this machine, as its README starts it, beside programs of four languages under load."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"
READY_S = 240.0
"""A busy machine takes a minute."""
_MODULES = os.pathsep.join((str(ROOT), str(ROOT / "proto")))


@dataclass(frozen=True)
class Stack:
    """A running deployment."""

    url: str
    environment: Mapping[str, str]
    """Of commands beside it: its state directory, a token, and `fleetprof` on the path."""

    def command(self, *arguments: str) -> str:
        """What `fleetprof` prints."""
        done = subprocess.run(
            ["fleetprof", *arguments], env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
        return done.stdout

    def login_url(self) -> str:
        """A link that works once."""
        return self.command("url").split()[-1]

    def answer(self, path: str, **query: str | int) -> dict:
        """The API's answer."""
        request = urllib.request.Request(
            f"{self.url}{path}?{urllib.parse.urlencode(query)}",
            headers={"Authorization": f"Bearer {self.environment['FLEETPROF_TOKEN']}"},
        )
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)


@contextmanager
def running_stack(*options: str) -> Iterator[Stack]:
    """`fleetprof up` with these options."""
    # PostgreSQL's own user enters it too, and sockets have short paths.
    state = Path(tempfile.mkdtemp(prefix="fpui-", dir="/tmp"))
    state.chmod(0o711)
    commands = state / "bin"
    commands.mkdir()
    shim = commands / "fleetprof"
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} -m services "$@"\n')
    shim.chmod(0o755)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("FLEETPROF_")},
        "FLEETPROF_STATE_DIR": str(state / "state"),
        # Sources of this machine would be shown without the upload that a test makes.
        "FLEETPROF_SOURCE_ROOTS": "/none=/none",
        "PYTHONPATH": _MODULES,
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
    }
    with open(state / "log", "wb") as log:  # noqa: PTH123
        up = subprocess.Popen(
            ["fleetprof", "up", "--port", str(port), *options], env=environment, stdout=log, stderr=log
        )
    try:
        _await_link(up, state / "log")
        if "--simulate" in options:  # commands find it where `up` without a fleet looks
            environment["FLEETPROF_STATE_DIR"] = str(next((state / "state" / "simulated").iterdir()))
        bare = Stack(f"http://127.0.0.1:{port}", environment)
        token = bare.command("tokens", "create", "test", "--role", "admin").split()
        signed_in = Stack(bare.url, {**environment, "FLEETPROF_TOKEN": max(token, key=len)})
        _await_token(signed_in)
        yield signed_in
    finally:
        up.send_signal(signal.SIGINT)
        try:
            up.wait(90)
        except subprocess.TimeoutExpired:
            up.kill()
        shutil.rmtree(state, ignore_errors=True)


def _await_token(stack: Stack) -> None:
    """API processes read new tokens every two seconds."""
    deadline = time.monotonic() + 30
    while True:
        try:
            stack.answer("/api/v1/session")
        except urllib.error.HTTPError:
            assert time.monotonic() < deadline, "the token is not accepted"
            time.sleep(0.5)
        else:
            return


def _await_link(up: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + READY_S
    while "/login?token=" not in log.read_text():
        assert up.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.5)


@contextmanager
def programs_under_load(folder: Path) -> Iterator[list[str]]:
    """The names of the applications of four programs that run until the end."""
    for tool in ("g++", "go", "node"):
        if shutil.which(tool) is None:
            pytest.skip(f"there is no {tool} here")
    shutil.copytree(PROGRAMS, folder, dirs_exist_ok=True)
    sources = [str(folder / "catalog" / name) for name in ("index.cpp", "main.cpp")]
    _built(["g++", "-O2", "-g", "-std=c++20", "-o", "catalog-search", *sources], folder)
    _built(["go", "build", "-o", "orders-export", "orders.go"], folder)
    commands = [
        ["./catalog-search"],
        ["./orders-export"],
        ["node", "shop.mjs"],
        [sys.executable, "prices.py"],
    ]
    running: list[subprocess.Popen[bytes]] = []
    try:
        running += [
            subprocess.Popen(
                command,
                cwd=folder,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            for command in commands
        ]
        yield ["catalog-search", "orders-export", "shop.mjs", "prices.py"]
    finally:
        for program in running:
            program.kill()
            program.wait()


def _built(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
