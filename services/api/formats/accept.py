"""The headers Accept and Accept-Encoding (RFC 9110, sections 12.4.2, 12.5.1 and 12.5.3)."""

import re
from dataclasses import dataclass
from typing import Final, Literal

from starlette.datastructures import Headers

Coding = Literal["zstd", "gzip"]
"""A content coding of answers."""
ZSTD: Final = "zstd"
GZIP: Final = "gzip"

_RANGE = re.compile(r"(\*|[!#$%&'*+.^_`|~0-9a-z-]+)/(\*|[!#$%&'*+.^_`|~0-9a-z-]+)")
_QUALITY = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?")
_PARTS = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*"?)+')
"""The parts between commas outside quoted strings."""
_PARAMETERS = re.compile(r'(?:[^;"]|"(?:[^"\\]|\\.)*"?)+')


@dataclass(frozen=True, slots=True)
class Accept:
    """Media ranges with their qualities. Without a range every type is equally acceptable."""

    ranges: tuple[tuple[str, float], ...]
    """Lower case, as "text/csv", "text/*" or "*/*"; quality 0…1."""
    is_given: bool
    """The header has a value, valid or not."""

    def quality(self, media_type: str) -> float:
        """The preference for a media type without parameters, 0…1, by the most specific range that matches it."""
        if not self.is_given:
            return 1.0
        wanted = dict(reversed(self.ranges))  # the first of equal ranges counts
        kind = media_type.partition("/")[0]
        for name in (media_type, f"{kind}/*", "*/*"):
            if name in wanted:
                return wanted[name]
        return 0.0


def parse_accept(header: str) -> Accept:
    """The header's ranges; invalid ranges and ranges with an invalid quality are skipped.

    Parameters of a range are ignored: no type of this API has one that a client could choose by.
    """
    ranges = []
    for part in _PARTS.findall(header):
        name, *parameters = (piece.strip().lower() for piece in _PARAMETERS.findall(part) or [""])
        found = _RANGE.fullmatch(name)
        if found is None or (found[1] == "*" and found[2] != "*"):
            continue
        qualities = [p.partition("=")[2].strip() for p in parameters if p.partition("=")[0].strip() == "q"]
        quality = qualities[0] if qualities else "1"
        if _QUALITY.fullmatch(quality):
            ranges.append((name, float(quality)))
    return Accept(tuple(ranges), bool(header.strip()))


def accept_encoding(headers: Headers) -> str:
    """All lines of `Accept-Encoding` joined as section 5.3 specifies; empty: the header is missing."""
    return ", ".join(headers.getlist("accept-encoding"))


def accepted_codings(header: str) -> frozenset[str]:
    """The content codings that an `Accept-Encoding` names and does not refuse (`q=0`), in lower case.

    `*` matches every coding that is not named. Here it adds gzip only, which every client that sends `*` can decode.
    """
    found: set[str] = set()
    refused: set[str] = set()
    for part in header.split(","):
        name, *parameters = (piece.strip().lower() for piece in part.split(";"))
        qualities = ("".join(p.split()).removeprefix("q=") for p in parameters if p.startswith("q"))
        wanted = all(quality.strip("0.") for quality in qualities)
        (found if wanted else refused).add(name)
    if "*" in found and GZIP not in refused:
        found.add(GZIP)
    return frozenset(found - {"", "*"})


def best_coding(header: str) -> Coding | None:
    """The coding of an answer: zstd before gzip, whatever their qualities; None: the header accepts neither."""
    accepted = accepted_codings(header)
    return ZSTD if ZSTD in accepted else GZIP if GZIP in accepted else None
