"""Images that frames lie in, as the store knows them: one binary for one build, wherever it runs."""

from dataclasses import dataclass

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
"""Characters of a key: it is indexed, and an index row has a limit."""


@dataclass(frozen=True, slots=True)
class BinaryImage:
    """A row of `binary`."""

    key: str
    """Build-id as hex, else content key, else `path:` and the path."""
    name: str
    """Base name, e.g. libc.so.6."""
    path: str
    """Where this machine has it."""
    kind: str
    """file, kernel, module, vdso, anonymous or unknown."""


def image_of(capture: capture_pb2.Capture, mapping: capture_pb2.Mapping) -> BinaryImage:
    """The image behind a mapping of the capture."""
    path = capture.strings[mapping.path].removesuffix(" (deleted)")
    key = mapping.build_id.hex() or capture.strings[mapping.content_key] or f"path:{path}"
    return BinaryImage(
        key=key[:_MAX_KEY],
        name=path.rpartition("/")[2] or path,
        path=path,
        kind=_KINDS.get(mapping.kind, "unknown"),
    )
