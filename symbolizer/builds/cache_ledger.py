"""Who knows which symbols are built, and who builds what: the seam between one machine and a fleet.

`local_ledger.py` keeps it in a folder, for a worker without a store; `fleet_ledger.py` in the database.
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

from symbolizer.builds import built_symbols
from symbolizer.builds.build import BuildSucceeded
from symbolizer.builds.outcome import CacheEntry, NotBuilt


class Claim(Protocol):
    """The right to build a binary's symbols; nobody else has it meanwhile."""

    def is_still_claimed(self) -> bool:
        """Renew it; False: it was taken for dead, and somebody else may have it now."""

    def built(self, finished: Path, made: BuildSucceeded, stored: Iterable[bytes]) -> CacheEntry | None:
        """Note a whole file, made of these `stored` ones; None: it is not ours to note any more."""

    def failed(self, failure: NotBuilt, *, unusable: bool) -> bool:
        """Note why there is none; True: the file is `unusable`, and gave way to another that is to be tried."""


class CacheLedger(Protocol):
    """What is known, by the keys of binaries; all of it for one producer of caches."""

    def find(self, key: str) -> CacheEntry | NotBuilt | None:
        """What was noted of a binary; None: nothing, or a failure that is out of date."""

    def claim(self, key: str, source_sha256: bytes, *, wait_s: float) -> AbstractContextManager[Claim | None]:
        """The right to build from that file.

        None: that was done already, or failed lately, or somebody else has it still after `wait_s`.
        """

    def refusal(self, key: str, source_sha256: bytes) -> NotBuilt | None:
        """Why it is not built from that very file: it was rejected, or that failed lately; None: it may be."""

    def fetch(self, key: str, entry: CacheEntry, into: Path) -> bool:
        """Replace the empty file `into` by the noted one. False: it is not to be had; that is noted too."""


def producer() -> str:
    """The program, version and format that caches are of; another one builds anew, when first asked."""
    return f"symbolic-{version('symbolic')}+{built_symbols.FORMAT}"
