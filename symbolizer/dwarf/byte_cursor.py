"""A read position in bytes: fixed words, LEB128, strings."""

from typing import Final, Literal

_MAX_LEB_BYTES: Final = 10


class CutShort(Exception):
    """The bytes end within a value, or are invalid; the caller decides what follows."""


class ByteCursor:
    """Reads forward over `data`; `at` is the next byte. Its only error is `CutShort`."""

    def __init__(self, data: bytes, order: str) -> None:
        """`order` is that of words: "<" little, ">" big."""
        self._data = data
        self._order: Literal["little", "big"] = "little" if order == "<" else "big"
        self.at = 0

    def skip(self, count: int) -> None:
        """Skip `count` bytes."""
        self._take(count)

    def unsigned(self, count: int) -> int:
        """An unsigned word of `count` bytes."""
        start = self._take(count)
        return int.from_bytes(self._data[start : self.at], self._order)

    def uleb(self) -> int:
        """An unsigned LEB128; a signed one has the same length, so this can skip it too."""
        value = 0
        for shift in range(0, 7 * _MAX_LEB_BYTES, 7):
            byte = self._data[self._take(1)]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise CutShort

    def string(self) -> str:
        """Text up to its NUL, which is consumed too."""
        end = self._data.find(b"\0", self.at)
        if end < 0:
            raise CutShort
        text = self._data[self.at : end].decode("utf-8", "replace")
        self.at = end + 1
        return text

    def _take(self, count: int) -> int:
        start = self.at
        if count < 0 or start + count > len(self._data):
            raise CutShort
        self.at = start + count
        return start
