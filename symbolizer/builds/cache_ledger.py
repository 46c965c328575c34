"""Records which symbols are built, and grants builds: the interface between one machine and a fleet.

`local_ledger.py` stores the ledger in a folder, for a worker without a store; `fleet_ledger.py` in the database.
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
    """The exclusive right to build a binary's symbols."""

    def is_still_claimed(self) -> bool:
        """Renew the claim; False: it expired, and another process may hold it now."""

    def built(self, finished: Path, made: BuildSucceeded, stored: Iterable[bytes]) -> CacheEntry | None:
        """Record a complete file and the `stored` files it was built from; None: the claim has expired."""

    def failed(self, failure: NotBuilt, *, unusable: bool) -> bool:
        """Record a failure; True: the file was `unusable` and withdrawn, and the next candidate is to be tried."""


class CacheLedger(Protocol):
    """Results by the keys of binaries, for one producer of caches."""

    def find(self, key: str) -> CacheEntry | NotBuilt | None:
        """The result recorded for a binary; None: there is none, or a failure that has expired."""

    def claim(self, key: str, source_sha256: bytes, *, wait_s: float) -> AbstractContextManager[Claim | None]:
        """The right to build from that file.

        None: it was already built, failed recently, or is still claimed by another process after `wait_s`.
        """

    def refusal(self, key: str, source_sha256: bytes) -> NotBuilt | None:
        """Why that file is not to be built: it was rejected, or failed recently; None: it may be built."""

    def fetch(self, key: str, entry: CacheEntry, into: Path) -> bool:
        """Replace the empty file `into` by the recorded one. False: it is not available, which is recorded too."""


def producer() -> str:
    """The program, version and format of caches; caches of another producer are rebuilt on first use."""
    return f"symbolic-{version('symbolic')}+{built_symbols.FORMAT}"
