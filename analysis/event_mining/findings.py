"""What several programs' minings say together: who is dominated by what, and what all have in common (DIGEST M8)."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from analysis.event_mining.mining import Mined, Ranked
from analysis.input_checks import enough, number

TOP = 10
_DROP = 1.5
"""An event dominates if the next one has two thirds of its importance or less …"""
_MOST = 3
"""… and it is one of the first three."""


@dataclass(frozen=True, slots=True)
class Findings:
    """Of all programs."""

    dominating: dict[str, tuple[Ranked, ...]]
    """The one to three events of each program that stand out; () where importance falls off evenly."""
    common: tuple[str, ...]
    """Events among the top of every program and of the mix, most important on average first."""
    own: dict[str, tuple[str, ...]]
    """Events among the top of one program alone."""


def findings(programs: Mapping[str, Mined], mix: Mined | None = None, top: int = TOP) -> Findings:
    """What stands out, from each program's mining and that of all their runs together. Raises InsufficientData, NotANumber."""
    enough("programs", len(programs), 1)
    number("events looked at", top, 1)
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
    """The events before the steepest drop of importance among the first, if it is one."""
    ranking = mined.ranking[: _MOST + 1]
    drops = [one.importance / max(following.importance, 1e-12) for one, following in pairwise(ranking)]
    if not drops or max(drops) < _DROP:
        return ()
    return ranking[: drops.index(max(drops)) + 1]
