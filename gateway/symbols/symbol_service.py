"""Serves symbol requests: permissions, one at a time, at low cost (gateway.proto)."""

from __future__ import annotations

import hashlib
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import zstandard

from fleetpb import gateway_pb2
from gateway.capture.capture_runner import CaptureCancelled
from gateway.errors import BadImage, SymbolsRefused
from gateway.machine.kernel_map import read_kernel_map, read_modules
from gateway.process.images import VDSO, own_vdso
from gateway.settings import Share
from gateway.symbols.build_files import BuildFile, key_of, open_seen
from gateway.symbols.content import PIECE_BYTES, Content, sliced
from gateway.symbols.kernel_table import kernel_table
from gateway.symbols.small_elf import SmallElf

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from threading import Event as Signal

    from gateway.served_visits import ServedVisits
    from gateway.settings import SymbolSharing
    from gateway.symbols.seen_builds import SeenBuild, SeenBuilds

CPU_SHARE: Final = 0.1
"""Of one core, while reading and compressing."""
_LOOK_S: Final = 0.1
"""Between checks for the end of a capture."""
_ZSTD_LEVEL: Final = 3
_MAX_BUILD_ID_BYTES: Final = 64
_MAX_CONTENT_KEY: Final = 300

_Request = gateway_pb2.SymbolsRequest
_Refusal = gateway_pb2.SymbolsRefusal


class Pace:
    """Limits work to a share of one core, and suspends it during captures, by waiting after each piece."""

    def __init__(self, stopped: Signal, served_visits: ServedVisits, share: float = CPU_SHARE) -> None:
        self._stopped = stopped
        self._served_visits = served_visits
        self._idle_per_busy = 1 / share - 1
        self._before = time.thread_time()

    def pause(self) -> None:
        """Wait in proportion to the work since the last call, then for the end of a capture.

        Raises CaptureCancelled as soon as the caller has disconnected or its deadline has passed.
        """
        worked = time.thread_time() - self._before
        if self._stopped.wait(max(0.0, worked) * self._idle_per_busy):
            raise CaptureCancelled
        while self._served_visits.active:  # the capture would contain this work
            if self._stopped.wait(_LOOK_S):
                raise CaptureCancelled
        self._before = time.thread_time()


class SymbolService:
    """Serves one machine."""

    def __init__(
        self,
        sharing: SymbolSharing,
        seen_builds: SeenBuilds,
        served_visits: ServedVisits,
        kernel_build_id: bytes,
    ) -> None:
        self._sharing = sharing
        self._seen_builds = seen_builds
        self._kernel_build_id = kernel_build_id
        self._served_visits = served_visits
        self._place = threading.Lock()
        served_visits.note_sending(sending=False)

    def note(self, seen: Iterable[tuple[str, int, str]]) -> None:
        """Store the builds of a capture: build-id or content key, process, path."""
        if self._sharing.share is not Share.NO:
            for key, pid, path in seen:
                self._seen_builds.note(key, pid, path)

    def answer(self, request: _Request, stopped: Signal) -> Iterator[gateway_pb2.SymbolsReply]:
        """The reply stream, except refusals. Raises SymbolsRefused, CaptureCancelled, OSError."""
        self._check(request)
        limit = min(request.max_bytes or self._sharing.max_bytes, self._sharing.max_bytes)
        with self._alone():
            pace = Pace(stopped, self._served_visits)
            if request.what == _Request.KERNEL:
                yield from _deliver(self._kernel(request.build_id, pace), limit, pace)
                return
            seen = self._seen(request)
            if seen.path == VDSO:
                yield from _deliver(_vdso(request.build_id), limit, pace)
                return
            file = open_seen(key_of(request.build_id, request.content_key), seen, pace.pause)
            if file is None:
                raise SymbolsRefused(
                    _Refusal.GONE,
                    f"{seen.path or 'its file'} does not exist any more, or its content differs from "
                    "the sampled build",
                )
            try:
                name = seen.path.rpartition("/")[2]
                yield from _deliver(_content(file, name, request.what, pace), limit, pace)
            finally:
                file.close()

    def _check(self, request: _Request) -> None:
        if self._sharing.share is Share.NO:
            raise SymbolsRefused(
                _Refusal.NOT_ALLOWED,
                "this gateway does not share symbols; the operator can enable it with --share-symbols",
            )
        if request.what not in {_Request.SYMBOLS, _Request.FILE, _Request.KERNEL}:
            raise SymbolsRefused(_Refusal.INVALID, "what must be SYMBOLS, FILE or KERNEL")
        if request.what == _Request.FILE and self._sharing.share is not Share.FILES:
            raise SymbolsRefused(
                _Refusal.NOT_ALLOWED,
                "this gateway shares symbols, not whole files; the operator can enable them with --share-symbols files",
            )
        if len(request.build_id) > _MAX_BUILD_ID_BYTES or len(request.content_key) > _MAX_CONTENT_KEY:
            raise SymbolsRefused(_Refusal.INVALID, "build_id or content_key is too long")
        if request.what != _Request.KERNEL and not (request.build_id or request.content_key):
            raise SymbolsRefused(_Refusal.INVALID, "one of build_id and content_key must be set")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if self._served_visits.active:  # the capture would contain this work
            raise SymbolsRefused(_Refusal.BUSY, "a capture is in progress; retry later")
        if self._served_visits.is_calibrating:  # the calibration would measure this work too
            raise SymbolsRefused(_Refusal.BUSY, "a calibration is in progress; retry later")
        if not self._place.acquire(blocking=False):
            raise SymbolsRefused(_Refusal.BUSY, "another symbol request is in progress; retry later")
        self._served_visits.note_sending(sending=True)
        try:
            yield
        finally:
            self._served_visits.note_sending(sending=False)
            self._place.release()

    def _seen(self, request: _Request) -> SeenBuild:
        seen = self._seen_builds.find(key_of(request.build_id, request.content_key))
        if seen is None:
            raise SymbolsRefused(_Refusal.NOT_SEEN, "no recent capture of this machine saw this build")
        return seen

    def _kernel(self, build_id: bytes, pace: Pace) -> Content:
        if build_id and build_id != self._kernel_build_id:
            raise SymbolsRefused(_Refusal.NOT_SEEN, "this machine runs another kernel")
        text = read_kernel_map().text
        if text is None:
            raise SymbolsRefused(
                _Refusal.HIDDEN,
                "the kernel hides its addresses (kernel.kptr_restrict): the gateway lacks CAP_SYSLOG",
            )
        pace.pause()
        with open("/proc/kallsyms", "rb", buffering=0) as file:  # noqa: PTH123 - a Path's open is no shorter
            lines = iter(lambda: file.read(1 << 16), b"")
            table = kernel_table(lines, self._kernel_build_id, text, read_modules(), pace.pause)
        return Content("[kernel]", len(table), sliced(table))


