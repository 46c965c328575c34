"""The decoded chunks of one application and day, as they are cached (`storage.query.decoded_cache`).

What a profile has never changes: whoever lands a visit anew writes its profiles anew. So a profile that a question's own snapshot
has, written by the same transaction, has the facts that were decoded before.
"""

from dataclasses import dataclass

import numpy as np

from storage.query.arrays import Bool, Int32, Int64, Narrow, narrow, ranges


@dataclass(frozen=True, slots=True)
class ChunkKey:
    """Whose chunks: of one application, on one day since 1970 UTC."""

    day: int
    application: int
    sample_type_id: int


@dataclass(frozen=True, slots=True)
class Decoded:
    """The facts of some profiles, one profile after the other."""

    profile: Int64
    """Ids, ascending."""
    version: Int64
    """The transaction that wrote each."""
    stored: Int64
    """Bytes of the chunk of each."""
    first: Int64
    """Where the facts of each begin, and where those of the last end."""
    stack: Int32
    samples: Narrow

    def has(self, profile: Int64, version: Int64) -> Bool:
        """Which of these profiles it has as they were written then."""
        if not len(self.profile):
            return np.zeros(len(profile), np.bool_)
        place = np.minimum(np.searchsorted(self.profile, profile), len(self.profile) - 1)
        found: Bool = (self.profile[place] == profile) & (self.version[place] == version)
        return found

    def facts(self, profile: Int64) -> tuple[Int64, Int64]:
        """Stacks and samples of profiles it has, in their order."""
        if np.array_equal(profile, self.profile):  # a whole day, as a rule
            return self.stack.astype(np.int64), self.samples.astype(np.int64)
        place = np.searchsorted(self.profile, profile)
        at = ranges(self.first[place], self.first[place + 1])
        return self.stack[at].astype(np.int64), self.samples[at].astype(np.int64)

    def bytes_of(self, profile: Int64) -> int:
        """Bytes of the chunks of those of these profiles that it has."""
        return int(self.stored[np.isin(self.profile, profile)].sum())

    def joined(self, newer: "Decoded") -> "Decoded":
        """With other profiles; those that both have are the newer ones."""
        keep = np.flatnonzero(~np.isin(self.profile, newer.profile))
        profile = np.concatenate((self.profile[keep], newer.profile))
        order = np.argsort(profile)
        starts = np.concatenate((self.first[keep], newer.first[:-1] + len(self.stack)))[order]
        ends = np.concatenate((self.first[keep + 1], newer.first[1:] + len(self.stack)))[order]
        at = ranges(starts, ends)
        return Decoded(
            profile[order],
            np.concatenate((self.version[keep], newer.version))[order],
            np.concatenate((self.stored[keep], newer.stored))[order],
            np.concatenate(([0], np.cumsum(ends - starts))),
            np.concatenate((self.stack, newer.stack))[at],
            np.concatenate((self.samples, newer.samples))[at],
        )


NOTHING = Decoded(
    *(np.zeros(0, np.int64),) * 3, np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.uint16)
)


def decoded(  # noqa: PLR0917 - its columns
    profile: Int64, version: Int64, stored: Int64, counts: Int64, stack: Int64, samples: Int64
) -> Decoded:
    """What these profiles have; they ascend, and so many facts are of each."""
    first = np.concatenate(([0], np.cumsum(counts)))
    return Decoded(profile, version, stored, first, stack.astype(np.int32), narrow(samples))
