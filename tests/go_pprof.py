"""`go tool pprof`, the foreign oracle for what it can also do, and profiles for it to read."""

import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import pytest

from tests.stack_filter_oracle import Frame

Location = tuple[Frame, ...]
"""The frames of one address, the innermost inlined one first; all of one binary."""


@cache
def pprof() -> Path:
    """The program. Skips the test where there is no Go."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("Go is not installed")
    # Since Go 1.25 it is not installed but built when it is first asked for; -n says where it is then.
    subprocess.run([go, "tool", "pprof", "-h"], check=False, capture_output=True, timeout=170)
    told = subprocess.run([go, "tool", "-n", "pprof"], check=True, capture_output=True, text=True, timeout=60)
    return Path(told.stdout.split()[0])


def ask(profile: Path, *options: str) -> str:
    """What pprof prints of a profile; nothing of it is left out for being small."""
    whole = ("-symbolize=none", "-nodefraction=0", "-edgefraction=0", "-nodecount=1000000")
    run = [str(pprof()), *whole, *options, str(profile)]
    return subprocess.run(run, check=True, capture_output=True, text=True, timeout=60).stdout


def raw(text: str) -> list[tuple[int, tuple[int, ...]]]:
    """The samples of `-raw`: value, and ids of locations, the innermost first."""
    samples = text.split("Samples:\n")[1].split("Locations\n", maxsplit=1)[0].splitlines()[1:]
    rows = [re.fullmatch(r"\s*(\d+):([ \d]*)", line) for line in samples]
    return [(int(row[1]), tuple(map(int, row[2].split()))) for row in rows if row is not None]


def top(text: str) -> dict[str, tuple[int, int]]:
    """The rows of `-top`: (flat, cum) by function."""
    number, share = r"\s*(\d+)", r"\s+[\d.]+%"
    rows = re.finditer(f"^{number}{share}{share}{number}{share}  (.*)$", text, re.MULTILINE)
    found: dict[str, tuple[int, int]] = {}
    for row in rows:
        name = row[3].removesuffix(" (inline)").removesuffix(" (partial-inline)")
        flat, cum = found.get(name, (0, 0))
        found[name] = flat + int(row[1]), cum + int(row[2])
    return found


def encode(locations: Sequence[Location], samples: Iterable[tuple[int, Sequence[int]]]) -> bytes:
    """A profile.proto; samples are a value and ids of locations, from 1, the innermost first."""
    strings: dict[str, int] = {"": 0}
    functions: dict[Frame, int] = {}
    binaries: dict[str, int] = {}
    out = bytearray(_message(1, _number(1, _text(strings, "samples")) + _number(2, _text(strings, "count"))))
    for value, ids in samples:
        out += _message(2, _packed(1, ids) + _packed(2, [value]))
    for id_, frames in enumerate(locations, 1):
        body = _number(1, id_) + _number(3, 0x1000 * id_)
        if frames[0].binary:
            body += _number(2, binaries.setdefault(frames[0].binary, len(binaries) + 1))
        for frame in frames:
            body += _message(4, _number(1, functions.setdefault(frame, len(functions) + 1)) + _number(2, 1))
        out += _message(4, body)
    for binary, id_ in binaries.items():
        limits = _number(2, id_ << 32) + _number(3, (id_ << 32) + 0x1000)
        flags = _number(7, 1) + _number(8, 1) + _number(9, 1) + _number(10, 1)
        out += _message(3, _number(1, id_) + limits + _number(5, _text(strings, binary)) + flags)
    for frame, id_ in functions.items():
        named = _number(2, _text(strings, frame.function)) + _number(4, _text(strings, frame.file))
        out += _message(5, _number(1, id_) + named)
    for text in strings:
        out += _message(6, text.encode())
    return bytes(out)


def _text(strings: dict[str, int], text: str) -> int:
    return strings.setdefault(text, len(strings))


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _message(field: int, body: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(body)) + body


def _packed(field: int, values: Iterable[int]) -> bytes:
    return _message(field, b"".join(map(_varint, values)))
