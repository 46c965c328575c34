"""Parts of a JVM's memory, with samples of it: recorded once from a real one, replayed without Java.

    python -m tests.jvm_image JAVA_HOME CLASS_PATH OUT.zst

records the program of tests/integration/gateway/JavaTruth.java. A recording holds every byte that the reader read for
some samples, and the frames that it found. What it must find is checked by the tests, by the program's text.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from array import array
from base64 import b64decode, b64encode
from bisect import bisect_right
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import zstandard

from gateway.process.address_space import AddressSpace
from gateway.process.images import Images
from gateway.process.maps import Vma
from gateway.process.walker import Walker
from gateway.runtimes.hotspot.hotspot_process import HotspotProcess
from gateway.runtimes.hotspot.jvm import Jvm
from gateway.runtimes.hotspot.layout import Layout, read_layout
from gateway.runtimes.process_memory import Unreadable
from tests import java_sampling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gateway.process.walker import Walk
    from gateway.runtimes.hotspot.frames import JavaFrame

_SAMPLES = 16


class ImageSample(NamedTuple):
    """Registers and stack copy of one sample, and the frames found when it was recorded: function, line, kind."""

    registers: tuple[int, ...]
    stack: bytes
    frames: list[tuple[str, int, int]]


class JvmImage:
    """Pieces of memory by address; a read of anything else fails as one of unmapped memory does."""

    def __init__(
        self,
        pieces: Iterable[tuple[int, bytes]],
        symbols: dict[str, int],
        code: Sequence[tuple[int, int]],
        samples: Sequence[ImageSample] = (),
    ) -> None:
        self.pieces = sorted(pieces)
        self._starts = [start for start, _ in self.pieces]
        self.symbols = symbols
        self.code = code
        self.samples = samples
        self.over_budget = False

    def read(self, address: int, size: int) -> bytes:
        index = bisect_right(self._starts, address) - 1
        if index >= 0 and size >= 0:
            start, data = self.pieces[index]
            if address + size <= start + len(data):
                return data[address - start : address - start + size]
        raise Unreadable(f"{size} bytes at {address:#x} were not recorded")

    def begin_drain(self) -> None:
        """As `ProcessMemory`; nothing here changes."""

    def close(self) -> None:
        """As `ProcessMemory`."""

    def layout(self) -> Layout:
        return read_layout(self.symbols.__getitem__, self.read)

    def walks(self, jvm: Jvm) -> list[tuple[Walk, list[JavaFrame]]]:
        """Walk every sample as the gateway does; each walk ends where native code begins."""
        process = HotspotProcess(jvm, self)  # type: ignore[arg-type]
        walker = Walker(Images(open_files=lambda _pid, _vma: iter(())))
        found = []
        for sample in self.samples:
            space = AddressSpace(Vma(start, end, 0, "", b"", (0, 0), 0, False) for start, end in self.code)
            space.hotspot = process
            stack = memoryview(sample.stack).cast("Q")
            walk = walker.walk(0, space, sample.registers, stack, len(sample.stack))
            interpreted = {place: (method, bcp) for place, method, bcp in walk.interpreted}
            frames: list[JavaFrame] = []
            for place, address in enumerate(walk.addresses):
                if place in interpreted:
                    frame = jvm.interpreted(*interpreted[place])
                    frames += [] if frame is None else [frame]
                elif jvm.contains(address):
                    frames += jvm.frames(address, 0 if place in walk.exact else 1)
            found.append((walk, frames))
        return found

    def read_by_walks(self, layout: Layout) -> JvmImage:
        """What walking the samples reads, without the tables that describe the JVM."""
        recorder = _Recorder(self.read)
        self.walks(Jvm(layout, recorder.read))
        return JvmImage(recorder.merged(), {}, self.code, self.samples)

    def dump(self) -> bytes:
        content = {
            "symbols": self.symbols,
            "code": self.code,
            "pieces": [(start, b64encode(data).decode()) for start, data in self.pieces],
            "samples": [
                (sample.registers, b64encode(sample.stack).decode(), sample.frames) for sample in self.samples
            ],
        }
        return zstandard.ZstdCompressor(level=19).compress(json.dumps(content).encode())


def load(path: Path) -> JvmImage:
    content: dict[str, Any] = json.loads(zstandard.ZstdDecompressor().decompress(path.read_bytes()))
    return JvmImage(
        [(start, b64decode(data)) for start, data in content["pieces"]],
        content["symbols"],
        [(start, end) for start, end in content["code"]],
        [
            ImageSample(
                tuple(registers), b64decode(stack), [(name, line, kind) for name, line, kind in frames]
            )
            for registers, stack, frames in content["samples"]
        ],
    )


class _Recorder:
    """Remembers all bytes that are read."""

    def __init__(self, read: Callable[[int, int], bytes]) -> None:
        self._read = read
        self.pieces: dict[int, bytes] = {}

    def read(self, address: int, size: int) -> bytes:
        data = self._read(address, size)
        if size > len(self.pieces.get(address, b"")):
            self.pieces[address] = data
        return data

    def merged(self) -> list[tuple[int, bytes]]:
        merged: list[tuple[int, bytearray]] = []
        for start, data in sorted(self.pieces.items()):
            if merged and start <= merged[-1][0] + len(merged[-1][1]):
                offset = start - merged[-1][0]
                merged[-1][1][offset : offset + len(data)] = max(
                    data, bytes(merged[-1][1][offset : offset + len(data)]), key=len
                )
            else:
                merged.append((start, bytearray(data)))
        return [(start, bytes(data)) for start, data in merged]


def _record(home: Path, class_path: str, out: Path) -> None:
    command = [str(home / "bin/java"), "-Xmx64m", "-XX:ReservedCodeCacheSize=32m", "-XX:CompileCommand=quiet",
               "-XX:CompileCommand=exclude,JavaTruth::interpreted*", "-cp", class_path, "JavaTruth", "60"]  # fmt: skip
    symbols: dict[str, int] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        program.stdout.readline()
        time.sleep(8)
        recording = java_sampling.record(program.pid, 10, hz=97, keep=True)
        # Once more, while the program stands still: only what these samples need.
        chosen: dict[str, java_sampling.JavaSample] = {}
        for sample in recording.samples:
            if sample.raw and sample.frames and sample.frames[0].function != java_sampling.NATIVE:
                kinds = "".join(sorted({frame.kind.name for frame in sample.frames}))
                chosen.setdefault(f"{sample.frames[0].function} {kinds}", sample)
        program.send_signal(19)
        memory, space = java_sampling.open_memory(program.pid)
        recorder = _Recorder(memory.read)

        def exported(name: str) -> int:
            symbols[name] = java_sampling.symbol(program.pid, space, name)
            return symbols[name]

        jvm = Jvm(read_layout(exported, recorder.read), recorder.read)
        samples = []
        image = JvmImage((), symbols, [])
        for sample in list(chosen.values())[:_SAMPLES]:
            assert sample.raw is not None
            registers, stack = sample.raw
            samples.append(ImageSample(registers, array("Q", stack).tobytes(), []))
        code = [(vma.start, vma.end) for vma in space.vmas if not vma.has_file and not vma.path]
        image = JvmImage((), symbols, code, samples)
        frames = [
            [(frame.function, frame.line, int(frame.kind)) for frame in found]
            for _, found in image.walks(jvm)
        ]
        program.kill()
    samples = [sample._replace(frames=found) for sample, found in zip(samples, frames, strict=True)]
    out.write_bytes(JvmImage(recorder.merged(), symbols, code, samples).dump())
    sys.stdout.write(f"{len(samples)} samples, {out.stat().st_size} bytes\n")


if __name__ == "__main__":
    _record(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
