"""A request's body as a file: any size, bounded memory, decompressed, always removed.

The file has no name, so a killed process leaves nothing behind. It is reopened by its descriptor (`/proc/self/fd`), a
path that is valid in this process only.
"""

import errno
import gzip
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final

import anyio
import anyio.to_thread
import zstandard
from anyio import CapacityLimiter
from fastapi import Request
from starlette.requests import ClientDisconnect

from services.api.problems import Problem

_AT_ONCE: Final = 1 << 20
_ZSTD_PIECE: Final = 1 << 10
"""Compressed bytes per step: a few bytes of zeros decompress to some MB at most (measured: 8 MB from 256 bytes)."""
_ENCODINGS: Final = ("gzip", "zstd")
_LARGEST_WINDOW: Final = 1 << 27
"""zstd's window in bytes: what `zstd --long=27` needs for decompression."""
_BY_SETTING: Final = "The operator sets the limit: FLEETPROF_SYMBOL_UPLOAD_BYTES."
_LONGEST_SILENCE_S: float = 60.0
"""Between any two pieces of a body."""


@asynccontextmanager
async def body_as_file(
    request: Request,
    folder: Path,
    *,
    limit: int,
    unpacking: CapacityLimiter | None = None,
    hint: str = _BY_SETTING,
) -> AsyncIterator[Path]:
    """The body, decompressed according to its Content-Encoding, at a path that is valid inside the context.

    Decompression takes a slot of `unpacking`. `hint` advises the sender of a body that is too large. Raises the Problem
    413 as soon as more than `limit` bytes have arrived, compressed or decompressed; 415 for an encoding other than gzip
    and zstd; 400 for a body that is empty, ends early or does not decompress; 408 for a stalled body; 507 when the disk
    is full.
    """
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"identity", *_ENCODINGS}:
        raise Problem(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            f"Unsupported Content-Encoding {encoding[:40]!r}. Supported: gzip, zstd.",
            headers={"Accept-Encoding": ", ".join(_ENCODINGS)},
        )
    with ExitStack() as files:
        try:
            file = await anyio.to_thread.run_sync(_nameless, folder)
            files.callback(_close, file)
            await _receive(request, file, limit, hint)
            if encoding != "identity":
                unpacked = _nameless(folder)
                files.callback(_close, unpacked)
                await anyio.to_thread.run_sync(
                    _unpack, file, unpacked, encoding, limit, hint, limiter=unpacking
                )
                file.close()
                file = unpacked
            file.flush()
        except OSError as error:
            raise _disk(error) from error
        if file.tell() == 0:
            raise Problem(
                HTTPStatus.BAD_REQUEST, "The request has no body. Send the file's bytes as the body."
            )
        yield Path(f"/proc/self/fd/{file.fileno()}")


def _nameless(folder: Path) -> IO[bytes]:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return TemporaryFile(dir=folder)


def _close(file: IO[bytes]) -> None:
    # Closing retries the write that a full disk refused; that error was raised already, as a Problem.
    with suppress(OSError):
        file.close()


async def _receive(request: Request, file: IO[bytes], limit: int, hint: str) -> None:
    """Write the body as it arrives. Threads write to the disk; the event loop reads the network."""
    waiting = bytearray()
    size = 0
    chunks = request.stream()
    try:
        while True:
            with anyio.fail_after(_LONGEST_SILENCE_S):
                chunk = await anext(chunks, None)
            if chunk is None:
                break
            size += len(chunk)
            if size > limit:
                raise _too_large(limit, hint)
            waiting += chunk
            if len(waiting) >= _AT_ONCE:
                await anyio.to_thread.run_sync(file.write, bytes(waiting))
                waiting.clear()
    except TimeoutError as error:
        raise Problem(
            HTTPStatus.REQUEST_TIMEOUT,
            f"No bytes of the body arrived for {_LONGEST_SILENCE_S:.0f} seconds.",
            headers={"Connection": "close"},
        ) from error
    except ClientDisconnect as error:
        raise Problem(
            HTTPStatus.BAD_REQUEST, "The connection closed before the whole body arrived."
        ) from error
    if waiting:
        await anyio.to_thread.run_sync(file.write, bytes(waiting))


def _unpack(packed: IO[bytes], target: IO[bytes], encoding: str, limit: int, hint: str) -> None:
    packed.seek(0)
    size = 0
    try:
        for part in _gunzip(packed) if encoding == "gzip" else _unzstd(packed):
            size += len(part)
            if size > limit:
                raise _too_large(limit, hint)
            target.write(part)
    except (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError) as error:
        raise Problem(
            HTTPStatus.BAD_REQUEST, f"The body is not a complete {encoding} stream: {error}."
        ) from error


def _gunzip(packed: IO[bytes]) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=packed) as reader:
        yield from iter(lambda: reader.read(_AT_ONCE), b"")


def _unzstd(packed: IO[bytes]) -> Iterator[bytes]:
    # No stream_reader: it accepts a truncated frame as a whole one.
    options = zstandard.ZstdDecompressor(max_window_size=_LARGEST_WINDOW)
    frame = options.decompressobj()
    for piece in iter(lambda: packed.read(_ZSTD_PIECE), b""):
        rest = piece
        while rest:
            if frame.eof:
                frame = options.decompressobj()
            yield frame.decompress(rest)
            rest = frame.unused_data if frame.eof else b""
    if not frame.eof:
        raise EOFError("the end is missing")


def _too_large(limit: int, hint: str) -> Problem:
    return Problem(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"The body exceeds the limit of {limit:,} bytes.",
        kind="too-large",
        hint=hint,
    )


def _disk(error: OSError) -> Problem:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return Problem(HTTPStatus.INSUFFICIENT_STORAGE, "The server's disk is full.", kind="disk-full")
    return Problem(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        f"Cannot store the body: {error.strerror or error}.",
        kind="storage",
    )
