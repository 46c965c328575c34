"""The images of frames as rows of `binary`: one row per build, on whichever machine it runs."""

from dataclasses import dataclass
from hashlib import blake2b

from fleetpb import capture_pb2

_KINDS = {
    capture_pb2.Mapping.FILE: "file",
    capture_pb2.Mapping.KERNEL: "kernel",
    capture_pb2.Mapping.MODULE: "module",
    capture_pb2.Mapping.VDSO: "vdso",
    capture_pb2.Mapping.ANONYMOUS: "anonymous",
}
KERNEL_MODE = (capture_pb2.Mapping.KERNEL, capture_pb2.Mapping.MODULE)
_MAX_KEY = 1024
"""Longest key in UTF-8 bytes: it is indexed, and PostgreSQL rejects btree rows beyond 2704 bytes."""


@dataclass(frozen=True, slots=True)
class BinaryImage:
    """A row of `binary`."""

    key: str
    """Build-id as hex, else content key, else `path:` and the path; a long key is cut and gets a hash."""
    name: str
    """Base name, e.g. libc.so.6."""
    path: str
    """Its path on this machine."""
    kind: str
    """file, kernel, module, vdso, anonymous or unknown."""


def image_of(capture: capture_pb2.Capture, mapping: capture_pb2.Mapping) -> BinaryImage:
    """The image of a mapping of the capture."""
    path = capture.strings[mapping.path].removesuffix(" (deleted)")
    key = mapping.build_id.hex() or capture.strings[mapping.content_key] or f"path:{path}"
    return BinaryImage(
        key=_bounded(key),
        name=path.rpartition("/")[2] or path,
        path=path,
        kind=_KINDS.get(mapping.kind, "unknown"),
    )


def _bounded(key: str) -> str:
    """The key, or an equally distinct one that fits an index: 1024 Chinese characters are 3060 bytes."""
    whole = key.encode("utf-8", "replace")
    if len(whole) <= _MAX_KEY:
        return key
    digest = "#" + blake2b(whole, digest_size=16).hexdigest()
    return whole[: _MAX_KEY - len(digest)].decode("utf-8", "ignore") + digest
