"""The memory of recorded JVMs, damaged: its tables, its code cache and methods, and stack copies of samples."""

import random
from functools import cache
from pathlib import Path

from gateway.errors import GatewayError
from gateway.runtimes.hotspot.jvm import Jvm
from gateway.runtimes.hotspot.layout import read_layout
from tests.corrupted_gateway.damage import Act
from tests.jvm_image import ImageSample, JvmImage, load

_GOLDEN = Path(__file__).parents[1] / "golden/hotspot"
_VERSIONS = ("jdk17", "jdk25")
_SAMPLES = 2
_MOST_FRAMES = 4096


@cache
def _image(version: str) -> JvmImage:
    return load(_GOLDEN / f"{version}.zst")


def _cut(image: JvmImage, data: bytes) -> list[tuple[int, bytes]]:
    """The damaged bytes at the addresses of the sound ones; the last piece takes what is too much."""
    pieces = []
    at = 0
    for start, sound in image.pieces:
        pieces.append((start, data[at : at + len(sound)]))
        at += len(sound)
    return pieces


def _aligned(data: bytes, sound: bytes, chance: random.Random) -> bytes:
    """The damaged bytes; if some were added or removed, mostly only those around the first of these places.

    Otherwise nearly every one of these inputs would be refused when the first pointer is followed.
    """
    if len(data) == len(sound) or chance.random() < 0.1:
        return data
    low, high = 0, min(len(data), len(sound))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if data[:middle] == sound[:middle] else (low, middle - 1)
    end = low + chance.choice((16, 256, 4096))
    return data[:end] + sound[end:]


def jvm_memory() -> tuple[list[bytes], Act]:
    """Everything but the tables, with the stacks behind it."""
    sound = []
    for version in _VERSIONS:
        layout = _image(version).layout()
        sound.append((layout, _image(version).read_by_walks(layout)))
    whole = [
        b"".join(data for _, data in image.pieces) + b"".join(sample.stack for sample in image.samples)
        for _, image in sound
    ]

    def act(data: bytes, chance: random.Random) -> None:
        number = min(range(len(whole)), key=lambda each: abs(len(whole[each]) - len(data)))
        layout, image = sound[number]
        data = _aligned(data, whole[number], chance)
        samples = []
        at = sum(len(piece) for _, piece in image.pieces)
        for sample in image.samples:
            registers = list(sample.registers)
            if chance.random() < 0.2:
                registers[chance.randrange(len(registers))] = chance.choice(
                    (0, 8, 1 << 63, registers[7], registers[6] + 8)
                )
            stack = data[at : at + len(sample.stack)]
            at += len(sample.stack)
            samples.append(ImageSample(tuple(registers), stack[: len(stack) & ~7], []))
        chosen = chance.sample(samples, _SAMPLES)
        damaged = JvmImage(_cut(image, data), {}, image.code, chosen)
        jvm = Jvm(layout, damaged.read)
        for walk, frames in damaged.walks(jvm):
            assert len(frames) <= _MOST_FRAMES * 16
            assert all(frame.function.isprintable() and 0 <= frame.line <= 0xFFFF for frame in frames)
            jvm.begin_drain()
            jvm.is_outdated(walk.addresses, walk.interpreted)

    return whole, act


def jvm_tables() -> tuple[list[bytes], Act]:
    """The tables that libjvm exports."""
    image = _image("jdk17")
    needed: dict[int, bytes] = {}

    def read(address: int, size: int) -> bytes:
        data = image.read(address, size)
        needed[address] = max(needed.get(address, b""), data, key=len)
        return data

    read_layout(image.symbols.__getitem__, read)
    tables = JvmImage(needed.items(), image.symbols, ())
    whole = [b"".join(data for _, data in tables.pieces)]

    def act(data: bytes, _chance: random.Random) -> None:
        damaged = JvmImage(_cut(tables, data), image.symbols, ())
        try:
            read_layout(image.symbols.__getitem__, damaged.read)
        except KeyError as reason:
            raise GatewayError(f"{reason} is not recorded") from reason

    return whole, act
