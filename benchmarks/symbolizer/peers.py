"""llvm-symbolizer and addr2line: the same addresses, over pipes as scripts use them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from benchmarks.cpu_time import process_cpu_s
from benchmarks.symbolizer.agreement import Chain, Level

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

LLVM_NAMES: Final = ("llvm-symbolizer-19", "llvm-symbolizer", "llvm-symbolizer-16", "llvm-symbolizer-14")
_ADDRESS: Final = re.compile(r"^0x[0-9a-f]+$")
_DISCRIMINATOR: Final = re.compile(r" \(discriminator \d+\)$")
_NOTHING: Final = frozenset({"", "??"})

Answers: TypeAlias = "dict[int, Chain]"


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of a peer."""

    answers: Answers
    cpu_s: float
    wall_s: float
    peak_rss_mib: float
    stopped: bool = False


def llvm_symbolizer() -> str | None:
    """The best installed llvm-symbolizer."""
    return next(filter(None, map(shutil.which, LLVM_NAMES)), None)


def llvm_version(program: str) -> str:
    """Its version, e.g. 19.1.7."""
    output = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"version (\S+)", output)
    return found[1] if found else "?"


def has_addr2line() -> bool:
    """Whether GNU addr2line is installed."""
    return shutil.which("addr2line") is not None


def run_llvm(program: str, debug: Path, addresses: Iterable[int], limit_s: float) -> Ran:
    """Chains of linkage names by llvm-symbolizer."""
    command = [program, f"--obj={debug}", "--inlines", "--no-demangle", "--output-style=JSON"]
    output, ran = _run(command, addresses, limit_s)
    answers: Answers = {}
    for line in output.splitlines():
        try:
            entry = json.loads(line)
            levels = tuple(
                Level(_known(s["FunctionName"]), _known(s["FileName"]), s["Line"])
                for s in entry.get("Symbol", ())
            )
        except ValueError:  # truncated by the time limit
            continue
        answers[int(entry["Address"], 16)] = _without_empty(levels)
    return Ran(answers, *ran)


def run_addr2line(debug: Path, addresses: Iterable[int], limit_s: float) -> Ran:
    """Chains of linkage names by GNU addr2line."""
    output, ran = _run(["addr2line", "-a", "-f", "-i", "-e", str(debug)], addresses, limit_s)
    answers: Answers = {}
    chain: list[Level] = []
    function: str | None = None
    address: int | None = None
    for line in output.splitlines():
        if _ADDRESS.match(line):
            if address is not None:
                answers[address] = _without_empty(tuple(chain))
            address, chain, function = int(line, 16), [], None
        elif function is None:
            function = line
        else:
            file, _, number = _DISCRIMINATOR.sub("", line).rpartition(":")
            chain.append(Level(_known(function), _known(file), int(number) if number.isdigit() else 0))
            function = None
    if address is not None and not ran[-1]:  # the last chain of a stopped run may be truncated
        answers[address] = _without_empty(tuple(chain))
    return Ran(answers, *ran)


def _run(
    command: list[str], addresses: Iterable[int], limit_s: float
) -> tuple[str, tuple[float, float, float, bool]]:
    """Its output; CPU and wall seconds, peak RSS in MiB, and whether the limit of its CPU time stopped it."""
    with tempfile.TemporaryFile("w+") as asked, tempfile.TemporaryFile("w+", errors="replace") as output:
        asked.writelines(f"{address:#x}\n" for address in addresses)
        asked.seek(0)
        started = time.monotonic()
        process = subprocess.Popen(command, stdin=asked, stdout=output, stderr=subprocess.DEVNULL)
        stopped = False
        while True:
            ended, _, usage = os.wait4(process.pid, os.WNOHANG)
            if ended:
                break
            if not stopped and _cpu_s(process.pid) > limit_s:
                process.kill()
                stopped = True
            time.sleep(0.02)
        process.returncode = 0  # already reaped
        wall = time.monotonic() - started
        output.seek(0)
        return output.read(), (usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024, stopped)


def _cpu_s(pid: int) -> float:
    try:
        return process_cpu_s(pid)
    except ProcessLookupError:
        return 0.0


def _known(text: str) -> str:
    return "" if text in _NOTHING else text


def _without_empty(levels: Chain) -> Chain:
    return tuple(level for level in levels if level.function or level.file)
