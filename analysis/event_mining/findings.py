"""Combines the event mining of several programs: dominating events, and events in common (DIGEST M8)."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from analysis.event_mining.mining import Mined, Ranked
from analysis.input_checks import enough, number

TOP = 10
_DROP = 1.5
"""An event dominates if the next one has at most two thirds of its importance …"""
_MOST = 3
"""… and it is one of the first three."""


@dataclass(frozen=True, slots=True)
class Findings:
    """Findings over all programs."""

    dominating: dict[str, tuple[Ranked, ...]]
    """The one to three dominating events of each program; () if importance falls off evenly."""
    common: tuple[str, ...]
    """Events among the top of every program and of the mix, by descending mean importance."""
    own: dict[str, tuple[str, ...]]
    """Events among the top of only one program."""


def findings(programs: Mapping[str, Mined], mix: Mined | None = None, top: int = TOP) -> Findings:
    """The findings from each program's mining and that of all their runs together.

    Raises InsufficientData, NotANumber.
    """
    enough("programs", len(programs), 1)
    number("examined events", top, 1)
    tops = {name: [event.name for event in mined.ranking[:top]] for name, mined in programs.items()}
    every = [*programs.values(), *([mix] if mix else [])]
    importance = [{event.name: event.importance for event in mined.ranking[:top]} for mined in every]
    common = set.intersection(*(set(one) for one in importance))
    return Findings(
        dominating={name: dominating(mined) for name, mined in programs.items()},
        common=tuple(sorted(common, key=lambda event: (-sum(one[event] for one in importance), event))),
        own={
            name: tuple(
                event
                for event in events
                if not any(event in others for other, others in tops.items() if other != name)
            )
            for name, events in tops.items()
        },
    )


def dominating(mined: Mined) -> tuple[Ranked, ...]:
    """The events before the steepest drop of importance among the first, if it is steep enough."""
    ranking = mined.ranking[: _MOST + 1]
    drops = [one.importance / max(following.importance, 1e-12) for one, following in pairwise(ranking)]
    if not drops or max(drops) < _DROP:
        return ()
    return ranking[: drops.index(max(drops)) + 1]
