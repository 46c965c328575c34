"""An answer as it is sent: its bytes, packed by a content coding or not, and its headers."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import cast

from services.api.formats.accept import Coding
from services.api.replies import packed_by, unpacked_by

_ENCODING = "content-encoding"


@dataclass(frozen=True, slots=True)
class Parcel:
    """An answer for those who read one content coding."""

    content: bytes
    headers: tuple[tuple[str, str], ...]
    """Names in lower case; with its tag, without its length."""

    @classmethod
    def of(cls, content: bytes, headers: Mapping[str, str]) -> "Parcel":
        """With the tag of this content."""
        tag = f'"{blake2b(content, digest_size=16).hexdigest()}"'
        others = {name: value for name, value in headers.items() if name not in {"content-length", "etag"}}
        return cls(content, (*others.items(), ("etag", tag)))

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.content) + sum(len(name) + len(value) for name, value in self.headers)

    @property
    def coding(self) -> Coding | None:
        """What it is packed by."""
        return cast("Coding | None", dict(self.headers).get(_ENCODING))

    def packed_anew(self, coding: Coding | None) -> "Parcel":
        """The same by another coding, None: by none; bytes and tag as if it had been made so."""
        mine, headers = self.coding, dict(self.headers)
        headers.pop(_ENCODING, None)
        content = self.content if mine is None else unpacked_by(mine, self.content)
        if coding is None:
            return Parcel.of(content, headers)
        return Parcel.of(packed_by(coding, content), {**headers, _ENCODING: coding})