def _vdso(build_id: bytes) -> Content:
    """The vdso: the kernel maps the same image into every process, so this is the gateway's own."""
    image = own_vdso()
    if not build_id or build_id not in image:
        raise SymbolsRefused(_Refusal.GONE, "the kernel provides another vdso than the sampled one")
    return Content(VDSO, len(image), sliced(image))


def _content(file: BuildFile, name: str, what: int, pace: Pace) -> Content:
    if what == _Request.FILE:
        return Content(name, file.size, _whole(file))
    try:
        small = SmallElf(file.read, file.size, pace.pause)
    except BadImage as error:
        raise SymbolsRefused(_Refusal.GONE, f"cannot read {name}: {error}") from error
    return Content(name, small.raw_bytes, small.pieces())


def _whole(file: BuildFile) -> Iterator[bytes]:
    for start in range(0, file.size, PIECE_BYTES):
        piece = file.read(start, min(PIECE_BYTES, file.size - start))
        if not piece:
            raise BadImage("the file shrank while it was read")
        yield piece


def _deliver(content: Content, limit: int, pace: Pace) -> Iterator[gateway_pb2.SymbolsReply]:
    if content.raw_bytes > limit:
        raise SymbolsRefused(
            _Refusal.TOO_LARGE,
            f"{content.name} has {content.raw_bytes:,} bytes; the limit is {limit:,}",
        )
    yield gateway_pb2.SymbolsReply(
        begin=gateway_pb2.SymbolsBegin(name=content.name, raw_bytes=content.raw_bytes)
    )
    compressor = zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compressobj(size=content.raw_bytes)
    digest = hashlib.sha256()
    ready = bytearray()
    sent = raw = 0
    for piece in content.pieces:
        raw += len(piece)
        ready += compressor.compress(piece)
        while len(ready) >= PIECE_BYTES:
            data, ready = bytes(ready[:PIECE_BYTES]), ready[PIECE_BYTES:]
            digest.update(data)
            sent += len(data)
            yield gateway_pb2.SymbolsReply(data=data)
        pace.pause()
    ready += compressor.flush()
    for data in sliced(bytes(ready)):
        digest.update(data)
        sent += len(data)
        yield gateway_pb2.SymbolsReply(data=data)
    yield gateway_pb2.SymbolsReply(
        end=gateway_pb2.SymbolsEnd(sha256=digest.digest(), bytes=sent, raw_bytes=raw)
    )
