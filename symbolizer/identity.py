"""Identifies the image of a capture's mapping, and compares files with it."""

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from fleetpb import capture_pb2
from storage.ingest.binary_images import image_of
from symbolizer.elf.content import Source
from symbolizer.elf.file import ElfFile

_HASHED_AT_ONCE: Final = 1 << 20
_HEX: Final = re.compile(r"(?:[0-9a-f]{2})+")


@dataclass(frozen=True, slots=True)
class ImageIdentity:
    """An image as reported by a gateway."""

    key: str
    """The store's key (`storage.schema.binary.key`)."""
    name: str
    """Base name of a file; a name in brackets for the kernel, a module, the vdso."""
    path: str
    """The path in the sampled process."""
    build_id: bytes
    """GNU build-id; b"" if it has none."""
    content_key: str
    """`go:…` or `sha256:…` if it has no build-id; '' if not known."""

    @property
    def is_certain(self) -> bool:
        """Whether files can be compared with this image; false if only its path is known."""
        return bool(self.build_id or self.content_key)

    def is_same(self, elf: ElfFile, content: Source) -> bool:
        """Whether the file is this image, by build-id or content; never by path alone."""
        if self.build_id:
            return elf.build_id == self.build_id
        scheme, _, value = self.content_key.partition(":")
        if scheme == "go":
            return bool(value) and elf.go_build_id == value
        if scheme == "sha256":
            return _sha256(content) == value
        return False


def identity_of_key(key: str, path: str = "") -> ImageIdentity:
    """The identity of a file by its key in the store: a build-id as hex, a content key, or only a path."""
    build_id = bytes.fromhex(key) if _HEX.fullmatch(key) else b""
    content_key = key if not build_id and key.startswith(("go:", "sha256:")) else ""
    path = path or key.removeprefix("path:") if key.startswith("path:") else path
    return ImageIdentity(key, path.rpartition("/")[2] or key, path, build_id, content_key)


def identity_of(capture: capture_pb2.Capture, mapping: capture_pb2.Mapping) -> ImageIdentity:
    """The identity of a mapping of the capture."""
    image = image_of(capture, mapping)
    return ImageIdentity(
        image.key, image.name, image.path, mapping.build_id, capture.strings[mapping.content_key]
    )


def _sha256(content: Source) -> str:
    digest = hashlib.sha256()
    for start in range(0, len(content), _HASHED_AT_ONCE):
        digest.update(content[start : start + _HASHED_AT_ONCE])
    return digest.hexdigest()
